/** Exact decimals in documents: money of bills and of the journal. */
import type { Decimal } from 'decimal.js'
import { Decimal128 } from 'mongodb'
import { Exact as Precise } from '../../../rating/line-tax.ts'

/** Digits of the decimals that MongoDB stores. */
const STORED_DIGITS = 34

/** Decimals that are precise enough for sums of any stored amounts. */
export const Exact = Precise
export type Exact = Decimal

/** As stored; documents of imports and tests may have numbers. */
export type StoredAmount = Decimal128 | number

/** Without trailing zeros, so that answers have it as a number. Throws for more than 34 digits. */
export function storedAmount(amount: Decimal): Decimal128 {
  const exact = new Exact(amount)
  if (!exact.isFinite() || exact.precision() > STORED_DIGITS) {
    throw new RangeError(`not an amount that can be stored exactly: ${exact}`)
  }
  return Decimal128.fromString((exact.isZero() ? new Exact(0) : exact).toFixed())
}

/** A missing amount is 0. */
export function exactAmount(value: unknown): Exact {
  if (value === undefined || value === null) return new Exact(0)
  if (typeof value === 'number' || value instanceof Decimal128) return new Exact(value.toString())
  throw new TypeError('a stored amount is neither a decimal nor a number')
}
