/** What changes a tariff after it was compiled: rules of the rate, and parts of its price. Pure. */
import type { RoundingRules } from './catalogue.ts'
import { MICROS_DIGITS } from './money.ts'
import type { PriceRounding, Tariff, TariffTerms } from './tariff.ts'

/** Terms that change nothing. */
export const PLAIN_TERMS: TariffTerms = Object.freeze({
  method: 'tiered',
  unitScale: 1,
  factor: 1,
  factorDigits: 0,
  minimum: 0,
  rounding: null,
})

/** What a rate says of all its prices, also of those that plans and services put in their place. */
export interface RateTerms {
  method: TariffTerms['method']
  rounding: RoundingRules | null
}

/** With the terms; null where they change nothing, so that the hot path takes the short way. */
export function withTerms(tariff: Tariff, terms: TariffTerms): Tariff {
  const isPlain =
    terms.method === 'tiered' &&
    terms.unitScale === 1 &&
    terms.factor === 10 ** terms.factorDigits &&
    terms.minimum === 0 &&
    terms.rounding === null
  return { ...tariff, terms: isPlain ? null : terms }
}

/**
 * The part factor × 10^-digits of the whole price, access included (spec/entity-api.md 4.5).
 * Throws `RangeError` if a part of a part is no safe integer.
 */
export function scaledTariff(tariff: Tariff, factor: number, digits: number): Tariff {
  const terms = tariff.terms ?? PLAIN_TERMS
  const product = terms.factor * factor
  if (!Number.isSafeInteger(product)) throw new RangeError('a factor of a price exceeds 2^53')
  return withTerms(tariff, { ...terms, factor: product, factorDigits: terms.factorDigits + digits })
}

/** A price of a plan or service under the rules of the rate that it stands in for. */
export function withRateTerms(tariff: Tariff, { method, rounding }: RateTerms): Tariff {
  const terms = tariff.terms ?? PLAIN_TERMS
  return withTerms(tariff, { ...terms, method, rounding: priceRounding(rounding) })
}

/** Rounding of the price itself, in micros. Rules for after tax do not touch it. */
export function priceRounding(rules: RoundingRules | null): PriceRounding | null {
  if (rules === null || rules.stage === 'after_tax') return null
  return { mode: rules.mode, step: 10 ** (MICROS_DIGITS - rules.decimals) }
}
