import type {
  Catalogue,
  PlanRevision,
  PriceSet,
  RateRevision,
  ServiceRevision,
  SubscriberProfile,
  TaxRevision,
} from '../../../src/domain/catalogue.ts'
import { createCycleFinder } from '../../../src/domain/cycle.ts'
import { FOREVER_MS } from '../../../src/domain/time.ts'
import { compileCalculators } from '../../../src/rating/match/calculators.ts'
import { RateFinder } from '../../../src/rating/match/finder.ts'
import type { RatingContext } from '../../../src/rating/program.ts'
import { tariffFrom } from '../domain/tariffs.ts'

/** The same as a price that is valid at all times. */
export function priceFrom(text: string): PriceSet {
  return { tariff: tariffFrom(text), bands: [] }
}

export function rateOf(
  key: string,
  usaget: string,
  base: string | null,
  more: Partial<RateRevision> & { plansPrices?: Record<string, string> } = {},
): RateRevision {
  const { plansPrices = {}, ...rest } = more
  const plans = new Map(
    Object.entries(plansPrices).map(([plan, price]) => [plan, priceFrom(price)]),
  )
  const usages = new Map([[usaget, { base: base === null ? null : priceFrom(base), plans }]])
  return {
    id: `${key}@0`,
    key,
    fromMs: 0,
    toMs: 1e12,
    usages,
    category: 'retail',
    addToRetail: true,
    play: '',
    params: {},
    taxHints: [],
    method: 'tiered',
    rounding: null,
    ...rest,
  }
}

export function planOf(name: string, more: Partial<PlanRevision> = {}): PlanRevision {
  return {
    id: `${name}@0`,
    name,
    fromMs: 0,
    toMs: 1e12,
    connectionType: 'prepaid',
    disallowedRates: new Set<string>(),
    services: [],
    facts: {},
    prices: new Map(),
    groups: [],
    ...more,
  }
}

export function profileOf(more: Partial<SubscriberProfile> = {}): SubscriberProfile {
  return {
    id: 'profile',
    fromMs: 0,
    toMs: 1e12,
    aid: 1,
    sid: 7,
    plan: 'PREPAID',
    barred: false,
    activeFromMs: 0,
    activeToMs: FOREVER_MS,
    planFromMs: 0,
    services: [],
    accountServices: [],
    overrides: [],
    creditLimit: null,
    accountCreditLimit: null,
    timeZone: '',
    play: '',
    facts: {},
    pool: null,
    ...more,
  }
}

/** Revisions of one key are passed in the order of their validity. */
export function catalogueOf(
  rates: RateRevision[],
  plans: PlanRevision[],
  services: ServiceRevision[] = [],
  taxes: TaxRevision[] = [],
): Catalogue {
  const grouped = <T>(items: T[], keyOf: (item: T) => string): Map<string, T[]> => {
    const groups = new Map<string, T[]>()
    for (const item of items) {
      const key = keyOf(item)
      groups.set(key, [...(groups.get(key) ?? []), item])
    }
    return groups
  }
  return {
    revision: 1,
    rates: grouped(rates, ({ key }) => key),
    plans: grouped(plans, ({ name }) => name),
    services: grouped(services, ({ name }) => name),
    taxes: grouped(taxes, ({ key }) => key),
    prepaidIncludes: new Map(),
  }
}

/** A rating context over a catalogue: UTC, cycles from the first of the month, no taxes mapped. */
export function contextOf(catalogue: Catalogue, calculators: object = {}): RatingContext {
  const finder = new RateFinder(compileCalculators(calculators), ['{USAGET}'])
  finder.update([...catalogue.rates].map(([key, revisions]) => ({ key, revisions })))
  return {
    catalogue,
    finder,
    calendar: { zone: 'UTC', cycleDay: 1 },
    defaultTax: null,
    cycleAt: createCycleFinder('UTC', 1),
    mapTax: () => null,
    isFreeNumber: () => false,
  }
}
