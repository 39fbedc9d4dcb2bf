/** Prices of cases, or of the latest lines of a plan, before and after an assumed change. */
import {
  type AssumedDocuments,
  overlaid,
  readAssumed,
} from '../../billing/quote/assumed-documents.ts'
import {
  type Compared,
  type Comparison,
  compared,
  comparisonReport,
  type FailedCase,
  pricedOf,
} from '../../billing/quote/comparison.ts'
import { readLiveRules } from '../../billing/quote/live.ts'
import { caseSteps } from '../../billing/quote/quote-case.ts'
import type { QuoteSettings } from '../../billing/quote/settings.ts'
import {
  type LinePricing,
  type LineProfile,
  linePricing,
  priceLine,
  profilesOf,
  readLastLines,
  type UsageLine,
} from '../../billing/quote/usage-lines.ts'
import { FieldError, type Fields } from '../../domain/fields.ts'
import { InvalidFieldsError } from '../../requests/errors.ts'
import type { ActionCall } from './action.ts'
import { QuoteWork, refuseLongLists } from './quote-work.ts'

type Result = Comparison | FailedCase

/** The change: documents after it, and before it if they are others than those of the usage. */
export interface Change {
  readonly before: readonly AssumedDocuments[]
  readonly after: readonly AssumedDocuments[]
}

/** Throws `InvalidFieldsError` for a document that cannot be used. */
export function changeOf(
  { assume, base }: { readonly assume: Fields; readonly base: Fields | undefined },
  settings: QuoteSettings,
): Change {
  const read = (value: Fields, path: string) => {
    refuseLongLists(value, path)
    try {
      return readAssumed(value, path, settings)
    } catch (error) {
      if (!(error instanceof FieldError)) throw error
      throw new InvalidFieldsError(error.issues)
    }
  }
  const before = base === undefined ? [] : [read(base, 'base')]
  return { before, after: [...before, read(assume, 'assume')] }
}

export async function compareCases(
  cases: readonly unknown[],
  change: Change,
  spanMsMax: number,
  { liveCatalogue: { settings }, signal }: ActionCall,
) {
  const work = new QuoteWork(signal)
  const results: Result[] = []
  for (const [index, each] of cases.entries()) {
    const name = `cases.${index}`
    const quoted = (assumed: readonly AssumedDocuments[]) =>
      work.run(caseSteps(each, settings, name, { spanMsMax, assumed }), name)
    const before = await quoted(change.before)
    const after = await quoted(change.after)
    if (before === null || after === null) break
    const error = before.error ?? after.error
    if (error !== undefined) results.push({ name: before.name, changed: false, error })
    else {
      const sides = { before: pricedOf(before.results), after: pricedOf(after.results) }
      results.push(compared({ name: before.name, ...sides }))
    }
  }
  return comparisonReport(results)
}

export async function compareLines(
  terms: { readonly plan: string; readonly rateKey: string; readonly last: number },
  change: Change,
  call: ActionCall,
) {
  const { catalog, lookup, liveCatalogue, config, signal, nowMs } = call
  const lines = await readLastLines(catalog, terms)
  const profiles = await profilesOf({ catalog, lookup }, lines, nowMs)
  const rules = await readLiveRules({ catalog, catalogue: liveCatalogue }, config)
  const pricing = (assumed: readonly AssumedDocuments[]) =>
    linePricing(rules, assumed.reduce(overlaid, rules.catalogue), liveCatalogue.settings)
  const sides = { before: pricing(change.before), after: pricing(change.after) }
  const work = new QuoteWork(signal)
  const results: Result[] = []
  for (const [index, line] of lines.entries()) {
    const steps = lineSteps(line, profiles[index] ?? null, sides)
    const result = await work.run(steps, `line ${index}`)
    if (result === null) break
    results.push(result)
  }
  return comparisonReport(results)
}

interface Sides {
  readonly before: LinePricing
  readonly after: LinePricing
}

function* lineSteps(
  line: UsageLine,
  profile: LineProfile,
  { before, after }: Sides,
): Generator<undefined, Result> {
  const { stamp, sid, urt, usaget, usagev, arate_key, aprice, final_charge } = line
  const charged = { aprice, final_charge }
  const facts = { stamp, sid, urt: urt.toISOString(), usaget, usagev, arate_key, ...charged }
  yield
  try {
    const prices: Compared = {
      name: stamp,
      line: facts,
      before: priceLine(line, profile, before),
      after: priceLine(line, profile, after),
    }
    return compared(prices)
  } catch (error) {
    if (!(error instanceof FieldError)) throw error
    const { path: field, reason: why } = error
    return { name: stamp, line: facts, changed: false, error: { field, why } }
  }
}
