/** One case of the tariff bench, from its JSON to what is told of it. */
import { FieldError } from '../../domain/fields.ts'
import { nameOf, readCase } from './case.ts'
import type { EventResult } from './event-result.ts'
import { type Mismatch, mismatches } from './expectation.ts'
import { plainCase } from './plain.ts'
import { type QuoteSettings, STANDARD } from './settings.ts'
import { Trial } from './trial.ts'

export interface QuoteResult {
  name: string
  /** One for each event; none if the case is broken. */
  results: EventResult[]
  /** Only where something is expected, and of broken cases. */
  ok?: boolean
  mismatches?: Mismatch[]
  error?: CaseError
}

/** Which field of the case (dotted path) cannot be used, and why. */
export interface CaseError {
  field: string
  why: string
}

/**
 * Plays a case in memory. Never throws: what is wrong with the case is its result. `defaults`: what
 * the installation has set; `name`: of a case that has none.
 */
export function quoteCase(caseValue: unknown, defaults = STANDARD, name = ''): QuoteResult {
  const shownName = nameOf(caseValue, name)
  try {
    return { name: shownName, ...play(caseValue, defaults) }
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

function play(caseValue: unknown, defaults: QuoteSettings): Omit<QuoteResult, 'name'> {
  const quote = readCase(plainCase(caseValue), defaults)
  const trial = new Trial(quote)
  const results = quote.events.map((event) => trial.play(event))
  if (quote.expect === null) return { results }
  const found = mismatches(quote.expect, results)
  return found.length === 0 ? { results, ok: true } : { results, ok: false, mismatches: found }
}

/** As one line of JSON. */
export function quoteLine({ name, results, error, ...verdict }: QuoteResult): string {
  const told = error === undefined ? { results } : { error }
  return JSON.stringify({ name, ...told, ...verdict })
}
