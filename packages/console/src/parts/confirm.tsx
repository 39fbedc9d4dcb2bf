/** Asks before what cannot be undone, or what many notice: names object and effect. */
import type { ComponentChildren } from 'preact'
import { t } from '../words/words.ts'
import { ActionButton } from './action-button.tsx'
import { Dialog } from './dialog.tsx'
import { Field } from './field.tsx'
import { useForm } from './form.tsx'
import { Refused } from './state.tsx'

interface ConfirmProps {
  readonly title: string
  /** The effect. */
  readonly about: string
  /** Word of the button that acts. */
  readonly act: string
  readonly action: string
  /** The button waits for this text. */
  readonly typed?: string
  /** Whether the button waits for a reason. */
  readonly hasReason?: boolean
  /** For a reason of the page itself. */
  readonly isDisabled?: boolean
  /**
   * The dialog closes afterwards; a refusal is shown in it. `key`: for `Idempotency-Key`, the same
   * until the outcome is known.
   */
  readonly onAct: (reason: string, key: string) => Promise<void>
  readonly onClose: () => void
  readonly children?: ComponentChildren
}

const INPUT = { autocomplete: 'off', maxLength: 200, required: true } as const

/** Enter alone does nothing; Ctrl Enter acts, as it saves every form. */
export function Confirm(props: ConfirmProps) {
  const { title, about, act, action, typed, hasReason = false, onAct, onClose, children } = props
  const form = useForm({ typed: '', reason: '' }, async ({ reason }, key) => {
    await onAct(reason.trim(), key)
    onClose()
  })
  const { values, refusal, isBusy } = form
  const isTyped = typed === undefined || values.value.typed.trim() === typed
  const hasAll = isTyped && (!hasReason || values.value.reason.trim() !== '')
  const isDisabled = props.isDisabled === true || !hasAll || isBusy.value
  const byKey = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
    event.currentTarget instanceof HTMLElement &&
      event.currentTarget.querySelector<HTMLButtonElement>('[data-action]')?.click()
  }
  return (
    <Dialog title={title} onClose={onClose}>
      <form class="form" onSubmit={(event) => event.preventDefault()} onKeyDown={byKey}>
        <p>{about}</p>
        {children}
        {typed !== undefined && (
          <Field
            label={t('confirm.typed', { text: typed })}
            {...form.field('typed')}
            input={{ ...INPUT, autofocus: true }}
          />
        )}
        {hasReason && (
          <Field
            label={t('confirm.reason')}
            hint={t('confirm.reasonHint')}
            {...form.field('reason')}
            input={{ ...INPUT, autofocus: true }}
          />
        )}
        {refusal.value !== null && <Refused refusal={refusal.value} />}
        <div class="buttons">
          <button type="button" class="main" onClick={onClose}>
            {t('dialog.cancel')}
          </button>
          <ActionButton
            action={action}
            kind="danger"
            isDisabled={isDisabled}
            onAct={() => void form.submit()}
          >
            {isBusy.value ? t('form.busy') : act}
          </ActionButton>
        </div>
      </form>
    </Dialog>
  )
}
