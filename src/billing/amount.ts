/** Amounts of bills: exact decimals, whole multiples of the currency's smallest unit. */
import { Exact } from '../catalog/records/money/exact-amount.ts'
import { parseDecimal } from '../domain/money.ts'

/** Larger amounts are refused: sums of them must stay exact. */
export const AMOUNT_MAX = new Exact('1e13')
export const ZERO = new Exact(0)

/** To the smallest unit, half away from zero. `digits`: its decimals (currency.ts). */
export function rounded(amount: Exact, digits: number): Exact {
  return new Exact(amount).toDecimalPlaces(digits, Exact.ROUND_HALF_UP)
}

export function sumOf(amounts: Iterable<Exact>): Exact {
  let sum: Exact = ZERO
  for (const amount of amounts) sum = sum.plus(amount)
  return sum
}

export function least(a: Exact, b: Exact): Exact {
  return a.lessThan(b) ? a : b
}

/** With the decimals of the currency, such as `23.40`; never `-0.00`. */
export function moneyText(amount: Exact, digits: number): string {
  const text = amount.toFixed(digits, Exact.ROUND_HALF_UP)
  return /^-0(\.0+)?$/.test(text) ? text.slice(1) : text
}

/** Longer texts are no amounts, and take time to parse. */
const TEXT_LENGTH_MAX = 64

/** A number or a decimal text, exactly; null for other values and beyond the limit. */
export function amountFrom(value: unknown): Exact | null {
  if (typeof value !== 'number' && typeof value !== 'string') return null
  if (typeof value === 'string' && value.length > TEXT_LENGTH_MAX) return null
  const decimal = parseDecimal(value)
  if (decimal === null) return null
  const amount = new Exact(`${decimal.digits}e-${decimal.scale}`)
  return amount.abs().greaterThan(AMOUNT_MAX) ? null : amount
}
