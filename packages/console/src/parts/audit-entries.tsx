/** Records of the audit: before and after by field, with user and time. */
import './audit-entries.css'
import type { Reading } from '../api/read.ts'
import type { Fields, Identified, Page } from '../api/records.ts'
import { link } from '../frame/routes.ts'
import { DOCUMENTS } from '../words/en/documents.ts'
import { addWords, t } from '../words/words.ts'
import { Changes } from './changes.tsx'
import { differences, textIn } from './differences.ts'
import { isoOf } from './paging.ts'
import { ReadView } from './state.tsx'
import { Pager } from './table.tsx'
import { Time, zoneName } from './time.tsx'

addWords(DOCUMENTS)

interface AuditEntriesProps {
  readonly reading: Reading<Page<Fields & Identified>>
}

export function AuditEntries({ reading }: AuditEntriesProps) {
  return (
    <ReadView reading={reading} rows={10} empty={t('audit.none')}>
      {(page) => (
        <>
          <ol class="audit">
            {page.rows.map((entry) => (
              <Entry key={entry._id.$id} entry={entry} />
            ))}
          </ol>
          <Pager next={page.next} />
        </>
      )}
    </ReadView>
  )
}

const HIDDEN: ReadonlySet<string> = new Set(['_id', 'creation_time'])

function Entry({ entry }: { readonly entry: Fields }) {
  const user = (entry['user'] ?? {}) as Fields
  const changes = differences(entry['old'], entry['new']).filter(({ field }) => !HIDDEN.has(field))
  const what = `${textIn(entry, 'collection')} ${textIn(entry, 'key')}: ${textIn(entry, 'type')}`
  const name = textIn(user, 'name')
  const place = placeOf(textIn(entry, 'collection'), textIn(entry, 'key'))
  return (
    <li>
      <h3>{place === null ? what : <a href={place}>{what}</a>}</h3>
      <p>
        <Time value={isoOf(entry['urt'])} precision="second" /> ({zoneName()}) ·{' '}
        <strong dir="auto">{name === '' ? textIn(user, 'by') : name}</strong>
        {textIn(entry, 'ip') !== '' && <span class="muted"> · {textIn(entry, 'ip')}</span>}
      </p>
      {changes.length > 0 && <Changes caption={what} changes={changes} />}
    </li>
  )
}

const CATALOGUE: ReadonlySet<string> = new Set([
  ...['plans', 'services', 'rates', 'taxes', 'prepaidincludes', 'prepaidgroups'],
  ...['charges', 'discounts', 'reports'],
])

/** Address of the document that was changed; null if it has no page. */
function placeOf(collection: string, key: string): string | null {
  if (key === '') return null
  if (CATALOGUE.has(collection)) return link(`catalogue/${collection}/${encodeURIComponent(key)}`)
  if (collection === 'settings') return link('settings', { category: key })
  if (collection === 'users') return link('access', { user: key })
  const [aid, sid] = collection === 'balances' ? key.split('_') : []
  const subscriber = collection === 'subscribers' ? key : sid
  if (subscriber !== undefined && subscriber !== '0') return link(`customer/sid/${subscriber}`)
  const account = collection === 'accounts' ? key : aid
  return account === undefined ? null : link(`customer/aid/${account}`)
}
