/** Comparing values of which nothing is known but their text. */

const NUMBER = /^-?\d+(?:\.\d+)?$/
const INTEGER = /^-?\d+$/
/** Digits that a binary fraction holds exactly. */
const EXACT_DIGITS = 15
/** What is longer is no number that anybody means, and takes long to compare as one. */
const NUMBER_CHARS_MAX = 400

/** Below 0, 0 or above 0: as numbers if both are, else by their characters. */
export function compareTexts(one: string, other: string): number {
  if (isNumber(one) && isNumber(other)) {
    const isLong = Math.max(one.length, other.length) > EXACT_DIGITS
    if (!isLong || !INTEGER.test(one) || !INTEGER.test(other)) {
      return Number(one) - Number(other)
    }
    const difference = BigInt(one) - BigInt(other)
    return difference < 0n ? -1 : difference > 0n ? 1 : 0
  }
  return one < other ? -1 : one > other ? 1 : 0
}

/** Whether a text is compared as a number; what is none equals only the same text. */
export function isNumber(text: string): boolean {
  return text.length <= NUMBER_CHARS_MAX && NUMBER.test(text)
}

/** The text of a value in a document; undefined for what has none (absent, lists, objects). */
export function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  if (typeof value === 'number' || typeof value === 'bigint') return String(value)
  if (typeof value === 'boolean') return String(value)
  if (value instanceof Date && !Number.isNaN(value.getTime())) return value.toISOString()
  return undefined
}
