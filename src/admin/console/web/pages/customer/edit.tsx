/** Edits the contact data of the revision that is valid now. */
import { useState } from 'preact/hooks'
import { call } from '../../api/client.ts'
import { Refusal } from '../../api/errors.ts'
import type { Fields } from '../../api/records.ts'
import { Conflict } from '../../parts/conflict.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { textIn } from '../../parts/differences.ts'
import {
  type Choice,
  type Clash,
  changedFields,
  type Merge,
  mergeOf,
} from '../../parts/document/values.ts'
import { Field } from '../../parts/field.tsx'
import { Form, useForm } from '../../parts/form.tsx'
import type { Revision } from '../../parts/revisions.ts'
import type { WordKey } from '../../words/en.ts'
import { t } from '../../words/words.ts'
import { type Customer, readLastAuthor } from './data.ts'

/** Declared contact data of each collection. */
const FIELDS = {
  account: ['firstname', 'lastname', 'email', 'address', 'zip_code', 'country'],
  subscriber: ['firstname', 'lastname', 'address', 'country'],
} as const
const TEXT_MAX = 1_000

type Texts = Readonly<Record<string, string>>

interface EditProps {
  readonly customer: Customer
  readonly revision: Revision
  readonly onSaved: () => void
  readonly onClose: () => void
}

/** Saved by somebody else while the form was open. */
interface Other {
  readonly merge: Merge
  readonly author: string | null
}

/** The revision that the form compares with, and its version. */
interface Base {
  readonly texts: Texts
  readonly version: string
}

export function Edit({ customer, revision, onSaved, onClose }: EditProps) {
  const [base, setBase] = useState<Base>(() => baseOf(customer, revision))
  const [other, setOther] = useState<Other | null>(null)
  const [choices, setChoices] = useState<Readonly<Record<string, Choice>>>({})
  const form = useForm<Texts>(base.texts, async (texts) => {
    const update = changedFields(base.texts, texts)
    try {
      if (Object.keys(update).length > 0) await save(customer, revision, { update, base })
    } catch (error) {
      const present = presentIn(error)
      if (present === null) throw error
      const next = baseOf(customer, present)
      const merge = mergeOf(base.texts, texts, next.texts)
      form.values.value = merge.merged as Texts
      setOther({ merge, author: await readLastAuthor(customer) })
      setChoices({})
      setBase(next)
      throw error
    }
    onSaved()
    onClose()
  })
  const choose = ({ field, mine, theirs }: Clash, choice: Choice) => {
    form.set(field, choice === 'mine' ? mine : theirs)
    setChoices({ ...choices, [field]: choice })
  }
  return (
    <Dialog title={t('edit.title')} onClose={onClose}>
      <Form form={form} save={t('edit.save')}>
        {other !== null && (
          <Conflict
            merge={other.merge}
            author={other.author}
            choices={choices}
            onChoose={choose}
            labelOf={labelOf}
          />
        )}
        {FIELDS[customer.kind].map((name, index) => (
          <Field
            key={name}
            label={labelOf(name)}
            value={form.values.value[name] ?? ''}
            onValue={(text) => form.set(name, text)}
            error={form.errorAt(name)}
            input={{ maxLength: TEXT_MAX, autocomplete: 'off', autofocus: index === 0 }}
          />
        ))}
      </Form>
    </Dialog>
  )
}

function labelOf(field: string): string {
  return t(`edit.${field}` as WordKey)
}

function baseOf({ kind }: Customer, revision: Fields): Base {
  const info = (revision['revision_info'] ?? {}) as Fields
  return {
    texts: Object.fromEntries(FIELDS[kind].map((name) => [name, textIn(revision, name)])),
    version: textIn(info, 'version'),
  }
}

interface Saved {
  readonly update: Fields
  readonly base: Base
}

async function save({ kind }: Customer, revision: Revision, { update, base }: Saved) {
  const collection = kind === 'account' ? 'accounts' : 'subscribers'
  const body = { query: { _id: revision._id.$id }, update }
  await call(`billapi/${collection}/update`, body as never, { ifMatch: `"${base.version}"` })
}

/** The revision that a conflict tells; null for other errors and for a revision that is deleted. */
function presentIn(error: unknown): Fields | null {
  if (!(error instanceof Refusal) || error.kind !== 'conflict') return null
  const { entity } = error.answer as { readonly entity?: Fields | null }
  return entity ?? null
}
