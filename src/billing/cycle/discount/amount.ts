/** The amount of a discount on a charge in a period, before limits. Pure. */
import type { AdjustmentTerms, SubjectValue } from '../../../catalog/compile/discount.ts'
import { Exact } from '../../../catalog/records/money/exact-amount.ts'
import { ZERO } from '../../amount.ts'
import type { ChargeLine } from '../lines.ts'
import { countOf, type DaySet, daysOf, intersection } from './days.ts'

/** A discount that was granted on a charge: an equal amount on each of its days. */
export interface TakenPart {
  readonly days: DaySet
  readonly amount: Exact
}

/** An amount, with the part of the cycle that it is for. */
export interface PartAmount {
  readonly amount: Exact
  /** Days of the amount, and of a whole one; null if it is whole. */
  readonly part: { readonly days: number; readonly of: number } | null
}

export function adjustmentAmount(
  terms: AdjustmentTerms,
  subject: SubjectValue,
  line: ChargeLine,
  window: DaySet,
  taken: readonly TakenPart[],
): PartAmount {
  if (subject.isSequential && terms.type === 'percentage') {
    return sequentialAmount(subject, line, window, taken)
  }
  const isOfCharge = terms.type === 'percentage' && terms.percentageOn === 'aprice'
  const lineDays = daysOf(line.span, line.cycle)
  const days = countOf(isOfCharge ? intersection(window, lineDays) : window)
  const wholeDays = isOfCharge ? countOf(lineDays) : line.cycle.days
  const whole = wholeAmount(terms, subject, line)
  if (days >= wholeDays) return { amount: whole, part: null }
  return { amount: whole.times(days).div(wholeDays), part: { days, of: wholeDays } }
}

/** For a whole cycle. */
function wholeAmount(terms: AdjustmentTerms, subject: SubjectValue, line: ChargeLine): Exact {
  const { value, quantities } = subject
  const quantity = new Exact(line.quantity)
  const times = quantities.map((each) => quantity.div(each).floor())
  if (terms.type === 'monetary') {
    return quantities.length === 0 ? value : value.times(sum(times))
  }
  const price = terms.percentageOn === 'aprice' ? line.amount : line.fullPrice.times(line.quantity)
  if (quantities.length === 0) return price.times(value)
  // Only units in full multiples of the quantity are discounted.
  const covered = sum(times.map((count, index) => count.times(quantities[index] ?? 0)))
  return price.times(value).times(covered).div(quantity)
}

function sum(numbers: readonly Exact[]): Exact {
  return numbers.reduce((total, number) => total.plus(number), ZERO)
}

/** The fraction of what earlier discounts have left of each day. */
function sequentialAmount(
  { value }: SubjectValue,
  { fullPrice, quantity, cycle }: ChargeLine,
  window: DaySet,
  taken: readonly TakenPart[],
): PartAmount {
  const days = countOf(window)
  const price = fullPrice.times(quantity).times(days).div(cycle.days)
  const before = taken.map((part) => {
    const common = countOf(intersection(window, part.days))
    return part.amount.times(common).div(countOf(part.days))
  })
  const left = price.minus(sum(before))
  const amount = left.isNegative() ? ZERO : left.times(value)
  return { amount, part: days >= cycle.days ? null : { days, of: cycle.days } }
}
