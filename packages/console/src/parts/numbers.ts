/** Numbers in the language of the reader, formatted exactly from decimal text. */
import type { DecimalText, Figure } from '../api/figures.ts'
import type { Fields } from '../api/records.ts'
import { nodeCurrency } from '../api/session.ts'
import { locale } from '../words/words.ts'
import { textIn } from './differences.ts'

/** More decimals than any amount of the API has. */
const DECIMALS_MAX = 20
const formats = new Map<string, Intl.NumberFormat>()

function formatOf(options: Intl.NumberFormatOptions): Intl.NumberFormat {
  const key = `${locale()} ${JSON.stringify(options)}`
  let format = formats.get(key)
  if (format === undefined) {
    format = new Intl.NumberFormat(locale(), options)
    formats.set(key, format)
  }
  return format
}

/** `Intl` formats decimal text without rounding it to a binary number. */
function formatted(figure: Figure, options: Intl.NumberFormatOptions): string {
  return formatOf(options).format(figure as Intl.StringNumericLiteral)
}

/** With all its decimals. */
export function formatNumber(figure: Figure): string {
  return formatted(figure, { maximumFractionDigits: DECIMALS_MAX })
}

/** A fraction: 0.17 is 17 %. */
export function formatPercent(figure: Figure): string {
  return formatted(figure, { style: 'percent', maximumFractionDigits: DECIMALS_MAX })
}

/**
 * An amount of money, with at least the decimals of the currency of the node, otherwise two; no
 * decimal is ever cut off. The currency is named by `moneyHeader`, in sentences by `moneyText`.
 */
export function formatMoney(figure: Figure): string {
  const currency = nodeCurrency.value
  const digits = currency === null ? 2 : decimalsOf(currency)
  return formatted(figure, { minimumFractionDigits: digits, maximumFractionDigits: DECIMALS_MAX })
}

/** An amount of a document; empty if it has none. */
export function moneyIn(document: Fields, name: string): string {
  const text = textIn(document, name)
  return text === '' ? '' : formatMoney(text as DecimalText)
}

function decimalsOf(currency: string): number {
  return formatOf({ style: 'currency', currency }).resolvedOptions().minimumFractionDigits ?? 2
}

/** Head of a column or part with amounts of money. */
export function moneyHeader(title: string): string {
  const currency = nodeCurrency.value
  return currency === null ? title : `${title} (${currency})`
}

/** An amount in a sentence: `1.50 EUR`. */
export function moneyText(figure: Figure): string {
  return withCurrency(formatMoney(figure))
}

/** The text of an amount, unless it is empty, and the currency of the node. */
export function withCurrency(text: string): string {
  const currency = nodeCurrency.value
  return currency === null || text === '' ? text : `${text} ${currency}`
}

/** Short and rounded, for axes and live figures: 12.3K. */
export function formatShort(value: number): string {
  return formatted(value, { notation: 'compact', maximumSignificantDigits: 3 })
}

/** `minutes`, `days` and similar units of time. */
export function formatDuration(
  value: number,
  unit: 'millisecond' | 'second' | 'minute' | 'hour' | 'day',
): string {
  const style = { style: 'unit', unit, unitDisplay: 'short' } as const
  return formatted(value, { ...style, maximumFractionDigits: value < 10 ? 1 : 0 })
}

const AMOUNT = /^\d{1,15}(?:\.\d{1,6})?$/

/** A typed amount as the API takes it: a decimal point, no spaces; null unless it is above 0. */
export function amountIn(typed: string): string | null {
  const text = typed.trim().replace(',', '.')
  return AMOUNT.test(text) && /[1-9]/.test(text) ? text : null
}

/** Whether an amount, a decimal text, is to be paid: a credit and zero are not. */
export function isOwed(amount: string): boolean {
  return /^[^-]*[1-9]/.test(amount)
}
