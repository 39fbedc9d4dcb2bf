/** The dialog that saves a checked message as a sample of its file type. */
import { Dialog } from '../../parts/dialog.tsx'
import { Field } from '../../parts/field.tsx'
import { Form, useForm } from '../../parts/form.tsx'
import { t } from '../../words/words.ts'
import { saveSample, type Typed } from './data.ts'

interface SaveDialogProps {
  readonly typed: Typed
  readonly expect: unknown
  readonly names: readonly string[]
  readonly onClose: () => void
  readonly onSaved: () => void
}

export function SaveDialog({ typed, expect, names, onClose, onSaved }: SaveDialogProps) {
  const form = useForm({ name: '' }, async ({ name }) => {
    await saveSample(name.trim(), typed, expect)
    onSaved()
  })
  const { name } = form.values.value
  const isTaken = names.includes(name.trim())
  return (
    <Dialog title={t('samples.saveTitle', { type: typed.type })} onClose={onClose}>
      <Form form={form} save={t(isTaken ? 'samples.replace' : 'samples.saveNow')}>
        <p>{t('samples.saveEffect')}</p>
        <Field
          label={t('samples.name')}
          value={name}
          onValue={(value) => form.set('name', value)}
          input={{ required: true, maxLength: 100, autocomplete: 'off', autofocus: true }}
          hint={isTaken ? t('samples.taken') : t('samples.personal')}
        />
      </Form>
    </Dialog>
  )
}
