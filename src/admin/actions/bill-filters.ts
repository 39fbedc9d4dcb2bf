/** Filters that `bill` and `accountinvoices` share. */
import { BillingError } from '../../billing/errors.ts'
import { integerFrom, isNothing } from '../../billing/payments/payment-order.ts'
import type { PaidState } from '../../catalog/records/money/bill.ts'

const AIDS_MAX = 1_000

export function accountFrom(sent: unknown): number {
  const aid = integerFrom(sent)
  if (aid === null) throw new BillingError('Illegal account ids')
  return aid
}

/** A number, a list, or numbers with commas. */
export function accountsFrom(sent: unknown): number[] {
  const list = typeof sent === 'string' ? sent.split(',').filter((text) => text !== '') : sent
  const values: readonly unknown[] = Array.isArray(list) ? list : isNothing(list) ? [] : [list]
  if (values.length === 0) throw new BillingError('Must supply at least one aid')
  if (values.length > AIDS_MAX) throw new BillingError(`Maximum of aid is ${AIDS_MAX}`)
  return [...new Set(values.map(accountFrom))]
}

/** Billing cycles: one or a list; null for all. */
export function keysFrom(sent: unknown): string[] | null {
  return isNothing(sent) ? null : [sent].flat().map(String)
}

export const PAID = ['0', '1', '2', 'unpaid'] as const

/** Null for any state. */
export function paidStatesOf(sent: (typeof PAID)[number] | undefined): PaidState[] | null {
  if (sent === undefined) return null
  return sent === 'unpaid' ? ['0', '2'] : [sent]
}
