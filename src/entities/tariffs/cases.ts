/** The operator's cases, priced by the documents of a set. */
import { readAssumed } from '../../billing/quote/assumed-documents.ts'
import { CATALOGUE_KEYS } from '../../billing/quote/case.ts'
import { caseSteps, type QuoteResult, SPAN_MS_MAX } from '../../billing/quote/quote-case.ts'
import { settingsOf } from '../../billing/quote/settings.ts'
import type { FieldIssue } from '../../domain/field-errors.ts'
import { FieldError } from '../../domain/fields.ts'
import type { EntityStores } from '../requests/entity-request.ts'
import type { AppliedSet } from './writes.ts'

/** Runs the steps of a case in slices; null if the caller has disconnected. */
export type RunCase = <T>(steps: Generator<undefined, T>, name: string) => Promise<T | null>

/** Cases that are invalid or not as expected. Documents of the set replace those of a case. */
export async function failedCases(
  cases: readonly unknown[],
  { documents }: Pick<AppliedSet, 'documents'>,
  { config }: Pick<EntityStores, 'config'>,
  runCase: RunCase,
): Promise<FieldIssue[]> {
  const settings = settingsOf(config.rating)
  const named = CATALOGUE_KEYS.map((key) => [key, documents[key] ?? []])
  try {
    const assumed = [readAssumed(Object.fromEntries(named), 'cases', settings)]
    const issues: FieldIssue[] = []
    for (const [index, each] of cases.entries()) {
      const name = `cases.${index}`
      const steps = caseSteps(each, settings, name, { spanMsMax: SPAN_MS_MAX, assumed })
      const result = await runCase(steps, name)
      if (result === null) return [...issues, { path: name, reason: 'was not run' }]
      issues.push(...failuresOf(name, result))
    }
    return issues
  } catch (error) {
    if (!(error instanceof FieldError)) throw error
    return [...error.issues]
  }
}

function failuresOf(path: string, { name, error, ok, mismatches = [] }: QuoteResult): FieldIssue[] {
  if (error !== undefined) {
    return [{ path: `${path}.${error.field}`, reason: `${error.why} (${name})` }]
  }
  if (ok === undefined) return [{ path: `${path}.expect`, reason: 'is missing', code: 'missing' }]
  return mismatches.map(({ event, field, expected, actual }) => ({
    path: `${path}.expect.${event}.${field}`,
    reason: `is ${JSON.stringify(actual)}, not ${JSON.stringify(expected)} (${name})`,
  }))
}
