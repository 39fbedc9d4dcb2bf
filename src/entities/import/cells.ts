/** Parses the texts of cells. */
import type { Fields } from '../../domain/fields.ts'
import { DISPLAY, fieldRule } from '../../requests/errors.ts'
import { parseJson } from '../../requests/json-text.ts'
import { unsafeName } from '../../requests/names.ts'
import { originalCell } from '../export/formula.ts'

/** A cell without the apostrophe that an export adds to formulas, trimmed. */
export function cellText(cells: readonly string[], column: number): string {
  return originalCell(cells[column] ?? '').trim()
}

/** Splits `a, b` into its members. */
export function listIn(text: string): string[] {
  return text
    .split(',')
    .map((member) => member.trim())
    .filter((member) => member !== '')
}

/** Parses ranges such as `1-5, 10-12`. Throws `EntityRuleError`. */
export function rangesIn(text: string, name: string): Fields[] {
  return listIn(text).map((piece) => rangeIn(piece, name))
}

/**
 * Parses `from - to`, or `from-to` split at the middle dash, because dates contain dashes. A single
 * value is both ends of the range. Throws `EntityRuleError`.
 */
export function rangeIn(text: string, name: string): Fields {
  const spaced = text.split(/\s+-\s+/)
  const parts = spaced.length === 2 ? spaced : atMiddleDash(text)
  const [from, to = from] = parts.map((part) => part.trim())
  if (parts.length <= 2 && from !== undefined && from !== '' && to !== '') return { from, to }
  throw fieldRule(
    name,
    `must be ranges such as 1-5,10-12: ${quotedExcerpt(text)}`,
    'invalid',
    DISPLAY.request,
  )
}

function atMiddleDash(text: string): string[] {
  const pieces = text.split('-')
  if (pieces.length === 1) return [text]
  const half = pieces.length / 2
  if (!Number.isInteger(half)) return ['', '', '']
  return [pieces.slice(0, half).join('-'), pieces.slice(half).join('-')]
}

/**
 * Parses JSON if the text looks like a list or an object, otherwise returns the text. Throws
 * `EntityRuleError`.
 */
export function jsonIn(text: string, name: string): unknown {
  return /^[[{]/.test(text) ? parseJson(text, name) : text
}

const EXCERPT_MAX = 60

export function quotedExcerpt(text: string): string {
  return `'${text.length > EXCERPT_MAX ? `${text.slice(0, EXCERPT_MAX)}…` : text}'`
}

const LIST_MAX = 100

/**
 * Sets the value at a dotted name; a number is an index into a list. Throws `EntityRuleError` for
 * invalid names.
 */
export function setAlong(target: Record<string, unknown>, name: string, value: unknown): void {
  const steps = name.split('.')
  const last = steps.pop() ?? name
  let at: Record<string, unknown> = target
  for (const [index, step] of steps.entries()) {
    const isList = /^\d+$/.test(steps[index + 1] ?? last)
    at = childOf(at, step, isList, name)
  }
  checkStep(at, last, name)
  at[last] = value
}

function childOf(
  parent: Record<string, unknown>,
  step: string,
  isList: boolean,
  name: string,
): Record<string, unknown> {
  checkStep(parent, step, name)
  const known = Object.hasOwn(parent, step) ? parent[step] : undefined
  // Copied, because values from the settings are shared by all rows.
  const child = Array.isArray(known)
    ? [...known]
    : typeof known === 'object' && known !== null
      ? { ...known }
      : isList
        ? []
        : {}
  parent[step] = child
  return child as Record<string, unknown>
}

function checkStep(parent: object, step: string, name: string): void {
  const reason = unsafeName(step)
  if (reason !== null) throw fieldRule(name, reason)
  if (Array.isArray(parent) && !(/^\d{1,3}$/.test(step) && Number(step) < LIST_MAX)) {
    throw fieldRule(`${name}:`, `${step} is not an index into a list of at most ${LIST_MAX}`)
  }
}
