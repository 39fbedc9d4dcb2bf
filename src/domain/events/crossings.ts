/**
 * Constants that an amount reaches between two states. A rising amount reaches `c` if
 * before < c <= after, a falling one if after <= c < before; of several, the furthest one in the
 * direction of movement counts.
 */
import type { AmountKind, Constant } from './constant.ts'

/** The constant of an ascending list that is reached, or null. */
export function reachedConstant(
  before: number,
  after: number,
  kind: AmountKind,
  constants: readonly Constant[],
): Constant | null {
  let found: Constant | null = null
  for (const constant of constants) {
    const from = constant.compare(before, kind)
    const to = constant.compare(after, kind)
    if (from < 0 && to >= 0) found = constant
    if (from > 0 && to <= 0) return constant
  }
  return found
}

/** The same for percentages of a total. */
export function reachedPercentage(
  before: number,
  after: number,
  total: number,
  percentages: readonly Constant[],
): Constant | null {
  if (total <= 0) return null
  let found: Constant | null = null
  for (const percentage of percentages) {
    const from = percentage.compareShare(before, total)
    const to = percentage.compareShare(after, total)
    if (from < 0 && to >= 0) found = percentage
    if (from > 0 && to <= 0) return percentage
  }
  return found
}

/**
 * The multiple of the constant that is reached, as it is reported; null if the amounts are in one
 * interval. The interval of a multiple begins with it: an amount that falls to a multiple has not
 * left the interval yet.
 */
export function reachedMultiple(
  before: number,
  after: number,
  kind: AmountKind,
  constant: Constant,
): number | null {
  const from = constant.countIn(before, kind)
  const to = constant.countIn(after, kind)
  if (from === to) return null
  return constant.multiple(from < to ? to : to + 1)
}
