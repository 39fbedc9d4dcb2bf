/** All lines of the customer as CSV, sent while they are read. The API makes it: a report. */
import { ActionButton } from '../../parts/action-button.tsx'
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

export function LinesCsv({ sid }: { readonly sid: number }) {
  return (
    <form method="post" action="api/report">
      <input type="hidden" name="action" value="exportCSVReport" />
      <input type="hidden" name="report" value={reportOf(sid)} />
      <input type="hidden" name="file_name" value={`lines_${sid}`} />
      <ActionButton action="api/report" isBrief>
        {t('lines.csv')}
      </ActionButton>
    </form>
  )
}
