/** Finds the rate of a service by key, and its price for the subscriber's plan. */
import {
  type Catalogue,
  type PlanRevision,
  type RateRevision,
  revisionAt,
} from '../domain/catalogue.ts'
import type { Tariff } from '../domain/tariff.ts'
import type { RateKeyFields, RateKeyTemplate } from './match/rate-keys.ts'

export { compileRateKey, type RateKeyFields, type RateKeyTemplate } from './match/rate-keys.ts'

export interface RateMatch {
  rate: RateRevision
  tariff: Tariff
}

/**
 * The first rate, by the templates in order, that is valid at the instant and prices the usage type
 * for the plan. Null if there is none, or the plan disallows it.
 */
export function matchRate(
  catalogue: Catalogue,
  templates: readonly RateKeyTemplate[],
  plan: PlanRevision,
  fields: RateKeyFields,
  atMs: number,
): RateMatch | null {
  for (const template of templates) {
    const key = template(fields)
    if (key === null) continue
    const rate = revisionAt(catalogue.rates.get(key), atMs)
    const usage = rate?.usages.get(fields.usaget)
    if (rate === null || usage === undefined) continue
    const tariff = usage.plans.get(plan.name) ?? usage.base
    if (tariff === null || plan.disallowedRates.has(key)) return null
    return { rate, tariff }
  }
  return null
}
