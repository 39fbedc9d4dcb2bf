/** Quotes one case, from its JSON to its result. */
import { FieldError } from '../../domain/fields.ts'
import { type AssumedDocuments, withAssumed } from './assumed-documents.ts'
import { nameOf, plainCase, readCase } from './case.ts'
import type { EventResult } from './event-result.ts'
import { type Mismatch, mismatches } from './expectation.ts'
import { type QuoteSettings, STANDARD } from './settings.ts'
import { Trial } from './trial.ts'

/** Longest event of a case that a server prices. */
export const SPAN_MS_MAX = 31 * 24 * 3600 * 1000

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

export interface CaseOptions {
  /** Limit on the time an event lasts. */
  readonly spanMsMax?: number
  /** Documents beside those of the case, later lists in place of earlier ones. */
  readonly assumed?: readonly AssumedDocuments[]
}

/** Like `quoteCase`, pausing before each event. */
export function* caseSteps(
  caseValue: unknown,
  defaults: QuoteSettings,
  name: string,
  options: CaseOptions = {},
): Generator<undefined, QuoteResult> {
  const label = nameOf(caseValue, name)
  try {
    return { name: label, ...(yield* play(caseValue, defaults, options)) }
  } catch (error) {
    if (error instanceof FieldError) {
      return brokenCase(label, { field: error.path, why: error.reason })
    }
    return brokenCase(label, { field: '', why: `a defect: ${(error as Error).message}` })
  }
}

export function brokenCase(name: string, error: CaseError): QuoteResult {
  return { name, results: [], error, ok: false }
}

function* play(
  caseValue: unknown,
  defaults: QuoteSettings,
  { spanMsMax, assumed = [] }: CaseOptions,
): Generator<undefined, Omit<QuoteResult, 'name'>> {
  const quote = assumed.reduce(withAssumed, readCase(plainCase(caseValue), defaults))
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
