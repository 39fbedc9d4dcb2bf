/**
 * Constants that an amount reaches between two states. A rising amount reaches `c` if
 * before < c <= after, a falling one if after <= c < before; of several, the furthest one in the
 * direction of movement counts.
 */
import type { AmountKind, Constant } from './constant.ts'

/** An amount before and after a request, units or micros. */
export interface Movement {
  before: number
  after: number
  kind: AmountKind
}

/** The constant that is reached; null if there is none. */
export function reachedConstant(
  { before, after, kind }: Movement,
  constants: readonly Constant[],
): Constant | null {
  if (before === after) return null
  return furthest(constants, before < after, (constant, amount) =>
    constant.compare(amount === 'before' ? before : after, kind),
  )
}

/** The same for percentages of a total. */
export function reachedPercentage(
  { before, after }: Movement,
  total: number,
  percentages: readonly Constant[],
): Constant | null {
  if (before === after || total <= 0) return null
  return furthest(percentages, before < after, (percentage, amount) =>
    percentage.compareShare(amount === 'before' ? before : after, total),
  )
}

/**
 * The multiple of the constant that is reached, as it is reported; null if the amounts are in one
 * interval. The interval of a multiple begins with it: an amount that falls to a multiple has not
 * left the interval yet.
 */
export function reachedMultiple(
  { before, after, kind }: Movement,
  constant: Constant,
): number | null {
  if (before === after) return null
  const from = constant.countIn(before, kind)
  const to = constant.countIn(after, kind)
  if (from === to) return null
  return constant.multiple(before < after ? to : to + 1)
}

type Compare = (constant: Constant, amount: 'before' | 'after') => number

/** `constants` are in ascending order. */
function furthest(
  constants: readonly Constant[],
  isRising: boolean,
  compare: Compare,
): Constant | null {
  let found: Constant | null = null
  for (const constant of constants) {
    const before = compare(constant, 'before')
    const after = compare(constant, 'after')
    if (isRising && before < 0 && after >= 0) found = constant
    if (!isRising && before > 0 && after <= 0) return constant
  }
  return found
}
