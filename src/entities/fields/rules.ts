/** Rules that a field applies to its values in addition to the type. */
import { createInterner } from '../../catalog/compile/interner.ts'
import { FieldError, isUnset, FieldError as PatternError } from '../../domain/fields.ts'
import { compileRegex, type RuleRegex } from '../../rating/rule-regex.ts'
import type { FieldDefinition } from './field-definition.ts'

/** The allowed texts; null if any text is allowed. */
export function optionsOf({
  select_options: options,
}: FieldDefinition): ReadonlySet<string> | null {
  if (options === undefined || options === null || options.length === 0) return null
  const texts = typeof options === 'string' ? options.split(',') : options
  return new Set(texts.map((option) => option.trim()))
}

const compiled = createInterner<RuleRegex>(1000)

/**
 * The expression that the whole value must match; null if the field has none. It runs in bounded
 * time and never matches values of more than 256 characters. Throws `FieldError` if it is invalid.
 */
export function patternOf({ validation }: FieldDefinition, path: string): RuleRegex | null {
  if (isUnset(validation)) return null
  try {
    return compiled.get(validation, () => {
      // Compiled alone first: an unclosed group would be closed by the added parenthesis.
      compileRegex(validation, path)
      return compileRegex(wholeOf(String(validation)), path)
    })
  } catch (error) {
    if (!(error instanceof PatternError)) throw error
    throw new FieldError(error.path, error.reason)
  }
}

function wholeOf(text: string): string {
  const end = text.startsWith('/') ? text.lastIndexOf('/') : -1
  const source = end < 0 ? text : text.slice(1, end)
  const flags = end < 0 ? '' : text.slice(end + 1)
  return `/^(?:${source})$/${flags.replace('m', '')}`
}
