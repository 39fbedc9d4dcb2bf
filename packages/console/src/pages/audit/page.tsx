/** Audit: who changed what and when, found by collection, key, user, action and period. */
import { useRead } from '../../api/read.ts'
import type { Fields, Identified, Page as RecordPage } from '../../api/records.ts'
import { PAGE_SIZE, readAnswer } from '../../api/records.ts'
import { nodeZone, sessionUser } from '../../api/session.ts'
import { linkHere, location } from '../../frame/routes.ts'
import { AuditEntries } from '../../parts/audit-entries.tsx'
import { textIn } from '../../parts/differences.ts'
import { type FilterField, FilterForm } from '../../parts/filter.tsx'
import { afterSecond, secondPosition } from '../../parts/paging.ts'
import { usePageKeys } from '../../parts/table.tsx'
import { AUDIT } from '../../words/en/audit.ts'
import { addWords, t } from '../../words/words.ts'

addWords(AUDIT)

type Query = Readonly<Record<string, string>>
type Entry = Fields & Identified

export default function Page() {
  const { query } = location.value
  const reading = useRead(linkHere({}), (signal) => readEntries(query, signal))
  usePageKeys()
  return (
    <>
      <h1 tabIndex={-1}>{t('page.audit')}</h1>
      <FilterForm label={t('auditpage.filter')} fields={filterFields()} refuse={refuseUnindexed} />
      <section aria-labelledby="audit-entries">
        <h2 id="audit-entries">{t('auditpage.entries')}</h2>
        <AuditEntries reading={reading} />
      </section>
    </>
  )
}

/** Collections of the audit that the API does not have. */
const OTHERS = ['cards', 'clock', 'installation', 'login', 'oauth', 'sessions', 'settings']

function filterFields(): readonly FilterField[] {
  const named = Object.keys(sessionUser.value?.actions ?? {}).map(
    (name) => name.split('/')[0] ?? '',
  )
  const all = new Set([...named, ...OTHERS])
  const zone = nodeZone.value
  return [
    {
      name: 'collection',
      label: t('auditpage.collection'),
      choices: [...all].sort().map((value) => ({ value, label: value })),
    },
    { name: 'key', label: t('auditpage.key') },
    { name: 'user', label: t('auditpage.user') },
    { name: 'type', label: t('auditpage.type') },
    { name: 'from', label: t('auditpage.from', { zone }), input: { type: 'date' } },
    { name: 'to', label: t('auditpage.to', { zone }), input: { type: 'date' } },
  ]
}

/** Actions have no index: without one of these fields all records would be read. */
function refuseUnindexed({ type, key, user, from }: Query): Query {
  const isBounded = [key, user, from].some((value) => value !== '')
  return type === '' || isBounded ? {} : { type: t('auditpage.unbounded') }
}

/** Newest first, in the order of the indexes: none of the pages has to be sorted. */
async function readEntries(query: Query, signal: AbortSignal): Promise<RecordPage<Entry>> {
  const { collection, key, user, type, from, to, after = '' } = query
  const position = afterSecond(after)
  const { count = 0 } = position ?? {}
  const until = position?.until ?? (to && `${to}T23:59:59.999`)
  const filter = {
    ...(collection && { collection }),
    ...(key && { key }),
    ...(user && { 'user.name': user }),
    ...(type && { type }),
    ...((from || until) && { urt: { ...(from && { $gte: from }), ...(until && { $lte: until }) } }),
  }
  const body = { query: filter, sort: { urt: -1, _id: -1 }, size: PAGE_SIZE + count }
  const { details, next_page: hasMore } = await readAnswer<Entry>('audit', body, signal)
  const times = details.map((entry) => textIn(entry, 'urt'))
  return { rows: details.slice(count), next: hasMore ? secondPosition(times) : null }
}
