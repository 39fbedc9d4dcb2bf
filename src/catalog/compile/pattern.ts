import type { Pattern } from '../../domain/catalogue.ts'
import { compileRegex } from '../../rating/rule-regex.ts'

const IN_SLASHES = /^\/.*\/[imsu]*$/s

/**
 * A regular expression, in slashes (with optional flags) or without; a leading `/` alone is a part
 * of it.
 */
export function patternAt(text: string, path: string): Pattern {
  return compileRegex(IN_SLASHES.test(text) ? text : `/${text}/`, path)
}
