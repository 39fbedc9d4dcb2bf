/**
 * The model of prices across boundaries, unit by unit and in exact fractions: an interval that has
 * begun is sold, whatever tariff follows, and tiers count the units of the whole session. Written
 * from the rules, not from the code under test. Without prices that can fall or are fixed, minimum
 * charges and rounding rules: for these the model is the price of the whole
 * (test/support/domain/model-price.ts).
 */
import { add, type Fraction, fraction, nearestEven } from '../domain/fraction.ts'
import type { ModelTariff } from '../domain/model-price.ts'

/** Units charged one after the other at a tariff. */
export interface PricedPart {
  tariff: ModelTariff
  units: number
  /** The units in between were zero, so that the following part is rounded by itself. */
  isApart: boolean
}

/** Micros for each part. Consecutive parts at one tariff are rounded as one. */
export function pricesOfParts(parts: readonly PricedPart[]): bigint[] {
  let position = 0n
  let sold = 0n
  let isAccessDue = true
  let run: Fraction = fraction(0)
  let before: ModelTariff | null = null
  return parts.map(({ tariff, units, isApart }) => {
    if (tariff !== before || isApart) run = fraction(0)
    before = tariff
    const charged = nearestEven(run)
    for (let unit = 0; unit < units; unit += 1) {
      if (isAccessDue) run = add(run, tariff.access)
      isAccessDue = false
      if (sold > 0n) sold -= 1n
      else {
        const step = begin(tariff, position)
        run = add(run, step.price)
        sold = step.units - 1n
      }
      position += 1n
    }
    return nearestEven(run) - charged
  })
}

/**
 * The interval that begins at a position, and its price; free beyond the last tier. It ends with
 * its tier, except a block of a package.
 */
function begin(
  { tiers, method }: ModelTariff,
  position: bigint,
): { units: bigint; price: Fraction } {
  let from = 0n
  for (const { units, interval, price, ceil } of tiers) {
    const to = units === null ? null : from + units
    if (to !== null && position >= to) {
      from = to
      continue
    }
    if (method === 'package') return { units: interval, price }
    if (!ceil) return { units: 1n, price: fraction(price.over, price.under * interval) }
    if (to !== null && to - position < interval) return { units: to - position, price }
    return { units: interval, price }
  }
  return { units: 1n, price: fraction(0) }
}
