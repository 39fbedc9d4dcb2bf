/** Conditions of discounts and charges on fields of accounts, subscribers and services. Pure. */
import { dateMsOf, type FieldCondition } from '../../../catalog/compile/discount.ts'
import { type Condition, fieldAt } from '../../../domain/catalogue.ts'
import { type Fields, isEmpty } from '../../../domain/fields.ts'
import { FOREVER_MS, NO_BEGIN_MS } from '../../../domain/time.ts'
import { holds } from '../../../rating/conditions.ts'
import type { CycleSpan } from '../lines.ts'
import { allDays, type DaySet, daysOf, difference, intersection, NO_DAYS, union } from './days.ts'

/** The days of the cycle on which a document meets all conditions. */
export function daysMet(
  conditions: readonly FieldCondition[],
  document: Fields,
  cycle: CycleSpan,
): DaySet {
  let days: DaySet = allDays(cycle)
  for (const condition of conditions) {
    if (condition.op === 'is') days = intersection(days, daysIn(condition, document, cycle))
    else if (!isMet(condition.op, condition, document, cycle)) return NO_DAYS
    if (days.length === 0) return NO_DAYS
  }
  return days
}

/** Days inside the periods `{ from, to }` of a field, or outside. */
function daysIn({ field, value }: FieldCondition, document: Fields, cycle: CycleSpan): DaySet {
  const given = fieldAt(document, field)
  const periods = Array.isArray(given) ? given : [given]
  const inside = union(
    ...periods.map((period) => (isEmpty(period) ? NO_DAYS : periodDays(period as Fields, cycle))),
  )
  return value === 'active' ? inside : difference(allDays(cycle), inside)
}

function periodDays({ from, to }: Fields, cycle: CycleSpan): DaySet {
  const startMs = dateMsOf(from, cycle.zone) ?? NO_BEGIN_MS
  const endMs = dateMsOf(to, cycle.zone) ?? FOREVER_MS
  return daysOf({ startMs, endMs }, cycle)
}

type Scalar = string | number | boolean

function isMet(
  op: Condition['op'],
  { field, value }: FieldCondition,
  document: Fields,
  cycle: CycleSpan,
): boolean {
  const given = fieldAt(document, field)
  const facts = (Array.isArray(given) ? given : [given]).filter((fact) => fact !== null)
  const compared = resolved(value, document, cycle)
  const meets = (fact: unknown) => {
    if (!(fact instanceof Date)) return holds(op, fact as Scalar | undefined, compared)
    return holds(op, fact.getTime(), asInstants(compared, cycle.zone))
  }
  if (facts.length === 0) return meets(undefined)
  // A list differs from a value if no member equals it.
  return op === 'ne' || op === 'nin' ? facts.every(meets) : facts.some(meets)
}

/** Dates as numbers, to compare them with another date. */
function asInstants(value: unknown, zone: string): unknown {
  if (Array.isArray(value)) return value.map((one) => asInstants(one, zone))
  return dateMsOf(value, zone) ?? value
}

/** Replaces placeholders such as `@cycle_end_date@` by the date that they stand for. */
function resolved(value: unknown, document: Fields, cycle: CycleSpan): unknown {
  if (Array.isArray(value)) return value.map((one) => resolved(one, document, cycle))
  if (typeof value !== 'string') return value
  switch (value) {
    case '@cycle_start_date@':
      return new Date(cycle.startMs)
    case '@cycle_end_date@':
      return new Date(cycle.endMs)
    case '@plan_activation@':
    case '@plan_deactivation@':
    case '@activation_date@':
    case '@deactivation_date@':
      return document[value.slice(1, -1)]
    default:
      return value
  }
}
