/** Money in documents and API responses. */
import { UNLIMITED_TOTAL } from '../../../domain/counters.ts'
import { MICROS_PER_UNIT } from '../../../domain/money.ts'

/**
 * The nearest number; its shortest notation has at most 6 decimals. Exact values are stored next to
 * it.
 */
export function moneyOf(micros: number): number {
  return micros / MICROS_PER_UNIT
}

export type Total = number | 'UNLIMITED'

/** The included or remaining amount of a counter with this total. */
export function totalOf(amount: number, total: number, convert: (amount: number) => number): Total {
  return total >= UNLIMITED_TOTAL ? 'UNLIMITED' : convert(amount)
}
