/** A field of a form with its label, hint and error. */
import type { InputHTMLAttributes, TargetedEvent } from 'preact'
import { useId } from 'preact/hooks'
import { Hint } from './hint.tsx'

interface FieldProps {
  readonly label: string
  readonly value: string
  readonly onValue: (value: string) => void
  readonly hint?: string | undefined
  readonly error?: string | null
  /** Attributes of the input, such as `type`, `autocomplete` and `required`. */
  readonly input?: InputHTMLAttributes<HTMLInputElement>
  /** Values of a choice; without them it is an input. */
  readonly choices?: readonly { readonly value: string; readonly label: string }[]
  readonly isMultiline?: boolean
  /** Shown, not changed. */
  readonly isReadOnly?: boolean
}

export function Field(props: FieldProps) {
  const { label, hint, error = null } = props
  const id = useId()
  const about = [hint && `${id}-hint`, error !== null && `${id}-error`].filter(Boolean).join(' ')
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <Control {...props} id={id} about={about} isInvalid={error !== null} />
      {hint && <Hint id={`${id}-hint`} text={hint} />}
      {error !== null && (
        <small id={`${id}-error`} class="error">
          {error}
        </small>
      )}
    </div>
  )
}

interface ControlProps extends FieldProps {
  readonly id: string
  readonly about: string
  readonly isInvalid: boolean
}

function Control({
  id,
  about,
  isInvalid,
  value,
  onValue,
  input,
  choices,
  isMultiline,
  isReadOnly = false,
}: ControlProps) {
  const common = {
    id,
    value,
    'aria-describedby': about === '' ? undefined : about,
    'aria-invalid': isInvalid,
  }
  const changed = (event: TargetedEvent<HTMLElement & { value: string }>) =>
    onValue(event.currentTarget.value)
  if (choices !== undefined) {
    return (
      <select {...common} disabled={isReadOnly} onChange={changed}>
        {choices.map((each) => (
          <option key={each.value} value={each.value}>
            {each.label}
          </option>
        ))}
      </select>
    )
  }
  if (isMultiline) {
    return <textarea {...common} rows={3} readOnly={isReadOnly} onInput={changed} />
  }
  return <input {...input} {...common} readOnly={isReadOnly} onInput={changed} />
}
