/** Prices of rates, plans and services: flat, by time, or a percentage of another price. */
import type { PriceOverride, PriceOverrides, PriceSet, TimeBand } from '../../domain/catalogue.ts'
import { readAll, readEach } from '../../domain/field-errors.ts'
import {
  amountAt,
  arrayAt,
  checkKnownKeys,
  entriesAt,
  FieldError,
  type Fields,
  objectAt,
  textAt,
  wholeAt,
} from '../../domain/fields.ts'
import { toScale } from '../../domain/money.ts'
import { type CompileOptions, checkUsageType } from './document.ts'
import { createInterner } from './interner.ts'
import { compileTariff, NO_TERMS, type PriceContext } from './tariff.ts'

const PRICE_KEYS = ['access', 'minimum_charge', 'rate', 'bands']
const BAND_KEYS = ['name', 'days', 'dates', 'from', 'to', 'access', 'minimum_charge', 'rate']
const DAY_SECONDS = 86_400

const interned = createInterner<PriceSet>(10_000)

/**
 * A price with its time bands. Bands inherit `access` and `minimum_charge` unless they have their
 * own.
 */
export function compilePrice(document: unknown, path: string, context: PriceContext): PriceSet {
  const price = objectAt(document, path)
  return interned.get([price, context], () => compilePriceSet(price, path, context))
}

function compilePriceSet(price: Fields, path: string, context: PriceContext): PriceSet {
  if (price['percentage'] !== undefined) {
    throw new FieldError(
      `${path}.percentage`,
      'is only allowed in prices that override another one',
    )
  }
  const { tariff, bands } = readAll({
    keys: () => checkKnownKeys(price, path, PRICE_KEYS),
    tariff: () => compileTariff(price, path, context),
    bands: () => compileBands(price, `${path}.bands`, context),
  })
  return { tariff, bands }
}

function compileBands(price: Fields, path: string, context: PriceContext): readonly TimeBand[] {
  const listed = price['bands'] === undefined ? [] : arrayAt(price['bands'], path)
  const names = new Set<string>()
  return readEach(listed, (entry, index) => {
    const at = `${path}.${index}`
    const band = compileBand(objectAt(entry, at), at, price, context)
    if (names.has(band.name)) throw new FieldError(`${at}.name`, `occurs twice: '${band.name}'`)
    names.add(band.name)
    return band
  })
}

function compileBand(
  band: Fields,
  path: string,
  { access, minimum_charge }: Fields,
  context: PriceContext,
): TimeBand {
  const inherited = {
    ...(access !== undefined && { access }),
    ...(minimum_charge !== undefined && { minimum_charge }),
  }
  const { seconds, name, days, dates, tariff } = readAll({
    keys: () => checkKnownKeys(band, path, BAND_KEYS),
    seconds: () => secondsAt(band, path),
    name: () => textAt(band['name'], `${path}.name`),
    days: () => new Set(daysAt(band['days'], `${path}.days`)),
    dates: () => new Set(datesAt(band['dates'], `${path}.dates`)),
    tariff: () => compileTariff({ ...inherited, ...band }, path, context),
  })
  return { name, days, dates, ...seconds, tariff }
}

function secondsAt({ from, to }: Fields, path: string) {
  const seconds = readAll({
    fromSecond: () => secondAt(from, `${path}.from`, 0),
    toSecond: () => secondAt(to, `${path}.to`, DAY_SECONDS),
  })
  if (seconds.fromSecond !== seconds.toSecond) return seconds
  throw new FieldError(`${path}.to`, 'must differ from from')
}

function daysAt(value: unknown, path: string): readonly number[] {
  if (value === undefined) return []
  return readEach(arrayAt(value, path), (day, index) => {
    const at = `${path}.${index}`
    const number = wholeAt(day, at, 1)
    if (number > 7) throw new FieldError(at, 'must be a day from 1 (Monday) to 7')
    return number
  })
}

const DATE = /^(?:(\d{4})-)?(\d{2})-(\d{2})$/

function datesAt(value: unknown, path: string): readonly string[] {
  if (value === undefined) return []
  return readEach(arrayAt(value, path), (entry, index) => {
    const date = textAt(entry, `${path}.${index}`)
    if (!isDate(date)) throw new FieldError(`${path}.${index}`, 'must be YYYY-MM-DD or MM-DD')
    return date
  })
}

/** A date without a year may be February 29th. */
function isDate(text: string): boolean {
  const match = DATE.exec(text)
  if (match === null) return false
  const [, year = '2000', month, day] = match
  const date = new Date(`${year}-${month}-${day}T00:00:00Z`)
  return !Number.isNaN(date.getTime()) && date.toISOString().slice(5, 10) === `${month}-${day}`
}

const TIME_OF_DAY = /^([01]\d|2[0-4]):([0-5]\d)(?::([0-5]\d))?$/

function secondAt(value: unknown, path: string, ifAbsent: number): number {
  if (value === undefined) return ifAbsent
  const match = typeof value === 'string' ? TIME_OF_DAY.exec(value) : null
  const [, hour = 0, minute = 0, second = 0] = match ?? []
  const seconds = Number(hour) * 3600 + Number(minute) * 60 + Number(second)
  if (match === null || seconds > DAY_SECONDS) {
    throw new FieldError(path, 'must be a time of day as HH:MM or HH:MM:SS')
  }
  return seconds
}

/** `{ <rate key>: { <usage type>: price or { percentage } } }`. */
export function compilePrices(
  document: unknown,
  path: string,
  options: CompileOptions,
): PriceOverrides {
  const prices = readEach(entriesAt(document, path), ([key, usages]) => {
    const byUsaget = readEach(entriesAt(usages, `${path}.${key}`), ([usaget, price]) => {
      const at = `${path}.${key}.${usaget}`
      checkUsageType(usaget, at)
      return [usaget, compileOverride(objectAt(price, at), at, options)] as const
    })
    return [key, new Map(byUsaget)] as const
  })
  return new Map(prices)
}

function compileOverride(price: Fields, path: string, options: CompileOptions): PriceOverride {
  if (price['percentage'] !== undefined) return { kind: 'percentage', ...percentageAt(price, path) }
  return { kind: 'price', price: compilePrice(price, path, { ...options, terms: NO_TERMS }) }
}

/** Decimals of a percentage. */
const FACTOR_DIGITS_MAX = 6
const FACTOR_MAX = 10 ** 6

/** The factor of `{ percentage }`: factor × 10^-factorDigits of another price. */
export function percentageAt(price: Fields, path: string) {
  const at = `${path}.percentage`
  checkKnownKeys(price, path, ['percentage'])
  const part = amountAt(price['percentage'], at)
  const factor = toScale(part, part.scale)
  if (part.scale > FACTOR_DIGITS_MAX || factor === null || factor > FACTOR_MAX * 10 ** part.scale) {
    throw new FieldError(at, `must be at most 10^6 and have at most ${FACTOR_DIGITS_MAX} decimals`)
  }
  return { factor, factorDigits: part.scale }
}
