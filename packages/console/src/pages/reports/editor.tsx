/** Makes or changes a definition: it is tried before it is saved. */
import { useState } from 'preact/hooks'
import type { BodyOf } from '../../api/call-types.ts'
import { call } from '../../api/client.ts'
import { Refusal } from '../../api/errors.ts'
import type { Fields } from '../../api/records.ts'
import { linkHere } from '../../frame/routes.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { textIn } from '../../parts/differences.ts'
import { useConcurrentEdit } from '../../parts/document/concurrent.tsx'
import { DocumentEditor } from '../../parts/document/editor.tsx'
import { useValidation } from '../../parts/document/validation.ts'
import { changedFields, type Document } from '../../parts/document/values.ts'
import { Form, useForm } from '../../parts/form.tsx'
import { announce } from '../../parts/live-region.tsx'
import { Refused } from '../../parts/state.tsx'
import { t } from '../../words/words.ts'
import { type SavedReport, tryReport } from './data.ts'
import { RowTable } from './rows.tsx'
import { NEW_REPORT, REPORT } from './schema.ts'

interface ReportEditorProps {
  /** Null for a new report. */
  readonly base: SavedReport | null
  readonly onChanged: (label: string, text: string | null) => void
}

const PARTS = Object.keys(REPORT.properties ?? {})

/** Drops fields that the API adds. */
function partsOf(report: Fields): Document {
  return Object.fromEntries(Object.entries(report).filter(([name]) => PARTS.includes(name)))
}

export function ReportEditor({ base, onChanged }: ReportEditorProps) {
  const revision: Fields = base ?? NEW_REPORT
  const key = textIn(revision, 'key')
  const edit = useConcurrentEdit({ collection: 'reports', key, revision, termsOf: partsOf })
  const [tried, setTried] = useState<readonly Fields[] | Refusal | null>(null)
  const bodyOf = (document: Document) =>
    base === null
      ? { update: document }
      : { query: { _id: base._id.$id }, update: changedFields(edit.base, document) }
  const setDocument = (document: Document) => form.set('document', document)
  const form = useForm({ document: edit.base }, async ({ document }) => {
    const body = bodyOf(document)
    if (base === null)
      await call('billapi/reports/create', body as BodyOf<'billapi/reports/create'>)
    else await edit.write({ action: 'update', body, draft: document, onMerged: setDocument })
    const text = t('reports.saved', { name: textIn(document, 'key') })
    announce(text)
    onChanged(textIn(document, 'key'), text)
  })
  const { document } = form.values.value
  const path = `billapi/reports/${base === null ? 'create' : 'update'}`
  const validation = useValidation(path, bodyOf(document))
  const refusal = tried instanceof Refusal ? tried : validation.refusal
  const attempt = () => {
    tryReport(document).then(setTried, (error: unknown) => {
      setTried(error instanceof Refusal ? error : null)
    })
  }
  const beside = (
    <>
      <ActionButton action="api/report" onAct={attempt}>
        {t('reports.try')}
      </ActionButton>
      <a href={linkHere({ edit: null })}>{t('dialog.cancel')}</a>
    </>
  )
  return (
    <section class="stack" aria-labelledby="edited">
      <h2 id="edited" dir="auto">
        {key === '' ? t('reports.new') : key}
      </h2>
      <Form form={form} save={t('reports.save')} isWide beside={beside}>
        {edit.conflict(document, setDocument)}
        <p class="muted">{t('reports.typeHint')}</p>
        <DocumentEditor
          schemas={{}}
          schema={REPORT}
          document={document}
          onChange={(changed) => {
            setDocument(changed)
            setTried(null)
          }}
          errors={[...validation.errors, ...((form.refusal.value ?? refusal)?.fields ?? [])]}
          hidden={base === null ? [] : ['key']}
        />
        {form.refusal.value === null && refusal !== null && <Refused refusal={refusal} />}
      </Form>
      {Array.isArray(tried) && (
        <>
          <h3>{t('reports.tried')}</h3>
          <RowTable name={key} report={document} rows={tried} />
        </>
      )}
    </section>
  )
}
