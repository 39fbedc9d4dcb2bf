/** The form: file type, message, check. The type and the form of the message are in the address. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { location, setQuery } from '../../frame/routes.ts'
import { Field } from '../../parts/field.tsx'
import { missingText } from '../../parts/rights.ts'
import { t } from '../../words/words.ts'
import { type FileType, FORMS, type MessageForm, type Typed } from './data.ts'
import { bytesOfHex } from './hexadecimal.ts'

interface CheckFormProps {
  readonly types: readonly FileType[]
  readonly isBusy: boolean
  /** The message at the begin. */
  readonly initial: string
  readonly onCheck: (typed: Typed) => void
  readonly onChange: (typed: Typed) => void
}

export function CheckForm({ types, isBusy, initial, onCheck, onChange }: CheckFormProps) {
  const { query } = location.value
  const [message, setMessage] = useState(initial)
  const [errors, setErrors] = useState<Errors>(NO_ERRORS)
  const ref = useRef<HTMLFormElement>(null)
  const form: MessageForm = query['as'] === 'hex' ? 'hex' : 'text'
  const typed: Typed = { type: query['type'] ?? '', form, message }
  useEffect(() => onChange(typed), [typed.type, form, message])
  useEffect(() => {
    ref.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus()
  }, [errors])
  const missing = missingText('api/filetypecheck')
  const submit = (event: Event) => {
    event.preventDefault()
    if (missing !== null) return
    const found = errorsOf(typed)
    setErrors(found)
    if (found.type === null && found.message === null) onCheck(typed)
  }
  const submitByKey = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
    event.preventDefault()
    ref.current?.requestSubmit()
  }
  return (
    <form ref={ref} class="form" onSubmit={submit} onKeyDown={submitByKey} spellcheck={false}>
      <Field
        label={t('filetypes.type')}
        value={typed.type}
        onValue={(type) => setQuery({ type: type === '' ? null : type })}
        choices={choicesOf(types, typed.type)}
        hint={hintOf(types, typed.type)}
        error={errors.type}
      />
      <Field
        label={t('filetypes.form')}
        value={form}
        onValue={(as) => setQuery({ as: as === 'hex' ? 'hex' : null })}
        choices={FORMS.map((value) => ({ value, label: t(`filetypes.form.${value}`) }))}
      />
      <Field
        label={t('filetypes.message')}
        value={message}
        onValue={setMessage}
        isMultiline
        hint={t(`filetypes.hint.${form}`)}
        error={errors.message}
      />
      <div class="buttons check-line">
        <button
          type="submit"
          class="main"
          aria-disabled={missing !== null || isBusy}
          aria-describedby={missing === null ? 'check-effect' : 'check-missing'}
        >
          {t(isBusy ? 'filetypes.busy' : 'filetypes.check')}
        </button>
        {missing !== null && <span id="check-missing">{missing}</span>}
        {missing === null && (
          <span id="check-effect" class="muted">
            {t('filetypes.effect')}
          </span>
        )}
      </div>
    </form>
  )
}

interface Errors {
  readonly type: string | null
  readonly message: string | null
}

const NO_ERRORS: Errors = { type: null, message: null }

function errorsOf({ type, form, message }: Typed): Errors {
  return {
    type: type === '' ? t('filetypes.needsType') : null,
    message: message === '' ? t('filetypes.needsMessage') : hexError(form, message),
  }
}

function hexError(form: MessageForm, message: string): string | null {
  if (form === 'text') return null
  const { wrong } = bytesOfHex(message)
  if (wrong === null) return null
  return wrong === '' ? t('filetypes.oddHex') : t('filetypes.badHex', { sign: wrong })
}

/** A type of the address that is not installed stays: the API says what is wrong with it. */
function choicesOf(types: readonly FileType[], chosen: string) {
  const named = types.filter(({ name }) => name !== '')
  const known = named.map((each) => ({ value: each.name, label: labelOf(each) }))
  const isKnown = chosen === '' || named.some(({ name }) => name === chosen)
  return [
    { value: '', label: t('filetypes.choose') },
    ...known,
    ...(isKnown ? [] : [{ value: chosen, label: chosen }]),
  ]
}

function labelOf({ name, parser, from, state }: FileType): string {
  const about = [
    ...(parser === undefined ? [] : [parser]),
    ...(from === 'built_in' ? [t('filetypes.builtIn')] : []),
    ...(state === 'enabled' ? [] : [t(`filetypes.type.${state}`)]),
  ]
  return about.length === 0 ? name : `${name} (${about.join(', ')})`
}

function hintOf(types: readonly FileType[], chosen: string): string | undefined {
  const found = types.find(({ name }) => name === chosen)
  if (found === undefined || found.state === 'enabled') return undefined
  if (found.problem === undefined) return t('filetypes.disabledHint')
  const { path, reason } = found.problem
  return t('filetypes.unusableHint', { path, reason })
}
