/** `balance_period` of a service: how long its counters count (spec/entity-api.md 4.4). */
import type { ServicePeriod } from '../../domain/catalogue.ts'
import { CompileError } from '../errors.ts'

const TEXT = /^(tomorrow)?((?:\s*\+?\s*\d{1,5}\s+[a-z]+)*)$/i
const STEP = /(\d+)\s+([a-z]+?)s?(?=\s|\+|$)/gi

const STEPS: Readonly<Record<string, (count: number) => Partial<ServicePeriod>>> = {
  hour: (count) => ({ hours: count }),
  day: (count) => ({ days: count }),
  week: (count) => ({ days: 7 * count }),
  month: (count) => ({ months: count }),
  year: (count) => ({ months: 12 * count }),
}

/**
 * `+2 weeks`, `+1 month +3 days`, `tomorrow +6 days` (until midnight, 7 days on); `default` or
 * nothing: null, the billing cycle.
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
  // A number of hours does not end at midnight.
  if (isEndless || (untilMidnight && period.hours > 0)) return refuse(path)
  return period
}

function refuse(path: string): never {
  throw new CompileError(
    path,
    "must be 'default' or a time such as '+2 weeks', '+1 month' or 'tomorrow +6 days'",
  )
}
