/** Installments of a credit: amounts and dates. Pure. */
import { Decimal } from 'decimal.js'
import { type BillingCalendar, keyAfter, keyAt, keyStartMs } from '../cycle-key.ts'

const SECOND_MS = 1000

/**
 * Parts of an amount in whole units of the currency with `digits` decimals, equal except for the
 * last, which has the remainder. Their sum is the amount.
 */
export function splitAmount(total: Decimal, parts: number, digits: number): Decimal[] {
  const part = total.div(parts).toDecimalPlaces(digits, Decimal.ROUND_DOWN)
  const last = total.minus(part.times(parts - 1))
  return [...Array.from({ length: parts - 1 }, () => part), last]
}

/** The time of an installment, and the cycle that was requested for it. */
export interface InstallmentTime {
  readonly atMs: number
  readonly key: string | null
}

/**
 * The first installment has the time of the credit, each later one is a second after the start of
 * the next cycle. `firstKey`: the requested cycle of the first one; null for the cycle of its time.
 */
export function installmentTimes(
  creditMs: number,
  parts: number,
  firstKey: string | null,
  calendar: BillingCalendar,
): InstallmentTime[] {
  const first = firstKey ?? keyAt(creditMs, calendar)
  return Array.from({ length: parts }, (_, index) => {
    const key = keyAfter(first, index)
    return {
      atMs: index === 0 ? creditMs : keyStartMs(key, calendar) + SECOND_MS,
      key: firstKey === null ? null : key,
    }
  })
}
