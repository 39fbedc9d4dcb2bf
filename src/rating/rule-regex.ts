/**
 * Regular expressions configured by an operator, run on network input in bounded time.
 *
 * They have the syntax of JavaScript, whose engine backtracks and may take exponential time. It
 * runs only expressions that are cheap by structure: no group is repeated, at most one repetition
 * is unbounded, and the number of all choices, each up to the end of the expression, is at most
 * `STEPS_MAX`; on bounded input that is quadratic at worst. All others are run by re2js, which
 * follows all ways in parallel in linear time. Expressions that re2js cannot run (look-around, back
 * references), or whose program exceeds `PROGRAM_MAX`, are rejected.
 */
import { RE2JS, RE2JSException } from 're2js'
import type { Pattern } from '../domain/catalogue.ts'
import { FieldError } from '../domain/fields.ts'
import { backtrackingOf, toRe2, UnsupportedRegex } from './regex-syntax.ts'

/** Maximum length of a value on which expressions are tried, in characters. */
export const REGEX_INPUT_MAX = 256

/**
 * Maximum length of an expression, in characters, since compiling takes time and memory as well.
 */
const SOURCE_MAX = 4_096

/** Maximum steps of backtracking over all positions of the longest value: some milliseconds. */
const STEPS_MAX = 2 ** 20

/** Maximum instructions of a linear program, each of which may be executed for each character. */
const PROGRAM_MAX = 1_000

export interface RuleRegex extends Pattern {
  /** Whether a value has a match. A value that is too long has none. */
  test(value: string): boolean
  /** The value without its matches; empty if it is too long. */
  clear(value: string): string
}

/**
 * Compiles `/…/flags` (flags i, m, s, u) or the bare expression. Throws `FieldError` if it does not
 * compile or cannot be run in bounded time.
 */
export function compileRegex(text: unknown, path: string): RuleRegex {
  if (typeof text !== 'string') throw new FieldError(path, 'must be a regular expression')
  if (text.length > SOURCE_MAX) {
    throw new FieldError(path, `must have at most ${SOURCE_MAX} characters`)
  }
  const { source, flags } = split(text, path)
  const native = compileNative(source, flags)
  if (native === null) throw new FieldError(path, `is not a regular expression: ${text}`)
  const engine = isCheap(source, flags) ? backtracking(native) : linear(source, flags, path)
  return {
    source,
    test: (value) => value.length <= REGEX_INPUT_MAX && engine.test(value),
    clear: (value) => (value.length <= REGEX_INPUT_MAX ? engine.clear(value) : ''),
  }
}

/** Whether JavaScript's engine may run the expression, which has to compile. */
export function isCheap(source: string, flags = ''): boolean {
  const { ways, unbounded, length, isAnchored } = backtrackingOf(source)
  const positions = REGEX_INPUT_MAX + 1
  const starts = isAnchored && !flags.includes('m') ? 1 : positions
  const ends = ways * positions ** unbounded
  return unbounded <= 1 && starts * ends * Math.max(1, Math.min(length, positions)) <= STEPS_MAX
}

type Engine = Pick<RuleRegex, 'test' | 'clear'>

function backtracking(one: RegExp): Engine {
  const all = new RegExp(one, `${one.flags}g`)
  return { test: (value) => one.test(value), clear: (value) => value.replace(all, '') }
}

/**
 * Matches like JavaScript's engine. Differences: `clear`, if a repeated group can be empty; letters
 * beyond ASCII with the flag i; with m only \n ends a line.
 */
function linear(source: string, flags: string, path: string): Engine {
  const compiled = compileLinear(source, flags, path)
  if (compiled.programSize() > PROGRAM_MAX) {
    throw new FieldError(path, 'is too large to be run in bounded time')
  }
  return {
    test: (value) => compiled.test(value),
    clear: (value) => compiled.matcher(value).replaceAll(''),
  }
}

function compileLinear(source: string, flags: string, path: string): RE2JS {
  let options = 0
  if (flags.includes('i')) options |= RE2JS.CASE_INSENSITIVE
  if (flags.includes('m')) options |= RE2JS.MULTILINE
  try {
    return RE2JS.compile(toRe2(source, flags), options)
  } catch (error) {
    if (!(error instanceof UnsupportedRegex || error instanceof RE2JSException)) throw error
    throw new FieldError(path, `cannot be run in bounded time: ${error.message}`)
  }
}

function compileNative(source: string, flags: string): RegExp | null {
  try {
    return new RegExp(source, flags)
  } catch {
    return null
  }
}

function split(text: string, path: string): { source: string; flags: string } {
  if (!text.startsWith('/')) return { source: text, flags: '' }
  const end = text.lastIndexOf('/')
  if (end === 0) throw new FieldError(path, `has no closing /: ${text}`)
  const flags = text.slice(end + 1)
  if (!/^[imsu]*$/.test(flags)) throw new FieldError(path, `has unknown flags: ${flags}`)
  return { source: text.slice(1, end), flags }
}
