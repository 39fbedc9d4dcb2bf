/** Who changed the customer: before and after by field, with user and time. */
import { useRead } from '../../api/read.ts'
import { ReadView } from '../../parts/state.tsx'
import { Pager, pageKey } from '../../parts/table.tsx'
import { Time, zoneName } from '../../parts/time.tsx'
import { t } from '../../words/words.ts'
import { type Customer, type Fields, readAudit } from './data.ts'
import { type Difference, differences } from './differences.ts'
import { isoOf } from './paging.ts'
import { textIn } from './revisions.ts'

export function Audit({ customer }: { readonly customer: Customer }) {
  const after = pageKey()
  const { kind, aid, sid } = customer
  const reading = useRead(`audit ${kind} ${aid} ${sid} ${after}`, (signal) =>
    readAudit(customer, after, signal),
  )
  return (
    <ReadView
      reading={reading}
      rows={10}
      isEmpty={(page) => page.rows.length === 0 && after === null}
      empty={t('audit.none')}
    >
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

/** As many fields as anyone reads; a created document has more. */
const FIELDS_SHOWN = 12
const HIDDEN: ReadonlySet<string> = new Set(['_id', 'creation_time'])

function Entry({ entry }: { readonly entry: Fields }) {
  const user = (entry['user'] ?? {}) as Fields
  const changes = differences(entry['old'], entry['new']).filter(({ field }) => !HIDDEN.has(field))
  const what = `${textIn(entry, 'collection')} ${textIn(entry, 'key')}: ${textIn(entry, 'type')}`
  const name = textIn(user, 'name')
  return (
    <li>
      <h3>{what}</h3>
      <p>
        <Time value={isoOf(entry['urt'])} precision="second" /> ({zoneName()}) ·{' '}
        <strong dir="auto">{name === '' ? textIn(user, 'by') : name}</strong>
        {textIn(entry, 'ip') !== '' && <span class="muted"> · {textIn(entry, 'ip')}</span>}
      </p>
      {changes.length > 0 && <Changes caption={what} changes={changes} />}
    </li>
  )
}

interface ChangesProps {
  readonly caption: string
  readonly changes: readonly Difference[]
}

function Changes({ caption, changes }: ChangesProps) {
  const rest = changes.slice(FIELDS_SHOWN)
  return (
    <>
      <ChangeTable caption={caption} changes={changes.slice(0, FIELDS_SHOWN)} />
      {rest.length > 0 && (
        <details>
          <summary>{t('audit.more', { count: rest.length })}</summary>
          <ChangeTable caption={caption} changes={rest} />
        </details>
      )}
    </>
  )
}

function ChangeTable({ caption, changes }: ChangesProps) {
  return (
    <table class="changes">
      <caption class="hidden">{caption}</caption>
      <thead>
        <tr>
          <th scope="col">{t('audit.field')}</th>
          <th scope="col">{t('audit.before')}</th>
          <th scope="col">{t('audit.after')}</th>
        </tr>
      </thead>
      <tbody>
        {changes.map(({ field, before, after }) => (
          <tr key={field}>
            <th scope="row">{field}</th>
            <td dir="auto">{before ?? '—'}</td>
            <td dir="auto">{after ?? '—'}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
