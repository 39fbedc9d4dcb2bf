/** Makes or changes a definition: it is tried before it is saved. */
import { useState } from 'preact/hooks'
import { Refusal } from '../../api/errors.ts'
import type { Fields } from '../../api/records.ts'
import { linkHere } from '../../frame/routes.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { textIn } from '../../parts/differences.ts'
import { DocumentEditor } from '../../parts/document/editor.tsx'
import { useValidation } from '../../parts/document/validation.ts'
import { changedFields, type Document } from '../../parts/document/values.ts'
import { announce } from '../../parts/live-region.tsx'
import { Refused } from '../../parts/state.tsx'
import { t } from '../../words/words.ts'
import { type Report, saveReport, tryReport } from './data.ts'
import { RowTable } from './report.tsx'
import { NEW_REPORT, REPORT } from './schema.ts'

interface ReportEditorProps {
  /** Null for a new report. */
  readonly base: Report | null
  readonly onChanged: (shown: string, text: string | null) => void
}

const PARTS = Object.keys(REPORT.properties ?? {})

export function ReportEditor({ base, onChanged }: ReportEditorProps) {
  const [draft, setDraft] = useState<Document>(() => (base === null ? NEW_REPORT : partsOf(base)))
  const [refusal, setRefusal] = useState<Refusal | null>(null)
  const [rows, setRows] = useState<readonly Fields[] | null>(null)
  const [isBusy, setBusy] = useState(false)
  const write = base === null ? 'create' : 'update'
  const validation = useValidation(
    `billapi/reports/${write}`,
    base === null
      ? { update: draft }
      : { query: { _id: base._id.$id }, update: changedFields(base, draft) },
  )
  const errors = [...validation.errors, ...(refusal?.fields ?? [])]
  const shown = refusal ?? validation.refusal
  const doing = async (act: () => Promise<void>) => {
    setBusy(true)
    setRefusal(null)
    try {
      await act()
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      setRefusal(error)
    }
    setBusy(false)
  }
  const attempt = () => doing(async () => setRows(await tryReport(draft)))
  const save = () =>
    doing(async () => {
      await saveReport(base, draft)
      const name = textIn(draft, 'key')
      announce(t('reports.saved', { name }))
      onChanged(name, t('reports.saved', { name }))
    })
  const submit = (event: Event) => {
    event.preventDefault()
    void save()
  }
  const byKey = (event: KeyboardEvent) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) submit(event)
  }
  return (
    <form class="stack" onSubmit={submit} onKeyDown={byKey}>
      <h2 dir="auto">{base === null ? t('reports.new') : textIn(base, 'key')}</h2>
      <p class="muted">{t('reports.typeHint')}</p>
      <DocumentEditor
        schemas={{}}
        schema={REPORT}
        document={draft}
        onChange={setDraft}
        errors={errors}
        hidden={base === null ? [] : ['key']}
      />
      {shown !== null && <Refused refusal={shown} />}
      <div class="buttons">
        <ActionButton action={`reports/${write}`} kind="main" isDisabled={isBusy}>
          {t('reports.save')}
        </ActionButton>
        <ActionButton action="api/report" isDisabled={isBusy} onAct={() => void attempt()}>
          {t('reports.try')}
        </ActionButton>
        <a href={linkHere({ edit: null })}>{t('dialog.cancel')}</a>
      </div>
      {rows !== null && (
        <section class="stack" aria-labelledby="tried">
          <h3 id="tried">{t('reports.tried')}</h3>
          {rows.length === 0 ? (
            <p class="state">{t('reports.noRows')}</p>
          ) : (
            <RowTable name={textIn(draft, 'key')} report={draft} rows={rows} />
          )}
        </section>
      )}
    </form>
  )
}

/** Without what the API adds. */
function partsOf(report: Report): Document {
  return Object.fromEntries(Object.entries(report).filter(([name]) => PARTS.includes(name)))
}
