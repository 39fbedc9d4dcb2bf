/** Values as a reader sees them: numbers, money and dates in a language. */
import type { Exact } from '../../catalog/records/money/exact-amount.ts'
import { localTime } from '../../domain/time.ts'
import { currencyName } from '../currency.ts'
import type { SourceLine, SourcePeriod } from './source.ts'

export interface Formats {
  money(amount: Exact): string
  /** A fraction in percent. */
  percent(rate: Exact): string
  date(at: Date): string
  period(period: SourcePeriod): string
  quantity(line: Pick<SourceLine, 'quantity' | 'usageType'>): string
}

/** Decimals of amounts beyond those of the currency, which a bill may have. */
const DIGITS_MAX = 4
const RATE_DIGITS_MAX = 4
const QUANTITY_DIGITS_MAX = 6
const BYTES_STEP = 1000
const BYTE_UNITS = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const

/** `currencyCode`: numeric; amounts without a currency are plain numbers. */
export function formatsOf(
  locale: string,
  { currencyCode, timeZone }: { currencyCode: number; timeZone: string },
  digits: number,
): Formats {
  const currency = currencyName(currencyCode)
  const money = new Intl.NumberFormat(locale, {
    ...(currency === null ? {} : { style: 'currency', currency }),
    minimumFractionDigits: digits,
    maximumFractionDigits: Math.max(digits, DIGITS_MAX),
  })
  const percent = new Intl.NumberFormat(locale, {
    style: 'percent',
    maximumFractionDigits: RATE_DIGITS_MAX,
  })
  const number = new Intl.NumberFormat(locale, { maximumFractionDigits: QUANTITY_DIGITS_MAX })
  const date = new Intl.DateTimeFormat(locale, { timeZone, dateStyle: 'medium' })
  const bytesText = byteFormat(locale)
  return {
    money: (amount) => money.format(decimalText(amount)),
    percent: (rate) => percent.format(decimalText(rate)),
    date: (at) => date.format(at),
    // Periods are half-open; a reader expects the last day.
    period: ({ start, end }) => date.formatRange(start, lastInstantOf(start, end)),
    quantity: ({ quantity, usageType }) => {
      if (usageType === 'data') return bytesText(quantity)
      if (usageType === 'call') return durationText(quantity)
      return number.format(decimalText(quantity))
    },
  }
}

/** `Intl` formats decimal texts exactly. */
function decimalText(amount: Exact): `${number}` {
  return amount.toFixed() as `${number}`
}

export function lastInstantOf(start: Date, end: Date): Date {
  return new Date(Math.max(start.getTime(), end.getTime() - 1))
}

/** Formats of units are made once: it takes longer than to format a number. */
function byteFormat(locale: string): (bytes: Exact) => string {
  const formats = new Map<number, Intl.NumberFormat>()
  const formatOf = (step: number) => {
    const unit = BYTE_UNITS[step] ?? 'byte'
    const options = { style: 'unit', unit, maximumFractionDigits: 2 } as const
    const format = formats.get(step) ?? new Intl.NumberFormat(locale, options)
    formats.set(step, format)
    return format
  }
  return (bytes) => {
    let value = bytes
    let step = 0
    while (value.abs().greaterThanOrEqualTo(BYTES_STEP) && step < BYTE_UNITS.length - 1) {
      value = value.div(BYTES_STEP)
      step += 1
    }
    return formatOf(step).format(decimalText(value))
  }
}

/** Seconds as `1:02:03`. */
function durationText(seconds: Exact): string {
  const total = seconds.abs().toDecimalPlaces(0)
  const hours = total.div(3600).floor()
  const rest = total.minus(hours.times(3600)).toNumber()
  const pair = (value: number) => String(value).padStart(2, '0')
  const text = `${hours.toFixed()}:${pair(Math.floor(rest / 60))}:${pair(rest % 60)}`
  return seconds.isNegative() && !total.isZero() ? `-${text}` : text
}

/** Local date as `2024-05-01`. */
export function isoDate(at: Date, timeZone: string): string {
  const { year, month, day } = localTime(timeZone, at.getTime())
  const pad = (value: number, length: number) => String(value).padStart(length, '0')
  return `${pad(year, 4)}-${pad(month, 2)}-${pad(day, 2)}`
}
