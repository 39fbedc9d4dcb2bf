/** The price of a part of a cycle: tiers by months since the activation, and days. Pure. */
import type { Decimal } from 'decimal.js'
import { serviceTermsAt } from '../../catalog/compile/period.ts'
import type { ServicePeriod } from '../../domain/catalogue.ts'
import {
  amountAt,
  arrayAt,
  booleanAt,
  choiceAt,
  type Fields,
  isEmpty,
  objectAt,
} from '../../domain/fields.ts'
import { Exact } from '../../rating/line-tax.ts'
import { type Recurrence, recurrenceOf } from './cycle-key.ts'
import { dateOf, monthLength, monthsLater } from './days.ts'

/** A price in the periods [from, to) since the activation; `to` null: without end. */
export interface PriceTier {
  readonly from: Decimal
  readonly to: Decimal | null
  readonly price: Decimal
}

/** Whether a part of a cycle at this side costs a part of the price. */
export interface Proration {
  /** Activation within a cycle. */
  readonly start: boolean
  /** End within a cycle while the holder continues, such as a change of the plan. */
  readonly end: boolean
  /** End with the holder. */
  readonly termination: boolean
}

/** The fields of a plan or service that its own price depends on. */
export interface OfferTerms {
  readonly tiers: readonly PriceTier[]
  readonly proration: Proration
  readonly isUpfront: boolean
  readonly recurrence: Recurrence
  /** Which revision prices a period in which the price changes: its last one, or each its days. */
  readonly priceChange: 'at_end' | 'by_day'
  /** The own period of a service, which is charged once; null if it is charged per cycle. */
  readonly period: ServicePeriod | null
  /** Cycles after which a service ends; null if it does not end. */
  readonly limitMonths: number | null
  readonly isQuantitative: boolean
}

const terms = new WeakMap<Fields, OfferTerms>()

/** Throws `FieldError` with the path of the field. Cached per document. */
export function termsOf(document: Fields): OfferTerms {
  let found = terms.get(document)
  if (found === undefined) {
    found = readTerms(document)
    terms.set(document, found)
  }
  return found
}

const PRICE_CHANGES = ['at_end', 'by_day'] as const

function readTerms(document: Fields): OfferTerms {
  const flag = (name: string, ifAbsent: boolean) => booleanAt(document[name], name, ifAbsent)
  const prorated = flag('prorated', true)
  // Without an explicit limit the tiers end the price.
  const { price: _, ...withoutPrice } = document
  const { period, limitMonths } = serviceTermsAt(withoutPrice)
  return {
    tiers: tiersAt(document['price'], 'price'),
    proration: {
      start: flag('prorated_start', prorated),
      end: flag('prorated_end', prorated),
      termination: flag('prorated_termination', prorated),
    },
    isUpfront: flag('upfront', false),
    recurrence: recurrenceOf(document['recurrence']),
    priceChange: choiceAt(document['price_change'], 'price_change', PRICE_CHANGES),
    period,
    limitMonths,
    isQuantitative: flag('quantitative', false),
  }
}

function tiersAt(value: unknown, path: string): PriceTier[] {
  if (isEmpty(value)) return []
  return arrayAt(value, path).map((entry, index) => {
    const at = `${path}.${index}`
    const { from, to, price } = objectAt(entry, at)
    return {
      from: exactAt(from, `${at}.from`),
      to: to === 'UNLIMITED' ? null : exactAt(to, `${at}.to`),
      price: exactAt(price, `${at}.price`),
    }
  })
}

function exactAt(value: unknown, path: string): Decimal {
  amountAt(value, path)
  return new Exact(String(value))
}

/** Calendar days [fromDay, toDay). */
export interface DaySpan {
  readonly fromDay: number
  readonly toDay: number
}

/** Charged days, and what the price is a part of. */
export interface ChargedDays extends DaySpan {
  /** Day from which the periods of the tiers count. */
  readonly activationDay: number
  /** DaySpan of the whole period. */
  readonly cycleDays: number
  /** Months of the whole period. */
  readonly cycleMonths: number
}

/** A part in one price tier. */
export interface PricePart extends DaySpan {
  readonly tier: PriceTier
  /** The part of the price, 1 for a whole cycle; and as text, such as `14/31`. */
  readonly factor: Decimal
  readonly factorText: string
}

const WHOLE = new Exact(1)

/** The parts of charged days, one per tier: days by the days of the cycle. */
export function dayParts(charged: ChargedDays, tiers: readonly PriceTier[]): PricePart[] {
  const { cycleDays } = charged
  return tiers.flatMap((tier) => {
    const { fromDay, toDay } = daysInTier(charged, tier)
    if (fromDay >= toDay) return []
    const days = toDay - fromDay
    if (days === cycleDays) return [{ fromDay, toDay, tier, factor: WHOLE, factorText: '1' }]
    const factor = new Exact(days).div(cycleDays)
    return [{ fromDay, toDay, tier, factor, factorText: `${days}/${cycleDays}` }]
  })
}

/** The charged days in a tier. */
function daysInTier(charged: ChargedDays, { from, to }: PriceTier): DaySpan {
  const fromDay = Math.max(charged.fromDay, boundaryDay(charged, from))
  const toDay = to === null ? charged.toDay : Math.min(charged.toDay, boundaryDay(charged, to))
  return { fromDay, toDay }
}

/** The day on which a number of periods since the activation is over, at the nearest midnight. */
function boundaryDay({ activationDay, cycleMonths }: ChargedDays, periods: Decimal): number {
  // Nearly all tiers begin and end with a cycle.
  const simple = periods.toNumber() * cycleMonths
  if (Number.isInteger(simple)) return monthsLater(activationDay, simple)
  const months = periods.times(cycleMonths)
  const whole = months.floor()
  const day = monthsLater(activationDay, whole.toNumber())
  const rest = months.minus(whole)
  if (rest.isZero()) return day
  const length = monthsLater(activationDay, whole.toNumber() + 1) - day
  return day + rest.times(length).round().toNumber()
}

/**
 * As `dayParts`, but a part of a cycle is a fraction of the calendar months that it touches: equal
 * if cycles begin on day 1, otherwise a whole cycle costs up to 9 % less or more than the price.
 */
export function monthParts(charged: ChargedDays, tiers: readonly PriceTier[]): PricePart[] {
  const { fromDay, toDay, activationDay, cycleMonths } = charged
  const start = fromDay <= activationDay ? new Exact(0) : monthsBetween(activationDay, fromDay - 1)
  const end = monthsBetween(activationDay, toDay - 1)
  const lengths = { activation: monthLength(activationDay), last: monthLength(toDay - 1) }
  return tiers.flatMap((tier) => {
    const offsets = { start: start.div(cycleMonths), end: end.div(cycleMonths) }
    const factor = monthsInTier(tier, offsets, lengths)
    const days = daysInTier(charged, tier)
    if (factor.isZero() || days.fromDay >= days.toDay) return []
    return [{ ...days, tier, factor, factorText: factor.toDecimalPlaces(12).toString() }]
  })
}

/** Months since the activation. */
export interface Offsets {
  readonly start: Decimal
  readonly end: Decimal
}

/** Numbers of days of the month of the activation, and of the last charged day. */
export interface MonthLengths {
  readonly activation: number
  readonly last: number
}

const OFFSET_DIGITS = 6

/**
 * The part of a tier in a period. If the period is a month, and months have different lengths, the
 * boundaries of the tier are moved, so that they fall on the day of the month of the activation.
 */
export function monthsInTier(
  { from, to }: Pick<PriceTier, 'from' | 'to'>,
  { start, end }: Offsets,
  lengths: MonthLengths | null,
): Decimal {
  const isMonth =
    start.greaterThan(0) &&
    end.minus(1).toDecimalPlaces(OFFSET_DIGITS).equals(start.toDecimalPlaces(OFFSET_DIGITS))
  const rest = new Exact(1).minus(start.minus(start.floor()))
  const moved =
    isMonth && lengths !== null
      ? rest.times(lengths.activation).div(lengths.last).minus(rest)
      : new Exact(0)
  const first = from.greaterThan(start) ? from.plus(moved) : start
  const last = to?.lessThan(end) ? to.plus(moved) : end
  const isOver = to?.lessThanOrEqualTo(first) === true && from.lessThan(first)
  if (isOver || last.lessThanOrEqualTo(first)) return new Exact(0)
  return last.minus(first)
}

/**
 * Calendar months from a day to another, both counted: whole months, and the parts of the first and
 * last one by their own lengths. 0 if the end is before the start.
 */
export function monthsBetween(first: number, last: number): Decimal {
  if (last < first) return new Exact(0)
  const [from, to] = [dateOf(first), dateOf(last)]
  const months = (to.year - from.year) * 12 + to.month - from.month
  if (months === 0) return new Exact(last - first + 1).div(monthLength(first))
  const head = new Exact(monthLength(first) - from.day + 1).div(monthLength(first))
  const tail = new Exact(to.day).div(monthLength(last))
  return head.plus(tail).plus(months - 1)
}
