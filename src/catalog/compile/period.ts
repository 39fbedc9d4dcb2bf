/** The period of a service, for which its counters count. */
import type { ServicePeriod, ServiceTerms } from '../../domain/catalogue.ts'
import { amountAt, decimalOf, FieldError, type Fields, isUnset } from '../../domain/fields.ts'
import type { ExactDecimal } from '../../domain/money.ts'

const TEXT = /^(tomorrow)?((?:\s*\+?\s*\d{1,5}\s+[a-z]+)*)$/i
const STEP = /(\d+)\s+([a-z]+?)s?(?=\s|\+|$)/gi

const STEPS: Readonly<Record<string, (count: number) => Partial<ServicePeriod>>> = {
  hour: (count) => ({ hours: count }),
  day: (count) => ({ days: count }),
  week: (count) => ({ days: 7 * count }),
  month: (count) => ({ months: count }),
  year: (count) => ({ months: 12 * count }),
}

/** Terms of a service document. Throws `FieldError`; `path` is the path of the document. */
export function serviceTermsAt(service: Fields, path = ''): ServiceTerms {
  return {
    period: periodAt(service['balance_period'], `${path}balance_period`),
    limitMonths: limitMonthsAt(service, path),
  }
}

/** Longer than any contract, and keeps dates within the valid range. */
const MONTHS_MAX = 12 * 100

/** `limit_cycles`, otherwise the end of the last price; null if unlimited. */
function limitMonthsAt({ limit_cycles: limit, price }: Fields, path: string): number | null {
  const given = isUnset(limit) ? lastCycleOf(price) : amountAt(limit, `${path}limit_cycles`)
  if (given === null) return null
  // A month that is charged partially is included completely.
  const months = Math.ceil(Number(given.digits) / 10 ** given.scale)
  if (months > 0) return months <= MONTHS_MAX ? months : null
  if (isUnset(limit)) return null
  throw new FieldError(`${path}limit_cycles`, `must be above 0, is ${limit}`)
}

/** The highest `to` of the prices; null if one has no end or is invalid. */
function lastCycleOf(price: unknown): ExactDecimal | null {
  if (!Array.isArray(price)) return null
  let last: ExactDecimal | null = null
  for (const entry of price) {
    const end = decimalOf(entry?.to)
    if (end === null) return null
    if (last === null || isAbove(end, last)) last = end
  }
  return last
}

function isAbove(one: ExactDecimal, other: ExactDecimal): boolean {
  return one.digits * 10n ** BigInt(other.scale) > other.digits * 10n ** BigInt(one.scale)
}

/**
 * `+2 weeks`, `+1 month +3 days`, `tomorrow +6 days` (7 days, until midnight); `default` or absent:
 * null, the billing cycle.
 */
export function periodAt(value: unknown, path: string): ServicePeriod | null {
  if (value === undefined || value === null || value === '' || value === 'default') return null
  const match = typeof value === 'string' ? TEXT.exec(value.trim()) : null
  if (match === null) return refuse(path)
  const untilMidnight = match[1] !== undefined
  const period = { months: 0, days: untilMidnight ? 1 : 0, hours: 0, untilMidnight }
  for (const [, count, unit = ''] of (match[2] ?? '').matchAll(STEP)) {
    const step = STEPS[unit.toLowerCase()]?.(Number(count))
    if (step === undefined) return refuse(path)
    period.months += step.months ?? 0
    period.days += step.days ?? 0
    period.hours += step.hours ?? 0
  }
  const isEndless = period.months + period.days + period.hours === 0
  // A period in hours does not end at midnight.
  if (isEndless || (untilMidnight && period.hours > 0)) return refuse(path)
  return period
}

function refuse(path: string): never {
  throw new FieldError(
    path,
    "must be 'default' or a time such as '+2 weeks', '+1 month' or 'tomorrow +6 days'",
  )
}
