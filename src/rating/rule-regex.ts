/**
 * Regular expressions that an operator configures, run on what the network sends, in bounded time.
 *
 * They are JavaScript's. The engine of JavaScript tries one way after the other, which may take
 * exponential time, so it runs only what is cheap by its structure: no group is repeated, at most
 * one repetition is without an end, and all choices, each to the end of the expression, stay within
 * `STEPS_MAX`; with an input that is bounded that is quadratic at worst. Everything else is run by
 * re2js, which follows all ways at once in linear time. What that cannot do (look-around, back
 * references) is refused there, and so is what makes it slow, a program above `PROGRAM_MAX`.
 */

import { RE2JS, RE2JSException } from 're2js'
import type { Pattern } from '../domain/catalogue.ts'
import { FieldError } from '../domain/fields.ts'
import { backtrackingOf, toRe2, UnsupportedRegex } from './regex-syntax.ts'

/** Longest value, in characters, that an expression is tried on. */
export const REGEX_INPUT_MAX = 256

/** Longest expression, in characters: compiling takes time and room, too. */
const SOURCE_MAX = 4_096

/** Most steps of backtracking, over all positions of the longest value: some milliseconds. */
const STEPS_MAX = 2 ** 20

/** Most instructions of a linear expression: each may be looked at for each character. */
const PROGRAM_MAX = 1_000

export interface RuleRegex extends Pattern {
  /** Whether a value has a match; one that is too long has none. */
  test(value: string): boolean
  /** The value without its matches; empty if it is too long. */
  clear(value: string): string
}

/**
 * Compiles `/…/flags` (flags i, m, s, u) or the bare expression. Throws `FieldError` for what does
 * not compile, or cannot be run in bounded time.
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

/** Whether JavaScript's own engine may run the expression, which compiles. */
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
 * It matches what JavaScript's engine would. What it clears differs where a repeated group can be
 * empty; with the flag i, letters beyond ASCII can be equal to others; with m only \n ends a line.
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
