/**
 * The model of local time and of time bands: the clock of a zone second by second, as `Intl` shows
 * it. Written from the rules, not from the code under test.
 */
import type { TimeBand } from '../../../src/domain/catalogue.ts'

const QUARTER = 900_000
const DAY = 86_400_000
/** How far a clock reads on either side of its instant. */
const REACH = 50 * 3_600_000

const formats = new Map<string, Intl.DateTimeFormat>()

/** The time that the clock shows, as if it were UTC. */
function shownAt(zone: string, atMs: number): number {
  let format = formats.get(zone)
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en-GB', {
      timeZone: zone,
      dateStyle: 'short',
      timeStyle: 'medium',
    })
    formats.set(zone, format)
  }
  const numbers = format.format(atMs).match(/\d+/g)!.map(Number)
  const [day = 1, month = 1, year = 1970, hour = 0, minute = 0, second = 0] = numbers
  return Date.UTC(year, month - 1, day, hour, minute, second)
}

/** Every instant of a period at which the clock jumps; a jump is at a full quarter of an hour. */
export function clockChanges(zone: string, fromMs: number, toMs: number): number[] {
  const aheadAt = (atMs: number) => shownAt(zone, atMs) - atMs
  const found: number[] = []
  for (let dayMs = fromMs; dayMs < toMs; dayMs += DAY) {
    if (aheadAt(dayMs) === aheadAt(dayMs + DAY)) continue
    for (let atMs = dayMs + QUARTER; atMs <= dayMs + DAY; atMs += QUARTER) {
      if (aheadAt(atMs - QUARTER) !== aheadAt(atMs)) found.push(atMs)
    }
  }
  return found
}

const clocks = new Map<string, WallClock>()

export class WallClock {
  readonly #fromMs: number
  /** For each quarter of an hour how far the clock is ahead of UTC. */
  readonly #ahead: readonly number[]

  static around(zone: string, atMs: number): WallClock {
    const key = `${zone} ${atMs}`
    const clock = clocks.get(key) ?? new WallClock(zone, atMs)
    clocks.set(key, clock)
    return clock
  }

  private constructor(zone: string, atMs: number) {
    const fromMs = atMs - REACH
    this.#fromMs = fromMs
    this.#ahead = Array.from({ length: (2 * REACH) / QUARTER }, (_, index) => {
      const quarterMs = fromMs + index * QUARTER
      return shownAt(zone, quarterMs) - quarterMs
    })
  }

  /** The time that the clock shows, as if it were UTC. */
  shown(atMs: number): number {
    return atMs + this.#ahead[Math.floor((atMs - this.#fromMs) / QUARTER)]!
  }
}

/** The first band whose times and days the clock shows; empty for none. */
export function bandOfSecond(bands: readonly TimeBand[], clock: WallClock, atMs: number): string {
  const shown = clock.shown(atMs)
  const second = Math.floor((((shown % DAY) + DAY) % DAY) / 1000)
  const isOnDay = ({ days }: TimeBand, dayMs: number) =>
    days.size === 0 || days.has(((new Date(dayMs).getUTCDay() + 6) % 7) + 1)
  for (const band of bands) {
    const { name, fromSecond, toSecond } = band
    const isLong = fromSecond >= toSecond
    const isToday = second >= fromSecond && (isLong || second < toSecond)
    if (isToday && isOnDay(band, shown)) return name
    if (isLong && second < fromSecond && second < toSecond && isOnDay(band, shown - DAY))
      return name
  }
  return ''
}
