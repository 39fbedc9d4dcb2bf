/** Edits a revision: the change begins a new one at a date, or replaces the terms of this one. */
import { nodeZone } from '../../api/session.ts'
import { textIn } from '../../parts/differences.ts'
import { useConcurrentEdit } from '../../parts/document/concurrent.tsx'
import { DocumentEditor } from '../../parts/document/editor.tsx'
import type { Schemas } from '../../parts/document/schemas.ts'
import { useValidation } from '../../parts/document/validation.ts'
import { changedFields, type Document } from '../../parts/document/values.ts'
import { Field } from '../../parts/field.tsx'
import { Form, useForm } from '../../parts/form.tsx'
import type { Revision } from '../../parts/revisions.ts'
import { t } from '../../words/words.ts'
import type { Collection } from './data.ts'
import { HIDDEN, Messages, messagesOf, plotOf, schemaOf, termsOf, written } from './editing.tsx'
import { Simulate } from './simulate.tsx'

interface EditProps {
  readonly collection: Collection
  readonly schemas: Schemas
  readonly revision: Revision
  /** With the id of the saved revision. */
  readonly onSaved: (id: string | null) => void
  readonly onClose: () => void
}

interface Draft {
  readonly document: Document
  readonly effect: Effect
  /** First day of a new revision. */
  readonly from: string
}

const EFFECTS = ['closeandnew', 'update'] as const
type Effect = (typeof EFFECTS)[number]

export function EditRevision(props: EditProps) {
  const { collection, schemas, revision, onSaved, onClose } = props
  const { name, key } = collection
  const edit = useConcurrentEdit({
    collection: name,
    key: textIn(revision, key),
    revision,
    termsOf,
  })
  const changesIn = (draft: Document) => {
    return written(schemas, collection, changedFields(edit.base, draft))
  }
  const initial: Draft = { document: edit.base, effect: 'closeandnew', from: '' }
  const form = useForm<Draft>(initial, async (draft) => {
    const { effect: action, document } = draft
    const body = bodyOf(revision, changesIn(document), draft)
    const onMerged = (merged: Document) => form.set('document', merged)
    const id = await edit.write({ action, body, draft: document, onMerged })
    onSaved(id ?? revision._id.$id)
  })
  const { document, effect, from } = form.values.value
  const changed = changesIn(document)
  const hasChanged = Object.keys(changed).length > 0
  const validation = useValidation(
    `billapi/${name}/${effect}`,
    hasChanged ? bodyOf(revision, changed, form.values.value) : null,
  )
  const refusal = form.refusal.value
  return (
    <>
      <Form form={form} save={t('catalogue.save')} isWide beside={<Cancel onClose={onClose} />}>
        <h2>{t('catalogue.edit')}</h2>
        {edit.conflict(document, (merged) => form.set('document', merged))}
        <EffectFields
          effect={effect}
          from={from}
          onEffect={(value) => form.set('effect', value)}
          onFrom={(value) => form.set('from', value)}
        />
        <DocumentEditor
          schemas={schemas}
          schema={schemaOf(schemas, collection)}
          document={document}
          onChange={(next) => form.set('document', next)}
          errors={messagesOf(validation, refusal)}
          hidden={[...HIDDEN, key]}
          besideTiers={plotOf(document, edit.base)}
        />
        <Messages validation={validation} refusal={refusal} document={document} />
      </Form>
      <Simulate collection={name} base={edit.base} draft={document} />
    </>
  )
}

function Cancel({ onClose }: { readonly onClose: () => void }) {
  return (
    <button type="button" onClick={onClose}>
      {t('catalogue.cancel')}
    </button>
  )
}

interface EffectProps {
  readonly effect: Effect
  readonly from: string
  readonly onEffect: (effect: Effect) => void
  readonly onFrom: (from: string) => void
}

function EffectFields({ effect, from, onEffect, onFrom }: EffectProps) {
  return (
    <fieldset class="effect">
      <legend>{t('catalogue.effect')}</legend>
      {EFFECTS.map((each) => (
        <label key={each}>
          <input
            type="radio"
            name="effect"
            checked={effect === each}
            onChange={() => onEffect(each)}
          />{' '}
          {t(`catalogue.effect.${each}`)}
        </label>
      ))}
      {effect === 'closeandnew' && (
        <Field
          label={t('catalogue.from', { zone: nodeZone.value })}
          value={from}
          onValue={onFrom}
          input={{ type: 'date', required: true }}
        />
      )}
    </fieldset>
  )
}

function bodyOf({ _id }: Revision, changed: Document, { effect, from }: Draft) {
  const update = effect === 'update' ? changed : { ...(from !== '' && { from }), ...changed }
  return { query: { _id: _id.$id }, update }
}
