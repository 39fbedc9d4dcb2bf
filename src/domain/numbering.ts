/**
 * Numbers by which networks know subscribers: MSISDN (ITU-T E.164) and IMSI (ITU-T E.212), in the
 * form in which requests carry them: digits only.
 */
export const NUMBERINGS = ['msisdn', 'imsi', 'any'] as const

/** Form of the values of a field; `any`: stored as sent. */
export type Numbering = (typeof NUMBERINGS)[number]

/** The number in its stored form, or the reason why it is refused. */
export type NumberRead = { readonly value: string } | { readonly reason: string }

const DIGITS = {
  msisdn: { least: 1, most: 15, form: 'a number with country code (E.164)' },
  imsi: { least: 6, most: 15, form: 'an IMSI' },
} as const

/** Blanks, hyphens, slashes, parentheses, and the invisible characters of copied numbers. */
const SEPARATORS = /[\s()/\u00ad\u200b-\u200f\u2010-\u2015\u202a-\u202e\u2060\u2066-\u2069\ufeff-]/g
/** The trunk prefix in +44 (0)20 is not dialled from abroad. */
const TRUNK_PREFIX = /^(\s*\+[\s\d]*)\(\s*0\s*\)/
const SCIENTIFIC = /^[+-]?\d+(?:[.,]\d*)?e[+-]?\d+$/i
const DECIMAL = /^[+-]?\d+[.,]\d*$/

/** Removes separators, and the plus sign of an international number. */
export function readNumber(numbering: Numbering, text: string): NumberRead {
  if (numbering === 'any') return { value: text }
  const { least, most, form } = DIGITS[numbering]
  const trimmed = text.trim()
  if (SCIENTIFIC.test(trimmed)) {
    return { reason: `must be ${form} in digits, not in scientific notation: digits are lost` }
  }
  if (DECIMAL.test(trimmed)) return { reason: `must be ${form} in digits, without decimals` }
  const isNegative = /^[-\u2010-\u2015]/.test(trimmed)
  const bare = trimmed.replace(TRUNK_PREFIX, '$1').replace(SEPARATORS, '')
  const digits = numbering === 'msisdn' ? bare.replace(/^\+/, '') : bare
  if (isNegative || !/^\d+$/.test(digits)) return { reason: `must be ${form} in digits` }
  if (digits.length < least || digits.length > most) {
    return { reason: `must be ${form} of ${least} to ${most} digits, has ${digits.length}` }
  }
  return { value: digits }
}

/** The number in its stored form; as it is if that is not possible. */
export function normalNumber(numbering: Numbering, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((member) => normalNumber(numbering, member))
  const isText = typeof value === 'string' || Number.isSafeInteger(value)
  if (!isText || numbering === 'any') return value
  const read = readNumber(numbering, String(value))
  return 'value' in read ? read.value : value
}
