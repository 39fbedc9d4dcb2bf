/**
 * A write of money whose outcome is not known yet. It is kept in the tab with its idempotency key,
 * so that a second click, a reload and a repetition after a lost answer are one operation.
 */

type TextFields = Readonly<Record<string, string>>

export interface Pending<F extends TextFields> {
  readonly key: string
  readonly fields: F
  /** Whether it was sent: its fields must not change any more. */
  readonly isSent: boolean
}

/** The used part of the storage of a tab. */
export interface Kept {
  getItem(name: string): string | null
  setItem(name: string, text: string): void
  removeItem(name: string): void
}

/** The kept one of this name, or a new one. */
export function openPending<F extends TextFields>(
  kept: Kept,
  name: string,
  empty: F,
  newKey: () => string,
): Pending<F> {
  return keptPending(kept, name, empty) ?? { key: newKey(), fields: empty, isSent: false }
}

/** Null if none is kept. */
export function keptPending<F extends TextFields>(
  kept: Kept,
  name: string,
  empty: F,
): Pending<F> | null {
  const text = kept.getItem(storedName(name))
  if (text === null) return null
  try {
    const { key, fields, isSent } = JSON.parse(text) as Pending<F>
    return { key: String(key), fields: { ...empty, ...fields }, isSent: isSent === true }
  } catch {
    return null
  }
}

export function keepPending<F extends TextFields>(kept: Kept, name: string, pending: Pending<F>) {
  kept.setItem(storedName(name), JSON.stringify(pending))
}

/** When its outcome is known. */
export function forgetPending(kept: Kept, name: string): void {
  kept.removeItem(storedName(name))
}

function storedName(name: string): string {
  return `tollgate.${name}`
}
