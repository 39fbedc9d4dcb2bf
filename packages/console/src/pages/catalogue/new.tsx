/** Creates an entity of the catalogue. */
import { useState } from 'preact/hooks'
import type { BodyOf } from '../../api/call-types.ts'
import { answerOf } from '../../api/client.ts'
import { useRead } from '../../api/read.ts'
import { nodeZone } from '../../api/session.ts'
import { navigate } from '../../frame/routes.ts'
import { textIn } from '../../parts/differences.ts'
import { DocumentEditor } from '../../parts/document/editor.tsx'
import { emptyOf, readSchemas, type Schemas } from '../../parts/document/schemas.ts'
import { useValidation } from '../../parts/document/validation.ts'
import type { Document } from '../../parts/document/values.ts'
import { Field } from '../../parts/field.tsx'
import { Form, useForm } from '../../parts/form.tsx'
import { ReadView } from '../../parts/state.tsx'
import { t } from '../../words/words.ts'
import type { Collection } from './data.ts'
import { HIDDEN, Messages, messagesOf, plotOf, schemaOf, written } from './editing.tsx'

interface NewProps {
  readonly collection: Collection
  readonly onClose: () => void
}

export function NewEntity(props: NewProps) {
  const reading = useRead('schemas', readSchemas)
  return (
    <section aria-label={t('catalogue.new')}>
      <ReadView reading={reading} rows={8}>
        {(schemas) => <NewForm {...props} schemas={schemas} />}
      </ReadView>
    </section>
  )
}

function NewForm({ collection, schemas, onClose }: NewProps & { readonly schemas: Schemas }) {
  const { name, key } = collection
  const schema = schemaOf(schemas, collection)
  const [initial] = useState(() => emptyOf(schemas, schema) as Document)
  const bodyOf = (draft: { readonly document: Document; readonly from: string }) => {
    const update = written(schemas, collection, draft.document)
    return { update: { ...(draft.from !== '' && { from: draft.from }), ...update } }
  }
  const form = useForm({ document: initial, from: '' }, async (draft) => {
    const path = `billapi/${name}/create` as 'billapi/rates/create'
    await answerOf(path, bodyOf(draft) as BodyOf<typeof path>)
    navigate(`catalogue/${name}/${encodeURIComponent(textIn(draft.document, key))}`)
  })
  const { document, from } = form.values.value
  const body = document === initial ? null : bodyOf(form.values.value)
  const validation = useValidation(`billapi/${name}/create`, body)
  const refusal = form.refusal.value
  return (
    <Form
      form={form}
      save={t('catalogue.create')}
      isWide
      beside={
        <button type="button" onClick={onClose}>
          {t('catalogue.cancel')}
        </button>
      }
    >
      <Field
        label={t('catalogue.from', { zone: nodeZone.value })}
        value={from}
        onValue={(value) => form.set('from', value)}
        hint={t('catalogue.fromHint')}
        input={{ type: 'date' }}
      />
      <DocumentEditor
        schemas={schemas}
        schema={schema}
        document={document}
        onChange={(next) => form.set('document', next)}
        errors={messagesOf(validation, refusal)}
        hidden={HIDDEN}
        besideTiers={plotOf(document, null)}
      />
      <Messages validation={validation} refusal={refusal} document={document} />
    </Form>
  )
}
