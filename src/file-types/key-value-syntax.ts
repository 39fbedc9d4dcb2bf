/** Compiles the key-value syntax of the sections `parser` and `response`. */
import { FieldError, type Fields, oneOfAt } from '../domain/fields.ts'
import type { KeyValueSyntax } from './file-type.ts'

export const KEY_VALUE_KEYS = ['pair_separator', 'value_separator', 'quoting', 'repeated']

const QUOTINGS = ['percent', 'quotes', 'none'] as const
const REPEATS = ['last', 'first', 'list', 'error'] as const
const SEPARATOR_CHARS_MAX = 8

/** Throws `FieldError` with the path of an invalid value. */
export function compileKeyValueSyntax(section: Fields, path: string): KeyValueSyntax {
  const pairSeparator = separatorAt(section['pair_separator'], `${path}.pair_separator`, '&')
  const valueSeparator = separatorAt(section['value_separator'], `${path}.value_separator`, '=')
  if (pairSeparator.includes(valueSeparator) || valueSeparator.includes(pairSeparator)) {
    throw new FieldError(`${path}.value_separator`, 'must differ from pair_separator')
  }
  // Percent encoding is the default only for forms: elsewhere + and % are literal, as in numbers.
  const isLikeForm = pairSeparator === '&' && valueSeparator === '='
  const quoting = section['quoting'] ?? (isLikeForm ? 'percent' : 'none')
  const repeated = section['repeated'] ?? 'last'
  return {
    pairSeparator,
    valueSeparator,
    quoting: oneOfAt(quoting, `${path}.quoting`, QUOTINGS),
    repeated: oneOfAt(repeated, `${path}.repeated`, REPEATS),
  }
}

/** An empty separator is an error: it would separate nothing. */
function separatorAt(value: unknown, path: string, absent: string): string {
  if (value === undefined || value === null) return absent
  const isText = typeof value === 'string' && value !== '' && value.length <= SEPARATOR_CHARS_MAX
  if (!isText)
    throw new FieldError(path, `must be a text of 1 to ${SEPARATOR_CHARS_MAX} characters`)
  if (/["%A-Za-z0-9]/.test(value)) {
    throw new FieldError(path, 'must have no letters, digits, quotes or percent signs')
  }
  return value
}
