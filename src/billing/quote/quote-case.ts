/** Quotes one case, from its JSON to its result. */
import { FieldError } from '../../domain/fields.ts'
import { nameOf, readCase, within } from './case.ts'
import type { EventResult } from './event-result.ts'
import { type Mismatch, mismatches } from './expectation.ts'
import { type QuoteSettings, STANDARD } from './settings.ts'
import { Trial } from './trial.ts'

export interface QuoteResult {
  name: string
  /** One result per event; empty if the case is invalid. */
  results: EventResult[]
  /** Present if the case has expectations or is invalid. */
  ok?: boolean
  mismatches?: Mismatch[]
  error?: CaseError
}

/** Dotted path of the invalid field, and why. */
export interface CaseError {
  field: string
  why: string
}

/**
 * Executes a case in memory. Never throws: errors are part of the result. `defaults`: settings of
 * the installation; `name`: for a case without one.
 */
export function quoteCase(caseValue: unknown, defaults = STANDARD, name = ''): QuoteResult {
  const steps = caseSteps(caseValue, defaults, name)
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}

/** Like `quoteCase`, pausing before each event; `spanMsMax`: limit on the time an event lasts. */
export function* caseSteps(
  caseValue: unknown,
  defaults: QuoteSettings,
  name: string,
  spanMsMax?: number,
): Generator<undefined, QuoteResult> {
  const shownName = nameOf(caseValue, name)
  try {
    return { name: shownName, ...(yield* play(caseValue, defaults, spanMsMax)) }
  } catch (error) {
    if (error instanceof FieldError) {
      return brokenCase(shownName, { field: error.path, why: error.reason })
    }
    return brokenCase(shownName, { field: '', why: `a defect: ${(error as Error).message}` })
  }
}

export function brokenCase(name: string, error: CaseError): QuoteResult {
  return { name, results: [], error, ok: false }
}

function* play(
  caseValue: unknown,
  defaults: QuoteSettings,
  spanMsMax?: number,
): Generator<undefined, Omit<QuoteResult, 'name'>> {
  const quote = readCase(plainCase(caseValue), defaults)
  const trial = new Trial(quote, spanMsMax)
  const results: EventResult[] = []
  for (const event of quote.events) {
    yield
    results.push(trial.play(event))
  }
  if (quote.expect === null) return { results }
  const found = mismatches(quote.expect, results)
  return found.length === 0 ? { results, ok: true } : { results, ok: false, mismatches: found }
}

/** The members of the result in the order of the documentation. */
export function quoteView({ name, results, error, ...verdict }: QuoteResult) {
  return { name, ...(error === undefined ? { results } : { error }), ...verdict }
}

/** The result as one line of JSON. */
export function quoteLine(result: QuoteResult): string {
  return JSON.stringify(quoteView(result))
}

/** Maximal nesting of objects and lists, as for documents in the store. */
const DEPTH_MAX = 100

/**
 * Returns the value, or a copy if it has dates in the format of the entity API, `{ sec, usec }`.
 * Throws `FieldError` with the path of what is nested too deep.
 */
function plainCase(value: unknown): unknown {
  return plain(value, '', 0)
}

function plain(value: unknown, path: string, depth: number): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (depth > DEPTH_MAX) {
    throw new FieldError(path, `is nested deeper than ${DEPTH_MAX} objects and lists`)
  }
  const date = dateText(value)
  if (date !== null) return date
  const entries = Object.entries(value)
  const parts = entries.map(([key, part]) =>
    typeof part === 'object' ? plain(part, within(path, key), depth + 1) : part,
  )
  if (parts.every((part, index) => part === entries[index]?.[1])) return value
  if (Array.isArray(value)) return parts
  return Object.fromEntries(entries.map(([key], index) => [key, parts[index]]))
}

/** Null if the value is not a valid date. */
function dateText(value: object): string | null {
  const { sec, usec } = value as { sec?: unknown; usec?: unknown }
  if (typeof sec !== 'number' || typeof usec !== 'number') return null
  if (Object.keys(value).length !== 2) return null
  const date = new Date(sec * 1000 + usec / 1000)
  return Number.isNaN(date.getTime()) ? null : date.toISOString()
}
