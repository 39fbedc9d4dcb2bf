/**
 * The mark of a usage line that was recorded when its cycle was over: the invoice of the cycle may
 * be without it. It is removed when an invoice with this version of the line is confirmed.
 */
import type { IndexDescription } from 'mongodb'
import type { FinalCharge } from '../../../domain/tax.ts'

export interface Charged extends FinalCharge {
  readonly usagev: number
}

export interface Uninvoiced {
  /** When it was first recorded without being invoiced. */
  readonly since: Date
  /** The charge of its last version without the mark, which is invoiced; null without one. */
  readonly former: Charged | null
}

/** Whether an invoice can state both as amounts of one line. */
export function hasSameTaxes(one: Charged, other: Charged): boolean {
  const texts = ({ tax_data: { taxes } }: Charged) =>
    taxes.map(
      ({ key, tax, embedded_amount: embedded }) => `${key} ${tax} ${embedded === undefined}`,
    )
  return texts(one).sort().join('\n') === texts(other).sort().join('\n')
}

/** Selects marked lines by the index below, which needs this very condition. */
export const IS_UNINVOICED = { 'uninvoiced.since': { $gt: new Date(0) } } as const

/** Selects copies of late lines by the index below. */
export const IS_LATE_COPY = { late_of: { $gt: '' } } as const

/** Both are small: nearly all lines are recorded within their cycle. */
export const LATE_LINE_INDEXES: readonly IndexDescription[] = [
  { key: { aid: 1, 'uninvoiced.since': 1 }, partialFilterExpression: IS_UNINVOICED },
  { key: { aid: 1, late_of: 1 }, partialFilterExpression: IS_LATE_COPY },
]
