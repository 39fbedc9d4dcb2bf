/** Regular expressions in queries, which the store must be able to run in bounded time. */
import { isCheap } from '../../../rating/rule-regex.ts'

const LENGTH_MAX = 256
const OPTIONS = /^[ims]*$/
/** Syntax that JavaScript accepts, but PCRE, which stores use, does not. */
const UNKNOWN_TO_PCRE = /\\u|\[\^?\]/

/** Why `$regex` with its `$options` is refused; null if it is valid. */
export function badExpression(expression: unknown, options: unknown = ''): string | null {
  if (expression === undefined) return 'is missing beside $options'
  if (typeof expression !== 'string') return 'must be a text'
  if (expression.length > LENGTH_MAX) return `must have at most ${LENGTH_MAX} characters`
  if (expression.includes('\0')) return 'must have no zero byte'
  if (typeof options !== 'string' || !OPTIONS.test(options))
    return 'has $options other than i, m, s'
  const flags = [...new Set(options)].join('')
  try {
    new RegExp(expression, flags)
  } catch {
    return 'is not a regular expression'
  }
  if (UNKNOWN_TO_PCRE.test(expression)) return 'has \\u or an empty class, which stores do not know'
  return isCheap(expression, flags) ? null : 'cannot be run in bounded time'
}
