/** A button for an action of the API: disabled with the reason, such as a role that is missing. */
import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'
import { missingText } from './rights.ts'

interface ActionButtonProps {
  /** As in `GET /auth/login`: `api/pay`, `events/resend`. */
  readonly action: string
  /** Without it the button submits its form. */
  readonly onAct?: (event: Event) => void
  readonly kind?: 'main' | 'danger' | 'plain'
  /** For a reason that the page shows itself: nothing is selected, or a call is running. */
  readonly isDisabled?: boolean
  /** Why the page does not permit it; null if it does. */
  readonly reason?: string | null
  /** In a row of a table: the reason is shown by the pointer and read out, but takes no space. */
  readonly isBrief?: boolean
  /** Says more than the text, such as which row is meant. */
  readonly label?: string
  /** Id of a text about the effect. */
  readonly about?: string
  readonly children: ComponentChildren
}

export function ActionButton(props: ActionButtonProps) {
  const { action, onAct, kind, isDisabled = false, isBrief = false, label, about, children } = props
  const id = useId()
  const missing = missingText(action) ?? props.reason ?? null
  const isRefused = missing !== null || isDisabled
  const act = (event: Event) => {
    if (isRefused) event.preventDefault()
    else onAct?.(event)
  }
  return (
    <>
      <button
        type={onAct === undefined ? 'submit' : 'button'}
        class={kind}
        data-action={action}
        aria-disabled={isRefused}
        aria-label={label}
        aria-describedby={missing === null ? about : id}
        title={isBrief ? (missing ?? undefined) : undefined}
        onClick={act}
      >
        {children}
      </button>
      {missing !== null && (
        <span id={id} class={isBrief ? 'hidden' : 'muted'}>
          {missing}
        </span>
      )}
    </>
  )
}
