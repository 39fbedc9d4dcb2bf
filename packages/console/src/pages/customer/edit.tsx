/** Edits the contact data of the revision that is valid now. */
import type { Fields } from '../../api/records.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { textIn } from '../../parts/differences.ts'
import { useConcurrentEdit } from '../../parts/document/concurrent.tsx'
import { changedFields } from '../../parts/document/values.ts'
import { Field } from '../../parts/field.tsx'
import { Form, useForm } from '../../parts/form.tsx'
import type { Revision } from '../../parts/revisions.ts'
import type { WordKey } from '../../words/en.ts'
import { t } from '../../words/words.ts'
import type { Customer } from './data.ts'

/** Declared contact data of each collection. */
const FIELDS = {
  account: ['firstname', 'lastname', 'email', 'address', 'zip_code', 'country'],
  subscriber: ['firstname', 'lastname', 'address', 'country'],
} as const
const TEXT_MAX = 1_000

interface EditProps {
  readonly customer: Customer
  readonly revision: Revision
  readonly onSaved: () => void
  readonly onClose: () => void
}

export function Edit({ customer: { kind, aid, sid }, revision, onSaved, onClose }: EditProps) {
  const names: readonly string[] = FIELDS[kind]
  const edit = useConcurrentEdit({
    collection: `${kind}s`,
    key: String(kind === 'account' ? aid : sid),
    revision,
    termsOf: (of) => Object.fromEntries(names.map((name) => [name, textIn(of, name)])),
  })
  const form = useForm<{ texts: Fields }>({ texts: edit.base }, async ({ texts }) => {
    const update = changedFields(edit.base, texts)
    const body = { query: { _id: revision._id.$id }, update }
    const onMerged = (merged: Fields) => form.set('texts', merged)
    if (Object.keys(update).length > 0) {
      await edit.write({ action: 'update', body, draft: texts, onMerged })
    }
    onSaved()
    onClose()
  })
  const { texts } = form.values.value
  return (
    <Dialog title={t('edit.title')} onClose={onClose}>
      <Form form={form} save={t('edit.save')}>
        {edit.conflict(texts, (merged) => form.set('texts', merged), labelOf)}
        {names.map((name, index) => (
          <Field
            key={name}
            label={labelOf(name)}
            value={textIn(texts, name)}
            onValue={(text) => form.set('texts', { ...form.values.peek().texts, [name]: text })}
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
