import type { Pattern } from '../../domain/catalogue.ts'
import { RuleError } from '../../rating/rule-error.ts'
import { compileRegex } from '../../rating/rule-regex.ts'
import { CompileError } from '../errors.ts'

const IN_SLASHES = /^\/.*\/[imsu]*$/s

/** A regular expression, in slashes (then with flags) or bare. */
export function patternAt(text: string, path: string): Pattern {
  try {
    // What only begins with a slash is bare, too.
    return compileRegex(IN_SLASHES.test(text) ? text : `/${text}/`, path)
  } catch (error) {
    if (error instanceof RuleError) throw new CompileError(error.path, error.reason)
    throw error
  }
}
