/** Dialogs that save and remove a sample of a file type. */
import { Dialog } from '../../parts/dialog.tsx'
import { Field } from '../../parts/field.tsx'
import { Form, useForm } from '../../parts/form.tsx'
import { Refused } from '../../parts/state.tsx'
import { t } from '../../words/words.ts'
import { removeSample, saveSample, type Typed } from './data.ts'

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

interface RemoveDialogProps {
  readonly type: string
  readonly name: string
  readonly onClose: () => void
  readonly onRemoved: () => void
}

export function RemoveDialog({ type, name, onClose, onRemoved }: RemoveDialogProps) {
  const form = useForm({}, async () => {
    await removeSample(type, name)
    onRemoved()
  })
  const refusal = form.refusal.value
  return (
    <Dialog title={t('samples.removeTitle', { name })} onClose={onClose}>
      <p>{t('samples.removeEffect', { name, type })}</p>
      {refusal !== null && <Refused refusal={refusal} />}
      <div class="buttons">
        <button type="button" class="main" onClick={onClose}>
          {t('samples.keep')}
        </button>
        <button
          type="button"
          class="danger"
          aria-disabled={form.isBusy.value}
          onClick={() => void form.submit()}
        >
          {t('samples.remove')}
        </button>
      </div>
    </Dialog>
  )
}
