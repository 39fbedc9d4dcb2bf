/**
 * Keys of billing cycles (`billrun_key`, YYYYMM of the month in which the cycle ends), the cycle of
 * a line, the periods of offers that are charged less often, and the status of a cycle. Pure.
 */
import { cycleAt, cycleEndMs, isCycleKey } from '../../domain/cycle.ts'
import { choiceAt, FieldError, isEmpty, isUnset, objectAt, wholeAt } from '../../domain/fields.ts'
import { localTime, parseInstant } from '../../domain/time.ts'
import { dayAfter, dayOf } from './days.ts'
import type { CycleSpan } from './lines.ts'

export interface BillingCalendar {
  /** IANA zone of the installation. */
  readonly zone: string
  /** Day of the month on which cycles begin. */
  readonly cycleDay: number
}

const DAY_MS = 86_400_000

/** The key `months` after a key; before it if negative. */
export function keyAfter(key: string, months = 1): string {
  return keyOfMonth(monthOfKey(key) + months)
}

/** Months since year 0. */
function monthOfKey(key: string): number {
  return Number(key.slice(0, 4)) * 12 + Number(key.slice(4)) - 1
}

function keyOfMonth(index: number): string {
  const month = String((index % 12) + 1).padStart(2, '0')
  return `${String(Math.floor(index / 12)).padStart(4, '0')}${month}`
}

export function keyAt(atMs: number, { zone, cycleDay }: BillingCalendar): string {
  return cycleAt(atMs, zone, cycleDay).key
}

/** First instant after the cycle, epoch ms. */
export function keyEndMs(key: string, { zone, cycleDay }: BillingCalendar): number {
  const endMs = cycleEndMs(key, zone, cycleDay)
  if (endMs === null) throw new RangeError(`${key} is not a cycle key`)
  return endMs
}

/** First instant of the cycle, epoch ms. */
export function keyStartMs(key: string, calendar: BillingCalendar): number {
  return keyEndMs(keyAfter(key, -1), calendar)
}

/**
 * The cycle that receives late lines: the one after `lastKey`, the newest cycle with invoices (null
 * if there is none). If that would be in the distant past, the cycle of now; `lateDays`: how long a
 * cycle may have begun before now.
 */
export function activeKey(
  lastKey: string | null,
  nowMs: number,
  lateDays: number,
  calendar: BillingCalendar,
): string {
  if (lastKey === null) return keyAt(nowMs, calendar)
  const next = keyAfter(lastKey)
  const isDistant = keyStartMs(next, calendar) < nowMs - lateDays * DAY_MS
  return isDistant ? keyAt(nowMs, calendar) : next
}

/** The cycle of a line: an ended cycle is never opened again, its lines go to the active one. */
export function lineKey(urtMs: number, active: string, calendar: BillingCalendar): string {
  return urtMs < keyEndMs(active, calendar) ? active : keyAt(urtMs, calendar)
}

export function cycleSpan(key: string, calendar: BillingCalendar): CycleSpan {
  return spanOf(key, keyStartMs(key, calendar), keyEndMs(key, calendar), calendar.zone)
}

function spanOf(key: string, startMs: number, endMs: number, zone: string): CycleSpan {
  const days = dayAfter(zone, endMs) - dayOf(zone, startMs)
  return { key, startMs, endMs, zone, days }
}

/**
 * The calendar of an account with an `invoicing_day` of its own; that of the installation if it has
 * none. Throws `FieldError` if it is not a day from 1 to 28.
 */
export function accountCalendar(calendar: BillingCalendar, invoicingDay: unknown): BillingCalendar {
  if (isUnset(invoicingDay)) return calendar
  const cycleDay = wholeAt(invoicingDay, 'invoicing_day', 1)
  if (cycleDay <= 28) return { ...calendar, cycleDay }
  throw new FieldError('invoicing_day', `must be a day from 1 to 28, is ${cycleDay}`)
}

const IMMEDIATE_KEY = /^(\d{4})(\d{2})(\d{2})(\d{2})(\d{2})(\d{2})$/

/** Whether a text that a caller sent is the key of a cycle or of an immediate invoice. */
export function isInvoiceKey(text: string): boolean {
  return isCycleKey(text) || (IMMEDIATE_KEY.test(text) && isCycleKey(text.slice(0, 6)))
}

/** Instant of the key of an immediate invoice, YYYYMMDDhhmmss; null if it is not such a key. */
export function immediateKeyMs(key: string, zone: string): number | null {
  const match = IMMEDIATE_KEY.exec(key)
  if (match === null) return null
  const [, year, month, day, hour, minute, second] = match
  return parseInstant(`${year}-${month}-${day} ${hour}:${minute}:${second}`, zone)
}

export function immediateKeyAt(atMs: number, zone: string): string {
  const { year, month, day, hour, minute, second } = localTime(zone, atMs)
  const digits = [month, day, hour, minute, second].map((part) => String(part).padStart(2, '0'))
  return `${String(year).padStart(4, '0')}${digits.join('')}`
}

/** How often an offer is charged. */
export interface Recurrence {
  /** Months of a period. */
  readonly months: number
  /** Month (1 to 12) in which a period begins; null: the one of the activation. */
  readonly start: number | null
}

const MONTHLY: Recurrence = { months: 1, start: null }
const PERIODICITIES = ['month', 'year'] as const

/** `recurrence` of a plan or service; monthly if it is absent. Throws `FieldError`. */
export function recurrenceOf(value: unknown): Recurrence {
  if (isEmpty(value)) return MONTHLY
  const { periodicity, frequency, start } = objectAt(value, 'recurrence')
  if (isUnset(frequency)) {
    const legacy = choiceAt(periodicity, 'recurrence.periodicity', PERIODICITIES)
    return legacy === 'year' ? { months: 12, start: null } : MONTHLY
  }
  const months = wholeAt(frequency, 'recurrence.frequency', 1)
  if (months === 1) return MONTHLY
  const month = isUnset(start) ? null : wholeAt(start, 'recurrence.start', 1)
  if (month === null || month <= 12) return { months, start: month }
  throw new FieldError('recurrence.start', `must be a month from 1 to 12, is ${month}`)
}

/**
 * The period of an offer that contains a cycle: for monthly ones the cycle itself. It begins and
 * ends with a cycle, and its key is the one of its last cycle.
 */
export function periodOf(
  key: string,
  { months, start }: Recurrence,
  activationMs: number,
  calendar: BillingCalendar,
): CycleSpan {
  if (months === 1) return cycleSpan(key, calendar)
  const first = keyAt(activationMs, calendar)
  const anchor =
    start === null
      ? monthOfKey(first) - 1
      : localTime(calendar.zone, activationMs).year * 12 + start - 1
  const begin = monthOfKey(key) - 1
  const from = begin - ((((begin - anchor) % months) + months) % months)
  return periodEnding(keyOfMonth(from + months), months, calendar)
}

/** The period of a number of cycles whose last one has the key. */
export function periodEnding(key: string, months: number, calendar: BillingCalendar): CycleSpan {
  const startMs = keyEndMs(keyAfter(key, -months), calendar)
  return spanOf(key, startMs, keyEndMs(key, calendar), calendar.zone)
}

export const CYCLE_STATUSES = [
  'to_rerun',
  'to_run',
  'running',
  'finished',
  'confirmed',
  'current',
  'future',
] as const
export type CycleStatus = (typeof CYCLE_STATUSES)[number]

/** Facts of a cycle that its status depends on. */
export interface CycleFacts {
  readonly startMs: number
  readonly endMs: number
  readonly nowMs: number
  /** `none` if it never ran, or its progress was removed for another run. */
  readonly run: 'none' | 'running' | 'ended'
  /** Stored invoices of the cycle, and how many of them are confirmed. */
  readonly invoices: number
  readonly confirmed: number
}

export function cycleStatus(facts: CycleFacts): CycleStatus {
  const { startMs, endMs, nowMs, run, invoices, confirmed } = facts
  if (nowMs < startMs) return 'future'
  if (nowMs < endMs) return 'current'
  if (run === 'running') return 'running'
  if (invoices > 0 && confirmed >= invoices) return 'confirmed'
  if (run === 'ended') return 'finished'
  return invoices > 0 ? 'to_rerun' : 'to_run'
}
