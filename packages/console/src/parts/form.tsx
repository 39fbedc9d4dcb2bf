/** Forms: values stay until they are saved, errors of the API stand at their fields. */
import './form.css'
import { type ReadonlySignal, type Signal, signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { errorAt, Refusal } from '../api/errors.ts'
import { newKey } from '../api/idempotency.ts'
import { t } from '../words/words.ts'
import { ActionButton } from './action-button.tsx'
import { missingText } from './rights.ts'
import { Refused } from './state.tsx'

/** Names of the values that are any text. */
type TextName<V> = { [K in keyof V]: string extends V[K] ? K : never }[keyof V]

export interface TextField {
  readonly value: string
  readonly onValue: (value: string) => void
  readonly error: string | null
}

export interface FormState<V extends object> {
  readonly values: Signal<V>
  readonly refusal: ReadonlySignal<Refusal | null>
  readonly isBusy: ReadonlySignal<boolean>
  set<K extends keyof V>(name: K, value: V[K]): void
  /** A text for its `Field`. */
  field(name: TextName<V>): TextField
  /** The error of a path of the document, the parameters or, without `query.`, the query. */
  errorAt(path: string): string | null
  submit(): Promise<void>
}

/**
 * `save` gets the values and a key for `Idempotency-Key`: the same until an outcome is known, so
 * that a double click or a lost answer cannot write twice.
 */
export function useForm<V extends object>(
  initial: V,
  save: (values: V, key: string) => Promise<void>,
): FormState<V> {
  const saving = useRef(save)
  saving.current = save
  return useMemo(() => createForm(initial, (values, key) => saving.current(values, key)), [])
}

function createForm<V extends object>(
  initial: V,
  save: (values: V, key: string) => Promise<void>,
): FormState<V> {
  const values = signal(initial)
  const refusal = signal<Refusal | null>(null)
  const isBusy = signal(false)
  let key = newKey()
  const set = (name: keyof V, value: V[keyof V]) => {
    values.value = { ...values.peek(), [name]: value }
    // Messages at fields are about the values that were sent.
    if ((refusal.peek()?.fields.length ?? 0) > 0) refusal.value = null
  }
  const errorOf = (path: string) => errorAt(refusal.value?.fields ?? [], path)
  return {
    values,
    refusal,
    isBusy,
    set,
    field: (name) => ({
      value: String(values.value[name]),
      onValue: (text) => set(name, text as V[keyof V]),
      error: errorOf(String(name)),
    }),
    errorAt: errorOf,
    async submit() {
      if (isBusy.peek()) return
      isBusy.value = true
      refusal.value = null
      try {
        await save(values.peek(), key)
        key = newKey()
      } catch (error) {
        if (!(error instanceof Refusal)) throw error
        refusal.value = error
        // The server has decided: the next try is another request.
        if (error.kind !== 'offline' && error.kind !== 'unavailable') key = newKey()
      } finally {
        isBusy.value = false
      }
    },
  }
}

interface FormProps<V extends object> {
  readonly form: FormState<V>
  /** Word of the button that saves. */
  readonly save: string
  /** And while it runs, if nothing is saved. */
  readonly busy?: string
  /** The action that it needs, as in `GET /auth/login`. */
  readonly action?: string
  /** Shown beside the button, such as one that cancels. */
  readonly beside?: ComponentChildren
  /** As wide as the page: otherwise its lines are short. */
  readonly isWide?: boolean
  readonly children: ComponentChildren
}

export function Form<V extends object>(props: FormProps<V>) {
  const { form, save, busy = t('form.busy'), action, beside, isWide = false, children } = props
  const ref = useRef<HTMLFormElement>(null)
  const refusal = form.refusal.value
  useEffect(() => {
    if (refusal === null) return
    ref.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus()
  }, [refusal])
  const submit = (event: Event) => {
    event.preventDefault()
    if (action === undefined || missingText(action) === null) void form.submit()
  }
  const submitByKey = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
    event.preventDefault()
    ref.current?.requestSubmit()
  }
  return (
    <form ref={ref} class={isWide ? 'form wide' : 'form'} onSubmit={submit} onKeyDown={submitByKey}>
      {children}
      {refusal !== null && <Refused refusal={refusal} />}
      <div class="buttons">
        {action === undefined ? (
          <button type="submit" class="main" aria-disabled={form.isBusy.value}>
            {form.isBusy.value ? busy : save}
          </button>
        ) : (
          <ActionButton action={action} kind="main" isDisabled={form.isBusy.value}>
            {form.isBusy.value ? busy : save}
          </ActionButton>
        )}
        {beside}
      </div>
    </form>
  )
}
