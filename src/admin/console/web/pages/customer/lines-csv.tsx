/** All lines of the customer as CSV, sent while they are read. The API makes it: a report. */
import { sessionUser } from '../../api/session.ts'
import { t } from '../../words/words.ts'

const COLUMNS = [
  'urt',
  'type',
  'usaget',
  'arate_key',
  'usagev',
  'aprice',
  'final_charge',
  'plan',
  'billrun',
  'session_id',
  'stamp',
] as const

function reportOf(sid: number): string {
  return JSON.stringify({
    entity: 'usage',
    type: 0,
    columns: COLUMNS.map((name) => ({ key: name, field_name: name, label: name })),
    conditions: [{ field: 'sid', op: 'eq', value: sid }],
    sorts: [{ field: 'urt', op: -1 }],
  })
}

/** Roles that may run reports. */
const MAY: readonly string[] = ['write', 'reports', 'admin']

export function LinesCsv({ sid }: { readonly sid: number }) {
  const user = sessionUser.value
  const mayNot = user !== null && !user.roles.some((role) => MAY.includes(role))
  const refuse = (event: Event) => mayNot && event.preventDefault()
  return (
    <form method="post" action="api/report" onSubmit={refuse}>
      <input type="hidden" name="action" value="exportCSVReport" />
      <input type="hidden" name="report" value={reportOf(sid)} />
      <input type="hidden" name="file_name" value={`lines_${sid}`} />
      <button
        type="submit"
        aria-disabled={mayNot}
        title={mayNot ? t('lines.csvNeeds', { roles: MAY.join(', ') }) : undefined}
      >
        {t('lines.csv')}
      </button>
    </form>
  )
}
