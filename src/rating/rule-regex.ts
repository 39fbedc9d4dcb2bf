/**
 * Regular expressions that an operator configures, run on what the network sends. They are bounded:
 * a long value costs nothing, and a repetition inside a repetition, which may take exponential
 * time, is refused.
 */
import { RuleError } from './rule-error.ts'

/** Longest value, in characters, that an expression is tried on. */
export const REGEX_INPUT_MAX = 64

export interface RuleRegex {
  /** Whether a value has a match; one that is too long has none. */
  test(value: string): boolean
  /** The value without its matches; empty if it is too long. */
  clear(value: string): string
}

/**
 * Compiles `/…/flags` (flags i, m, s, u) or the bare expression. Throws `RuleError` for what does
 * not compile.
 */
export function compileRegex(text: unknown, path: string): RuleRegex {
  if (typeof text !== 'string') throw new RuleError(path, 'must be a regular expression')
  const { source, flags } = split(text, path)
  if (repeatsRepetition(source)) {
    throw new RuleError(path, 'must not repeat a group that itself repeats')
  }
  let one: RegExp
  try {
    one = new RegExp(source, flags)
  } catch {
    throw new RuleError(path, `is not a regular expression: ${text}`)
  }
  const all = new RegExp(one, `${flags}g`)
  return {
    test: (value) => value.length <= REGEX_INPUT_MAX && one.test(value),
    clear: (value) => (value.length <= REGEX_INPUT_MAX ? value.replace(all, '') : ''),
  }
}

function split(text: string, path: string): { source: string; flags: string } {
  if (!text.startsWith('/')) return { source: text, flags: '' }
  const end = text.lastIndexOf('/')
  if (end === 0) throw new RuleError(path, `has no closing /: ${text}`)
  const flags = text.slice(end + 1)
  if (!/^[imsu]*$/.test(flags)) throw new RuleError(path, `has unknown flags: ${flags}`)
  return { source: text.slice(1, end), flags }
}

const UNBOUNDED = /^(?:[*+]|\{\d+,\})/

/** Whether a group that holds an unbounded repetition is itself repeated without bound. */
function repeatsRepetition(source: string): boolean {
  const outer: boolean[] = []
  let repeats = false
  let inClass = false
  for (let at = 0; at < source.length; at += 1) {
    const sign = source[at]
    if (sign === '\\') at += 1
    else if (inClass) inClass = sign !== ']'
    else if (sign === '[') inClass = true
    else if (sign === '(') {
      outer.push(repeats)
      repeats = false
    } else if (sign === ')') {
      const isRepeated = UNBOUNDED.test(source.slice(at + 1))
      if (repeats && isRepeated) return true
      repeats = (outer.pop() ?? false) || repeats || isRepeated
    } else if (UNBOUNDED.test(source.slice(at))) repeats = true
  }
  return false
}
