/** Fields of a rate that filters compare, and tests of a rate by its fields. */
import { fieldAt, type RateRevision } from '../../domain/catalogue.ts'
import { isObject } from '../../domain/fields.ts'
import { compileRegex, type RuleRegex } from '../rule-regex.ts'
import { compareTexts, textOf } from './compare.ts'

const PARAMS = 'params.'

/** The value of `rate_key`: `key`, `params.…`, or another field by its path. */
export function rateField(rate: RateRevision, path: string): unknown {
  if (path === 'key') return rate.key
  return fieldAt(rate.params, path.startsWith(PARAMS) ? path.slice(PARAMS.length) : path)
}

/** The texts of a field with one value or a list of values, each once. */
export function rateTexts(rate: RateRevision, path: string): readonly string[] {
  const field = rateField(rate, path)
  if (!Array.isArray(field)) {
    const text = textOf(field)
    return text === undefined ? [] : [text]
  }
  const texts = new Set<string>()
  for (const member of field) {
    const text = textOf(member)
    if (text !== undefined) texts.add(text)
  }
  return [...texts]
}

/** Length of the longest text of the field that is a prefix of the value; 0 without such a text. */
export function prefixLength(rate: RateRevision, path: string, value: string): number {
  let longest = 0
  for (const prefix of rateTexts(rate, path)) {
    if (prefix.length > longest && value.startsWith(prefix)) longest = prefix.length
  }
  return longest
}

/** Whether one of the ranges `{from, to}` of the field contains the value, both ends included. */
export function isInRange(rate: RateRevision, path: string, value: string): boolean {
  const field = rateField(rate, path)
  const ranges = Array.isArray(field) ? field : [field]
  return value !== '' && ranges.some((range) => isObject(range) && isWithin(range, value))
}

function isWithin(range: Readonly<Record<string, unknown>>, value: string): boolean {
  const [from, to] = [textOf(range['from']), textOf(range['to'])]
  if (from === undefined || to === undefined) return false
  return compareTexts(from, value) <= 0 && compareTexts(value, to) <= 0
}

const PATTERNS_MAX = 10_000

/**
 * Tests a value against the expressions of the field. An expression that does not compile matches
 * nothing, so that it does not affect other rates.
 */
export function createPatternTest(): (rate: RateRevision, path: string, value: string) => boolean {
  const compiled = new Map<string, RuleRegex | null>()
  const patternOf = (text: string) => {
    let pattern = compiled.get(text)
    if (pattern === undefined) {
      if (compiled.size >= PATTERNS_MAX) compiled.clear()
      pattern = compileOrNull(text)
      compiled.set(text, pattern)
    }
    return pattern
  }
  return (rate, path, value) =>
    rateTexts(rate, path).some((text) => patternOf(text)?.test(value) ?? false)
}

function compileOrNull(text: string): RuleRegex | null {
  try {
    return compileRegex(text, '')
  } catch {
    return null
  }
}
