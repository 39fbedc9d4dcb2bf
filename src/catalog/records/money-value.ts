/** Money as clients see it. */
import { UNLIMITED_TOTAL } from '../../domain/counters.ts'
import { MICROS_PER_UNIT } from '../../domain/money.ts'

/** The nearest number; its shortest text has at most 6 decimals. Exact values stand beside it. */
export function moneyOf(micros: number): number {
  return micros / MICROS_PER_UNIT
}

export type Total = number | 'UNLIMITED'

/** What a counter includes or has left, of one that has this total. */
export function totalOf(amount: number, total: number, shown: (amount: number) => number): Total {
  return total >= UNLIMITED_TOTAL ? 'UNLIMITED' : shown(amount)
}
