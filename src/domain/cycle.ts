/**
 * Billing cycles: monthly, half-open, starting on a day of the month in the operator's time zone.
 */
import { instantOf, localTime } from './time.ts'

export interface Cycle {
  /** `billrun_key`: YYYYMM of the month in which the cycle ends. */
  key: string
  fromMs: number
  toMs: number
}

/**
 * The cycle that contains an instant. A cycle that starts on day 1 and spans July ends with the
 * first instant of August, so its key ends in 08.
 */
export function cycleAt(atMs: number, zone: string, cycleDay: number): Cycle {
  const { year, month, day } = localTime(zone, atMs)
  let start = monthFrom(year, month, day >= cycleDay ? 0 : -1)
  // A clock set back at midnight shows the date before again: the cycle begins with the first one.
  if (atMs >= startOf(zone, monthFrom(start.year, start.month, 1), cycleDay))
    start = monthFrom(start.year, start.month, 1)
  const end = monthFrom(start.year, start.month, 1)
  return {
    key: `${end.year}${String(end.month).padStart(2, '0')}`,
    fromMs: startOf(zone, start, cycleDay),
    toMs: startOf(zone, end, cycleDay),
  }
}

const KEY = /^(\d{4})(0[1-9]|1[0-2])$/

/**
 * Years of the keys that callers may name: the cycle before the first one begins after 1970, and
 * revisions do not reach beyond the last one (`FOREVER_MS`).
 */
const [FIRST_YEAR, LAST_YEAR] = [1971, 2169]

/** Whether a text that a caller sent is a cycle key (YYYYMM) of the years 1971 to 2169. */
export function isCycleKey(text: string): boolean {
  const year = Number(KEY.exec(text)?.[1])
  return year >= FIRST_YEAR && year <= LAST_YEAR
}

/** End of the cycle with this key (YYYYMM of any year), epoch ms; null if it is not a key. */
export function cycleEndMs(key: string, zone: string, cycleDay: number): number | null {
  const match = KEY.exec(key)
  if (match === null) return null
  return startOf(zone, { year: Number(match[1]), month: Number(match[2]) }, cycleDay)
}

interface Month {
  year: number
  month: number
}

function monthFrom(year: number, month: number, add: number): Month {
  const index = year * 12 + (month - 1) + add
  return { year: Math.floor(index / 12), month: (index % 12) + 1 }
}

function startOf(zone: string, { year, month }: Month, day: number): number {
  return instantOf(zone, { year, month, day, hour: 0, minute: 0, second: 0 })
}

/** The cycle of an event, and the start of the oldest cycle that still receives events. */
export interface OpenCycle {
  cycle: Cycle
  oldestMs: number
}

/**
 * Determines cycles by event time. Only the cycle of `nowMs` and the one before are open: older
 * events count in the latter. These two are cached, since they contain nearly all events.
 */
export function createCycleFinder(
  zone: string,
  cycleDay: number,
): (atMs: number, nowMs: number) => OpenCycle {
  let current: OpenCycle = { cycle: { key: '', fromMs: 0, toMs: 0 }, oldestMs: 0 }
  let before = current
  return (atMs, nowMs) => {
    if (nowMs < current.cycle.fromMs || nowMs >= current.cycle.toMs) {
      const cycle = cycleAt(nowMs, zone, cycleDay)
      const last = cycleAt(cycle.fromMs - 1, zone, cycleDay)
      current = { cycle, oldestMs: last.fromMs }
      before = { cycle: last, oldestMs: last.fromMs }
    }
    const { cycle, oldestMs } = current
    if (atMs >= cycle.toMs) return { cycle: cycleAt(atMs, zone, cycleDay), oldestMs }
    return atMs >= cycle.fromMs ? current : before
  }
}
