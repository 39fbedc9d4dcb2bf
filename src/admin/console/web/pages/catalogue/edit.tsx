/** Edits a revision: the change begins a new revision at a date, or replaces the terms of this one. */
import { useState } from 'preact/hooks'
import { answerOf } from '../../api/client.ts'
import { Refusal } from '../../api/errors.ts'
import { type Fields, readRecords } from '../../api/records.ts'
import { nodeZone } from '../../api/session.ts'
import { Conflict } from '../../parts/conflict.tsx'
import { textIn } from '../../parts/differences.ts'
import { DocumentEditor } from '../../parts/document/editor.tsx'
import type { Schemas } from '../../parts/document/schemas.ts'
import { useValidation } from '../../parts/document/validation.ts'
import {
  type Choice,
  changedFields,
  type Document,
  type Merge,
  mergeOf,
  pathOf,
  valueAt,
  withValue,
} from '../../parts/document/values.ts'
import { Field } from '../../parts/field.tsx'
import { Form, useForm } from '../../parts/form.tsx'
import type { Revision } from '../../parts/revisions.ts'
import { t } from '../../words/words.ts'
import type { Collection } from './data.ts'
import { HIDDEN, Messages, messagesOf, plotOf, schemaOf, termsOf } from './editing.tsx'

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

/** The stored terms that the draft is compared with, and their version. */
interface Base {
  readonly terms: Document
  readonly version: string
}

/** Saved by somebody else while the form was open. */
interface Other {
  readonly merge: Merge
  readonly mine: Document
  readonly stored: Document
  readonly author: string | null
}

export function EditRevision(props: EditProps) {
  const { collection, schemas, revision, onSaved, onClose } = props
  const [base, setBase] = useState<Base>(() => baseOf(revision))
  const [other, setOther] = useState<Other | null>(null)
  const [choices, setChoices] = useState<Readonly<Record<string, Choice>>>({})
  const initial: Draft = { document: base.terms, effect: 'closeandnew', from: '' }
  const form = useForm<Draft>(initial, async (draft) => {
    const { effect } = draft
    const path = `billapi/${collection.name}/${effect}` as 'billapi/rates/update'
    const options = { ifMatch: `"${base.version}"` }
    try {
      const answer = await answerOf(path, bodyOf(revision, base, draft) as never, options)
      onSaved(savedId(answer) ?? revision._id.$id)
    } catch (error) {
      const stored = storedIn(error)
      if (stored === null) throw error
      const next = baseOf(stored)
      const merge = mergeOf(base.terms, draft.document, next.terms)
      const author = await lastAuthor(collection, revision)
      setOther({ merge, mine: draft.document, stored: next.terms, author })
      setChoices({})
      setBase(next)
      form.set('document', merge.merged)
      throw error
    }
  })
  const { document, effect, from } = form.values.value
  const hasChanged = Object.keys(changedFields(base.terms, document)).length > 0
  const validation = useValidation(
    `billapi/${collection.name}/${effect}`,
    hasChanged ? bodyOf(revision, base, form.values.value) : null,
  )
  const refusal = form.refusal.value
  const choose = ({ field }: { readonly field: string }, choice: Choice) => {
    const source = choice === 'mine' ? other?.mine : other?.stored
    const path = pathOf(field)
    form.set('document', withValue(document, path, valueAt(source, path)) as Document)
    setChoices({ ...choices, [field]: choice })
  }
  return (
    <Form form={form} save={t('catalogue.save')} isWide beside={<Cancel onClose={onClose} />}>
      {other !== null && (
        <Conflict merge={other.merge} author={other.author} choices={choices} onChoose={choose} />
      )}
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
        hidden={[...HIDDEN, collection.key]}
        besideTiers={plotOf(document, base.terms)}
      />
      <Messages validation={validation} refusal={refusal} document={document} />
    </Form>
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

function baseOf(revision: Fields): Base {
  const info = (revision['revision_info'] ?? {}) as Fields
  return { terms: termsOf(revision), version: textIn(info, 'version') }
}

function bodyOf(revision: Revision, { terms }: Base, { document, effect, from }: Draft) {
  const changed = changedFields(terms, document)
  const update = effect === 'update' ? changed : { ...(from !== '' && { from }), ...changed }
  return { query: { _id: revision._id.$id }, update }
}

function savedId(answer: unknown): string | null {
  const { entity } = answer as { readonly entity?: { readonly _id?: { readonly $id?: string } } }
  return entity?._id?.$id ?? null
}

/** The revision that a conflict tells; null for other errors and for a revision that is deleted. */
function storedIn(error: unknown): Fields | null {
  if (!(error instanceof Refusal) || error.kind !== 'conflict') return null
  return (error.answer as { readonly entity?: Fields | null }).entity ?? null
}

/** User of the last change; null if it is unknown, or may not be read. */
async function lastAuthor({ name, key }: Collection, revision: Revision): Promise<string | null> {
  const query = { collection: name, key: textIn(revision, key) }
  try {
    const [last] = await readRecords<Fields>('audit', { query, sort: { _id: -1 }, size: 1 })
    return textIn((last?.['user'] ?? {}) as Fields, 'name') || null
  } catch (error) {
    if (error instanceof Refusal) return null
    throw error
  }
}
