/** Asks before what cannot be undone, or what many notice: names object and effect. */
import type { ComponentChildren } from 'preact'
import { t } from '../words/words.ts'
import { ActionButton } from './action-button.tsx'
import { Dialog } from './dialog.tsx'
import { useForm } from './form.tsx'
import { Refused } from './state.tsx'

interface ConfirmProps {
  readonly title: string
  /** The effect. */
  readonly about: string
  /** Word of the button that acts. */
  readonly act: string
  readonly action: string
  /** The dialog closes afterwards; a refusal is shown in it. */
  readonly onAct: () => Promise<void>
  readonly onClose: () => void
  readonly children?: ComponentChildren
}

/** The first button, which Enter presses, does nothing. */
export function Confirm({ title, about, act, action, onAct, onClose, children }: ConfirmProps) {
  const form = useForm({}, async () => {
    await onAct()
    onClose()
  })
  const refusal = form.refusal.value
  return (
    <Dialog title={title} onClose={onClose}>
      <p>{about}</p>
      {children}
      {refusal !== null && <Refused refusal={refusal} />}
      <div class="buttons">
        <button type="button" class="main" onClick={onClose}>
          {t('dialog.cancel')}
        </button>
        <ActionButton
          action={action}
          kind="danger"
          isDisabled={form.isBusy.value}
          onAct={() => void form.submit()}
        >
          {form.isBusy.value ? t('form.busy') : act}
        </ActionButton>
      </div>
    </Dialog>
  )
}
