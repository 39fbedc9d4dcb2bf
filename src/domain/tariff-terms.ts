/** Changes to a compiled tariff: rules of the rate, and percentages. Pure. */
import type { RoundingRules } from './catalogue.ts'
import { MICROS_DIGITS } from './money.ts'
import { modelOf } from './pricing/models.ts'
import type { PriceRounding, Tariff, TariffTerms } from './tariff.ts'

/** Terms without any effect. */
export const PLAIN_TERMS: TariffTerms = Object.freeze({
  method: 'tiered',
  unitScale: 1,
  factor: 1,
  factorDigits: 0,
  minimum: 0,
  rounding: null,
})

/** Rules of a rate for all its prices, including those by which plans and services replace them. */
export interface RateTerms {
  method: TariffTerms['method']
  rounding: RoundingRules | null
}

/** A copy with the terms; null if they have no effect, so that the hot path is shorter. */
export function withTerms(tariff: Tariff, terms: TariffTerms): Tariff {
  const isPlain =
    terms.method === 'tiered' &&
    terms.unitScale === 1 &&
    terms.factor === 10 ** terms.factorDigits &&
    terms.minimum === 0 &&
    terms.rounding === null
  const { fixed } = modelOf(terms)
  const tiers = fixed ? tariff.tiers.map((tier) => ({ ...tier, ...fixed })) : tariff.tiers
  return { ...tariff, tiers, terms: isPlain ? null : terms }
}

/**
 * Scales the whole price, including the access price, by factor × 10^-digits. Throws `RangeError`
 * if the combined factor is not a safe integer.
 */
export function scaledTariff(tariff: Tariff, factor: number, digits: number): Tariff {
  const terms = tariff.terms ?? PLAIN_TERMS
  const product = terms.factor * factor
  if (!Number.isSafeInteger(product)) throw new RangeError('a factor of a price exceeds 2^53')
  return withTerms(tariff, { ...terms, factor: product, factorDigits: terms.factorDigits + digits })
}

/** A price of a plan or service with the rules of the rate that it replaces. */
export function withRateTerms(tariff: Tariff, { method, rounding }: RateTerms): Tariff {
  const terms = tariff.terms ?? PLAIN_TERMS
  return withTerms(tariff, { ...terms, method, rounding: priceRounding(rounding) })
}

/** Rounding of the price before tax, in micros. Null for rules that apply after tax. */
export function priceRounding(rules: RoundingRules | null): PriceRounding | null {
  if (rules === null || rules.stage === 'after_tax') return null
  return { mode: rules.mode, step: 10 ** (MICROS_DIGITS - rules.decimals) }
}
