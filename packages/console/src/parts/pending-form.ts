/** The form of a write that must happen once, whatever becomes of its answer. */
import { useMemo, useState } from 'preact/hooks'
import { Refusal } from '../api/errors.ts'
import { newKey } from '../api/idempotency.ts'
import { type FormState, useForm } from './form.tsx'
import { forgetPending, keepPending, openPending, type Pending } from './pending.ts'
import { tabStorage } from './tab-storage.ts'

interface PendingForm<F extends Readonly<Record<string, string>>> {
  readonly form: FormState<F>
  /** It was sent and its outcome is unknown: the fields stay, and the same call is repeated. */
  readonly isSent: boolean
}

interface Write<F> {
  readonly empty: F
  /** Values of a form that was not opened before. */
  readonly initial: Partial<F>
  /** Rejects with `Refusal` before anything is sent. */
  readonly check: (fields: F) => void
  readonly send: (fields: F, key: string) => Promise<void>
}

export function usePendingForm<F extends Readonly<Record<string, string>>>(
  name: string,
  { empty, initial, check, send }: Write<F>,
): PendingForm<F> {
  const kept = tabStorage()
  const opened = useMemo(() => openPending(kept, name, empty, newKey), [])
  const [pending, setPending] = useState<Pending<F>>(opened)
  const first = opened.isSent ? opened.fields : { ...opened.fields, ...initial }
  const form = useForm<F>(first, async (fields) => {
    check(fields)
    const submitted = { key: pending.key, fields, isSent: true }
    keepPending(kept, name, submitted)
    setPending(submitted)
    try {
      await send(fields, submitted.key)
      forgetPending(kept, name)
    } catch (error) {
      if (isOutcomeUnknown(error)) throw error
      // Nothing was done: the next try is another write.
      forgetPending(kept, name)
      setPending({ ...submitted, key: newKey(), isSent: false })
      throw error
    }
  })
  return { form, isSent: pending.isSent }
}

function isOutcomeUnknown(error: unknown): boolean {
  if (!(error instanceof Refusal)) return true
  return error.kind === 'offline' || error.kind === 'unavailable' || error.kind === 'login'
}

/** A refusal of a field by the form itself. */
export function invalidField(path: string, why: string): Refusal {
  return new Refusal('refused', 0, why, { issues: [{ path, code: 'invalid', why }] })
}
