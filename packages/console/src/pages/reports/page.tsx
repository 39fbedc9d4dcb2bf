/** Saved reports: run, shown as a table and a chart, exported and edited. */
import '../../parts/split.css'
import './reports.css'
import { useState } from 'preact/hooks'
import { useRead } from '../../api/read.ts'
import { useShortcuts } from '../../frame/keys.ts'
import { linkHere, location, navigateHere } from '../../frame/routes.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { textColumn } from '../../parts/columns.tsx'
import { textIn } from '../../parts/differences.ts'
import { List } from '../../parts/list.tsx'
import { missingText } from '../../parts/rights.ts'
import type { Column } from '../../parts/table.tsx'
import { REPORTS } from '../../words/en/reports.ts'
import { addWords, isKey, t } from '../../words/words.ts'
import { readReports, type SavedReport } from './data.ts'
import { ReportEditor } from './editor.tsx'
import { ReportView } from './report.tsx'

addWords(REPORTS)

export default function Page() {
  const { query } = location.value
  const reading = useRead('reports', readReports)
  const [done, setDone] = useState<string | null>(null)
  const name = query['name'] ?? ''
  const isNew = query['edit'] === 'new'
  const begin = () => {
    if (missingText('reports/create') !== null) return
    navigateHere({ ...NOTHING, edit: 'new' })
  }
  useShortcuts([{ keys: 'n', title: 'reports.new', run: begin }])
  /** With the name of the report to show then; empty without one. */
  const changed = (label: string, text: string | null) => {
    setDone(text)
    reading.reload()
    navigateHere({ ...NOTHING, name: label || null })
  }
  return (
    <>
      <div class="title">
        <h1 tabIndex={-1}>{t('page.reports')}</h1>
        <ActionButton action="reports/create" onAct={begin}>
          {t('reports.new')}
        </ActionButton>
      </div>
      {done !== null && <p class="mark good">✓ {done}</p>}
      <div class="split with-detail">
        <section aria-labelledby="saved-reports">
          <h2 id="saved-reports">{t('reports.list')}</h2>
          <List
            reading={reading}
            height={6}
            empty={t('reports.none')}
            caption={t('reports.list')}
            columns={columns()}
            keyOf={({ _id }) => _id.$id}
            isCurrent={(report) => textIn(report, 'key') === name}
            onOpen={(report) => navigateHere({ ...NOTHING, name: textIn(report, 'key') })}
          />
        </section>
        {isNew ? (
          <ReportEditor base={null} onChanged={changed} />
        ) : (
          <ReportView
            key={name}
            name={name}
            reports={reading.state.value.data}
            onChanged={changed}
          />
        )}
      </div>
    </>
  )
}

/** Removes the state of one report from the address. */
const NOTHING = { name: null, edit: null, run: null, after: null, by: null, of: null }

const columns = (): Column<SavedReport>[] => [
  textColumn('reports.name', (report) => {
    const key = textIn(report, 'key')
    return <a href={linkHere({ ...NOTHING, name: key })}>{key}</a>
  }),
  textColumn('reports.entity', (report) => textIn(report, 'entity')),
  textColumn('reports.kind', (report) => {
    const key = `reports.kind.${textIn(report, 'type') || '0'}`
    return isKey(key) ? t(key) : ''
  }),
]
