/**
 * Determines which price of a set is in force at an instant of the subscriber's local time, and
 * until when.
 */
import type { PriceSet, TimeBand } from '../domain/catalogue.ts'
import { isSameTariff } from '../domain/price-continuation.ts'
import type { Tariff } from '../domain/tariff.ts'
import { clockChangeAfter, type LocalTime, localTime, offsetMs } from '../domain/time.ts'

export interface BandPrice {
  tariff: Tariff
  /** Empty for the plain price. */
  band: string
  /** Name of the first band of the set with an equal price, which identifies the price. */
  priceKey: string
  /**
   * Start of the next band, and of the next different price, epoch ms; Infinity if the price never
   * changes.
   */
  endMs: number
  changeMs: number
}

const DAY_MS = 86_400_000
/**
 * Number of days that are searched for a change. A band that lasts longer is searched again after
 * that.
 */
const DAYS_AHEAD = 2

/** The last result by zone, valid in [sinceMs, endMs). */
const lastPrices = new WeakMap<PriceSet, Map<string, BandPrice & { sinceMs: number }>>()

/**
 * Searches the calendar, which takes up to 1 ms, only if the last result is not valid at the
 * instant.
 */
export function priceAt(price: PriceSet, atMs: number, zone: string): BandPrice {
  if (price.bands.length === 0) {
    const never = Number.POSITIVE_INFINITY
    return { tariff: price.tariff, band: '', priceKey: '', endMs: never, changeMs: never }
  }
  let zones = lastPrices.get(price)
  if (zones === undefined) {
    zones = new Map()
    lastPrices.set(price, zones)
  }
  const last = zones.get(zone)
  if (last !== undefined && atMs >= last.sinceMs && atMs < last.endMs) return last
  const found = { ...findPrice(price, atMs, zone), sinceMs: atMs }
  zones.set(zone, found)
  return found
}

function findPrice(price: PriceSet, atMs: number, zone: string): BandPrice {
  const now = bandAt(price.bands, atMs, zone)
  const tariff = now?.tariff ?? price.tariff
  const changes = boundaries(price.bands, atMs, zone)
  const last = changes.at(-1) as number
  const others = changes.filter((ms) => bandAt(price.bands, ms, zone) !== now)
  const changeMs = others.find((ms) => {
    const then = bandAt(price.bands, ms, zone)
    return !isSameTariff(then?.tariff ?? price.tariff, tariff)
  })
  const band = now?.name ?? ''
  const priceKey = priceKeyOf(price, tariff)
  return { tariff, band, priceKey, endMs: others[0] ?? last, changeMs: changeMs ?? last }
}

/** Adjacent bands with equal prices have the same key, and therefore one segment. */
function priceKeyOf(price: PriceSet, tariff: Tariff): string {
  if (isSameTariff(price.tariff, tariff)) return ''
  return price.bands.find((band) => isSameTariff(band.tariff, tariff))?.name ?? ''
}

function bandAt(bands: readonly TimeBand[], atMs: number, zone: string): TimeBand | undefined {
  const today = localTime(zone, atMs)
  const second = today.hour * 3600 + today.minute * 60 + today.second
  return bands.find((band) => {
    const { fromSecond, toSecond } = band
    if (fromSecond < toSecond) {
      return second >= fromSecond && second < toSecond && isItsDay(band, today)
    }
    if (second >= fromSecond) return isItsDay(band, today)
    // After midnight the band belongs to the day on which it began.
    return second < toSecond && isItsDay(band, dayAfter(today, -1))
  })
}

function isItsDay({ days, dates }: TimeBand, { year, month, day }: LocalTime): boolean {
  if (days.size > 0) {
    const weekday = new Date(Date.UTC(year, month - 1, day)).getUTCDay()
    if (!days.has(weekday === 0 ? 7 : weekday)) return false
  }
  if (dates.size === 0) return true
  const monthDay = `${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}`
  return dates.has(monthDay) || dates.has(`${year}-${monthDay}`)
}

function dayAfter(local: LocalTime, days: number): LocalTime {
  const date = new Date(Date.UTC(local.year, local.month - 1, local.day) + days * DAY_MS)
  return {
    year: date.getUTCFullYear(),
    month: date.getUTCMonth() + 1,
    day: date.getUTCDate(),
    hour: 0,
    minute: 0,
    second: 0,
  }
}

/**
 * All instants after this one at which a band may begin or end, in order: the times of bands as the
 * clock shows them, twice or not at all where it changes, and the changes of the clock.
 */
function boundaries(bands: readonly TimeBand[], atMs: number, zone: string): number[] {
  const seconds = new Set([0])
  for (const { fromSecond, toSecond } of bands) seconds.add(fromSecond).add(toSecond % 86_400)
  const instants: number[] = []
  const lastDay = dayNumber(atMs + offsetMs(zone, atMs)) + DAYS_AHEAD
  const horizonMs = atMs + (DAYS_AHEAD + 1) * DAY_MS
  let fromMs = atMs
  for (;;) {
    const aheadMs = offsetMs(zone, fromMs)
    const untilMs = clockChangeAfter(zone, fromMs, horizonMs)
    for (let day = dayNumber(fromMs + aheadMs); day <= lastDay; day += 1) {
      for (const second of seconds) {
        const ms = day * DAY_MS + second * 1000 - aheadMs
        if (ms > fromMs && ms < untilMs) instants.push(ms)
      }
    }
    if (dayNumber(untilMs + aheadMs) > lastDay) break
    instants.push(untilMs)
    fromMs = untilMs
  }
  return instants.sort((a, b) => a - b)
}

function dayNumber(ms: number): number {
  return Math.floor(ms / DAY_MS)
}
