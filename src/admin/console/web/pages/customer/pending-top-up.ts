/**
 * A top-up whose outcome is not known yet. It is kept in the tab with its idempotency key, so that a
 * second click, a reload and a repetition after a lost answer are one operation.
 */

export interface TopUpFields {
  /** `external_id` of the prepaid include. */
  readonly include: string
  /** Decimal text, positive. */
  readonly value: string
  /** Date, or empty. */
  readonly expires: string
  readonly reason: string
}

export interface PendingTopUp {
  readonly key: string
  readonly fields: TopUpFields
  /** Whether it was sent: its fields must not change any more. */
  readonly isSent: boolean
}

/** What is used of the storage of the tab. */
export interface Kept {
  getItem(name: string): string | null
  setItem(name: string, text: string): void
  removeItem(name: string): void
}

const EMPTY: TopUpFields = { include: '', value: '', expires: '', reason: '' }

/** The kept one of this owner, or a new one. */
export function openTopUp(kept: Kept, owner: string, newKey: () => string): PendingTopUp {
  return keptTopUp(kept, owner) ?? { key: newKey(), fields: EMPTY, isSent: false }
}

/** Null if none is kept. */
export function keptTopUp(kept: Kept, owner: string): PendingTopUp | null {
  const text = kept.getItem(nameOf(owner))
  if (text === null) return null
  try {
    const { key, fields, isSent } = JSON.parse(text) as PendingTopUp
    return { key: String(key), fields: { ...EMPTY, ...fields }, isSent: isSent === true }
  } catch {
    return null
  }
}

export function keepTopUp(kept: Kept, owner: string, pending: PendingTopUp): void {
  kept.setItem(nameOf(owner), JSON.stringify(pending))
}

/** When its outcome is known. */
export function forgetTopUp(kept: Kept, owner: string): void {
  kept.removeItem(nameOf(owner))
}

function nameOf(owner: string): string {
  return `tollgate.top-up.${owner}`
}

const AMOUNT = /^\d{1,15}(?:\.\d{1,6})?$/

/** The amount as the API takes it: a decimal point, no spaces; null if it is none above 0. */
export function amountIn(typed: string): string | null {
  const text = typed.trim().replace(',', '.')
  return AMOUNT.test(text) && /[1-9]/.test(text) ? text : null
}
