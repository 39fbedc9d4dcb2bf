/** Amounts in whole units of the currency that add up to a rounded total. */
import { Exact } from '../../catalog/records/exact-amount.ts'
import { sumOf } from '../amount.ts'

/** Half away from zero. */
export function roundedTo(amount: Exact, digits: number): Exact {
  const result = new Exact(amount).toDecimalPlaces(digits, Exact.ROUND_HALF_UP)
  return result.isZero() ? new Exact(0) : result
}

/**
 * Rounds amounts so that they add up to their rounded sum: each is rounded down, and those with the
 * largest remainders get one unit more, the earlier one if two are equal. None differs from its
 * exact amount by a whole unit.
 */
export function spreadRounding(amounts: readonly Exact[], digits: number): readonly Exact[] {
  const unit = new Exact(10).pow(-digits)
  const total = roundedTo(sumOf(amounts), digits)
  const floors = amounts.map((amount) => {
    if (amount.decimalPlaces() <= digits) return amount
    return amount.toDecimalPlaces(digits, Exact.ROUND_FLOOR)
  })
  const missing = total.minus(sumOf(floors)).div(unit).toNumber()
  const byRemainder = amounts
    .map((amount, index) => ({ index, remainder: amount.minus(floors[index] ?? 0) }))
    .filter(({ remainder }) => !remainder.isZero())
    .sort((a, b) => b.remainder.comparedTo(a.remainder) || a.index - b.index)
  const raised = new Set(byRemainder.slice(0, missing).map(({ index }) => index))
  return floors.map((floor, index) => {
    const amount = raised.has(index) ? floor.plus(unit) : floor
    return amount.isZero() ? new Exact(0) : amount
  })
}
