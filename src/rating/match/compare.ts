/** Compares values by their text, since their types are unknown. */

const NUMBER = /^-?\d+(?:\.\d+)?$/
const INTEGER = /^-?\d+$/
/** Digits that a double represents exactly. */
const EXACT_DIGITS = 15
/** Longer texts are unlikely to be numbers, and slow to compare as such. */
const NUMBER_CHARS_MAX = 400

/** Returns a value below 0, 0 or above 0. Compares as numbers if both are, otherwise as texts. */
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

/** Whether a text is compared as a number. Any other text equals only itself. */
export function isNumber(text: string): boolean {
  return text.length <= NUMBER_CHARS_MAX && NUMBER.test(text)
}

/** The text of a value in a document; undefined if it has none (absent values, lists, objects). */
export function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  if (typeof value === 'number' || typeof value === 'bigint') return String(value)
  if (typeof value === 'boolean') return String(value)
  if (value instanceof Date && !Number.isNaN(value.getTime())) return value.toISOString()
  return undefined
}
