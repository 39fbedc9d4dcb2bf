/**
 * Keys of billing cycles (`billrun_key`, YYYYMM of the month in which the cycle ends), and the cycle
 * of a line. Pure.
 */
import { cycleAt, cycleEndMs } from '../domain/cycle.ts'

export interface BillingCalendar {
  /** IANA zone of the installation. */
  readonly zone: string
  /** Day of the month on which cycles begin. */
  readonly cycleDay: number
}

const KEY = /^\d{4}(0[1-9]|1[0-2])$/
const DAY_MS = 86_400_000

export function isCycleKey(text: string): boolean {
  return KEY.test(text)
}

/** The key `months` after a key; before it if negative. */
export function keyAfter(key: string, months = 1): string {
  const index = Number(key.slice(0, 4)) * 12 + Number(key.slice(4)) - 1 + months
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
