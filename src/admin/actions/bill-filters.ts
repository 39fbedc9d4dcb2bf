/** Filters that `bill` and `accountinvoices` share. */
import { BillingError } from '../../billing/errors.ts'
import { integerFrom, isNothing } from '../../billing/payments/payment-order.ts'
import type { PaidState } from '../../catalog/records/money/bill.ts'

const AIDS_MAX = 1_000

export function accountFrom(value: unknown, name = 'aid'): number {
  const aid = integerFrom(value)
  if (aid === null) throw new BillingError('Illegal account ids', { path: name })
  return aid
}

/** A number, a list, or numbers with commas. */
export function accountsFrom(value: unknown, name = 'aid'): number[] {
  const list = typeof value === 'string' ? value.split(',').filter((text) => text !== '') : value
  const values: readonly unknown[] = Array.isArray(list) ? list : isNothing(list) ? [] : [list]
  if (values.length === 0)
    throw new BillingError('Must supply at least one aid', { path: name, code: 'missing' })
  if (values.length > AIDS_MAX)
    throw new BillingError(`Maximum of aid is ${AIDS_MAX}`, { path: name })
  return [...new Set(values.map((each) => accountFrom(each, name)))]
}

/** Billing cycles: one or a list; null for all. */
export function keysFrom(value: unknown): string[] | null {
  return isNothing(value) ? null : [value].flat().map(String)
}

export const PAID = ['0', '1', '2', 'unpaid'] as const

/** Null for any state. */
export function paidStatesOf(value: (typeof PAID)[number] | undefined): PaidState[] | null {
  if (value === undefined) return null
  return value === 'unpaid' ? ['0', '2'] : [value]
}
