/** Finds the rate of a service by key, and its price for the subscriber's plan. */
import {
  type Catalogue,
  type PlanRevision,
  type RateRevision,
  revisionAt,
} from '../domain/catalogue.ts'
import type { Tariff } from '../domain/tariff.ts'

/** The fields that a rate key may be made of. */
export interface RateKeyFields {
  usaget: string
  /** -1 if the request named none. */
  ratingGroup: number
}

/** Makes a candidate rate key from the fields; null if a field it needs is absent. */
export type RateKeyTemplate = (fields: RateKeyFields) => string | null

export interface RateMatch {
  rate: RateRevision
  tariff: Tariff
}

/**
 * Compiles a template of `rating.rateKeys`, such as `{USAGET}_{rating_group}`. Throws if it names a
 * placeholder that does not exist.
 */
export function compileRateKey(template: string): RateKeyTemplate {
  const parts = template.split(/(\{[^}]*\})/).filter((part) => part !== '')
  const makers = parts.map((part): ((fields: RateKeyFields) => string | null) => {
    switch (part) {
      case '{usaget}':
        return (fields) => fields.usaget
      case '{USAGET}':
        return (fields) => fields.usaget.toUpperCase()
      case '{rating_group}':
        return (fields) => (fields.ratingGroup < 0 ? null : String(fields.ratingGroup))
      default:
        if (part.startsWith('{')) throw new Error(`rating.rateKeys: unknown placeholder ${part}`)
        return () => part
    }
  })
  return (fields) => {
    let key = ''
    for (const make of makers) {
      const text = make(fields)
      if (text === null) return null
      key += text
    }
    return key
  }
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
