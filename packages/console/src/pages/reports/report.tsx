/** One report: its rows, chart, CSV, and what may be done with its definition. */
import { useState } from 'preact/hooks'
import { useRead } from '../../api/read.ts'
import { location, navigateHere } from '../../frame/routes.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { textIn } from '../../parts/differences.ts'
import { ReadView, Skeleton } from '../../parts/state.tsx'
import { Pager, pageKey } from '../../parts/table.tsx'
import { t } from '../../words/words.ts'
import { Chart } from './chart.tsx'
import { columnsOf, deleteReport, readReport, runReport, type SavedReport } from './data.ts'
import { ReportEditor } from './editor.tsx'
import { RowTable } from './rows.tsx'

interface ReportViewProps {
  readonly name: string
  /** Null while they are read. */
  readonly reports: readonly SavedReport[] | null
  readonly onChanged: (label: string, text: string | null) => void
}

export function ReportView({ name, reports, onChanged }: ReportViewProps) {
  if (name === '') return <p class="state">{t('reports.choose')}</p>
  if (reports === null) return <Skeleton rows={6} />
  const report = reports.find((each) => textIn(each, 'key') === name)
  if (report === undefined) return <p class="state">{t('reports.gone', { name })}</p>
  if (location.value.query['edit'] !== undefined) {
    return <Edited report={report} onChanged={onChanged} />
  }
  return <ReportContent name={name} report={report} onChanged={onChanged} />
}

interface EditedProps {
  readonly report: SavedReport
  readonly onChanged: ReportViewProps['onChanged']
}

/** The list has no versions: the stored document is read for an edit. */
function Edited({ report, onChanged }: EditedProps) {
  const id = report._id.$id
  const reading = useRead(`report ${id}`, (signal) => readReport(id, signal))
  return (
    <ReadView
      reading={reading}
      rows={10}
      isEmpty={(base) => base === null}
      empty={t('reports.gone', { name: textIn(report, 'key') })}
    >
      {(base) => <ReportEditor base={base} onChanged={onChanged} />}
    </ReadView>
  )
}

function ReportContent({ name, report, onChanged }: EditedProps & { readonly name: string }) {
  const after = pageKey()
  const isRun = location.value.query['run'] === '1'
  const reading = useRead(
    `rows ${name} ${after} ${isRun}`,
    isRun ? (signal) => runReport(name, after, signal) : null,
  )
  const [isDeleting, setDeleting] = useState(false)
  const run = () => {
    if (isRun) reading.reload()
    else navigateHere({ run: '1' })
  }
  return (
    <section class="stack" aria-labelledby="report">
      <header class="section-header">
        <h2 id="report" dir="auto">
          {name}
        </h2>
        <ActionButton action="api/report" kind="main" onAct={run}>
          {t('reports.run')}
        </ActionButton>
        <Csv name={name} />
        <ActionButton
          action="reports/update"
          isBrief
          onAct={() => {
            navigateHere({ edit: '1' })
          }}
        >
          {t('reports.edit')}
        </ActionButton>
        <ActionButton action="reports/delete" kind="danger" isBrief onAct={() => setDeleting(true)}>
          {t('reports.delete')}
        </ActionButton>
      </header>
      {isRun ? (
        <ReadView reading={reading} rows={10} empty={t('reports.noRows')}>
          {({ rows, next, seconds }) => (
            <div class="stack">
              <p class="muted">{t('reports.took', { seconds })}</p>
              <Chart rows={rows} columns={columnsOf(report, rows)} />
              <RowTable name={name} report={report} rows={rows} />
              <Pager next={next} />
            </div>
          )}
        </ReadView>
      ) : (
        <p class="state">{t('reports.notRun')}</p>
      )}
      {isDeleting && (
        <Confirm
          title={t('reports.deleteTitle', { name })}
          about={t('reports.deleteAbout')}
          act={t('reports.deleteDo')}
          action="reports/delete"
          onAct={async () => {
            await deleteReport(report)
            onChanged('', null)
          }}
          onClose={() => setDeleting(false)}
        />
      )}
    </section>
  )
}

function Csv({ name }: { readonly name: string }) {
  return (
    <form method="post" action="api/report">
      <input type="hidden" name="action" value="exportCSV" />
      <input type="hidden" name="report" value={name} />
      <input type="hidden" name="file_name" value={name} />
      <ActionButton action="api/report" isBrief>
        {t('reports.csv')}
      </ActionButton>
    </form>
  )
}
