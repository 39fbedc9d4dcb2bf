import type { RateRevision } from '../../../../src/domain/catalogue.ts'
import { compileCalculators } from '../../../../src/rating/match/calculators.ts'
import { RateFinder, type UsageFields } from '../../../../src/rating/match/finder.ts'

const NO_PRICE = { base: null, plans: new Map<string, never>() }

/** A rate of calls with these fields in `params`, always valid; other properties are optional. */
export function rateWith(
  key: string,
  params: Readonly<Record<string, unknown>> = {},
  more: Partial<RateRevision> & { usagets?: readonly string[] } = {},
): RateRevision {
  const { usagets = ['call'], ...rest } = more
  return {
    id: `${key}@${more.fromMs ?? 0}`,
    key,
    fromMs: 0,
    toMs: 1e15,
    usages: new Map(usagets.map((usaget) => [usaget, NO_PRICE])),
    category: 'retail',
    addToRetail: false,
    play: '',
    params,
    taxHints: [],
    rounding: null,
    method: 'tiered',
    ...rest,
  }
}

/** A call with these request fields; other properties are optional. */
export function usageWith(
  fields: Readonly<Record<string, string>> = {},
  more: Partial<UsageFields> = {},
): UsageFields {
  return {
    usaget: 'call',
    ratingGroup: -1,
    calledNumber: '',
    plan: 'PLAN',
    play: '',
    serviceIdentifier: '',
    timeZone: 'UTC',
    field: (name) => fields[name],
    subscriberField: () => undefined,
    ...more,
  }
}

/** A finder over rates, whose revisions are passed in the order of their validity. */
export function finderOf(
  calculators: unknown,
  rates: readonly RateRevision[],
  rateKeys: readonly string[] = ['{USAGET}'],
): RateFinder {
  const finder = new RateFinder(compileCalculators(calculators), rateKeys)
  for (const key of new Set(rates.map((rate) => rate.key))) {
    finder.update([{ key, revisions: rates.filter((rate) => rate.key === key) }])
  }
  return finder
}

/** Calculators with priorities for retail calls; each priority is a list of filters. */
export function retailCalls(...priorities: readonly (readonly unknown[])[]): unknown {
  return { retail: { call: { priorities: priorities.map((filters) => ({ filters })) } } }
}
