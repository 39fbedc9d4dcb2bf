/** Money in documents and API responses. */
import { UNLIMITED_TOTAL } from '../../../domain/counters.ts'
import { MICROS_PER_UNIT } from '../../../domain/money.ts'
import { typed } from '../../entities/json-schema.ts'

/**
 * The nearest number; its shortest notation has at most 6 decimals. Exact values are stored next to
 * it.
 */
export function moneyOf(micros: number): number {
  return micros / MICROS_PER_UNIT
}

type Total = number | 'UNLIMITED'

export const totalField = (description: string) =>
  typed<Total>({ type: ['number', 'string'], description: `${description}, or \`UNLIMITED\`.` })

/** The included or remaining amount of a counter with this total. */
export function totalOf(amount: number, total: number, convert: (amount: number) => number): Total {
  return total >= UNLIMITED_TOTAL ? 'UNLIMITED' : convert(amount)
}
