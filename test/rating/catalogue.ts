import type {
  Catalogue,
  PlanRevision,
  RateRevision,
  SubscriberProfile,
} from '../../src/domain/catalogue.ts'
import { type Tariff, UNLIMITED } from '../../src/domain/tariff.ts'

/** `10/60+5`: 10 micros for each begun interval of 60 units, and an access price of 5. */
export function tariffFrom(text: string): Tariff {
  const [price = '', access = '0'] = text.split('+')
  const [micros, interval] = price.split('/').map(Number)
  return {
    tiers: [{ units: UNLIMITED, interval: interval!, price: micros!, ceil: true }],
    access: Number(access),
    extraDigits: 0,
  }
}

export function rateOf(
  key: string,
  usaget: string,
  base: string | null,
  more: Partial<RateRevision> & { plansPrices?: Record<string, string> } = {},
): RateRevision {
  const { plansPrices = {}, ...rest } = more
  const plans = new Map(
    Object.entries(plansPrices).map(([plan, price]) => [plan, tariffFrom(price)]),
  )
  const usages = new Map([[usaget, { base: base === null ? null : tariffFrom(base), plans }]])
  return { id: `${key}@0`, key, fromMs: 0, toMs: 1e12, usages, ...rest }
}

export function planOf(name: string, more: Partial<PlanRevision> = {}): PlanRevision {
  return {
    ...{ id: `${name}@0`, name, fromMs: 0, toMs: 1e12 },
    ...{ connectionType: 'prepaid', disallowedRates: new Set<string>() },
    ...more,
  }
}

export function profileOf(more: Partial<SubscriberProfile> = {}): SubscriberProfile {
  return {
    ...{ id: 'profile', fromMs: 0, toMs: 1e12, aid: 1, sid: 7, plan: 'PREPAID', barred: false },
    ...more,
  }
}

/** Revisions of one key are given in the order of their validity. */
export function catalogueOf(rates: RateRevision[], plans: PlanRevision[]): Catalogue {
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
    prepaidIncludes: new Map(),
  }
}
