/** Tax on the charge of a line, and the final price of the customer. */
import { type Fraction, fraction } from '../../domain/fraction.ts'
import type { QuoteCase, RateDocument, TaxDocument } from './case.ts'
import { exact, MICROS, product, roundedTo, shown, sum } from './exact.ts'
import { validAt, zoneOf } from './offer.ts'

/**
 * The tax of a rate, or null. Without a catalogue of taxes there is no tax. A case
 * has no mapping rules, so that `global` finds the default, and the fallback of a custom tax is
 * always needed.
 */
export function taxOf(
  testCase: QuoteCase,
  rate: RateDocument,
  atMs: number,
): TaxDocument | null | 'missing' {
  const all = testCase.catalogue.taxes ?? []
  const hint = rate.tax?.[0] ?? { type: 'vat', taxation: 'global' }
  if (all.length === 0 || hint.taxation === 'no') return null
  const defaultKey = testCase.config?.default_tax ?? 'DEFAULT_VAT'
  const key = hint.taxation === 'custom' ? hint.custom_tax : defaultKey
  const found = validAt(all, atMs, zoneOf(testCase)).find((tax) => tax.key === key)
  return found ?? 'missing'
}

/** An embedded tax raises the price itself. Rounding after tax scales price and tax. */
export function taxed(
  priceMicros: bigint,
  tax: TaxDocument | null,
  rate: RateDocument,
): { aprice: number; final_charge: number } {
  const price: Fraction = fraction(priceMicros, MICROS)
  const amount = product(price, exact(tax?.rate ?? 0))
  const total = sum(price, amount)
  const { rounding_type, rounding_decimals = 2, rounding_stage } = rate.rounding_rules ?? {}
  const isRounded = rounding_type !== undefined && rounding_type !== 'None'
  const final =
    isRounded && rounding_stage !== 'before_tax'
      ? roundedTo(total, rounding_type, rounding_decimals)
      : total
  const unrounded = tax?.embed_tax ? total : price
  // Price and tax are scaled alike, so that they still add up to the final price.
  const isScaled = total.over !== 0n
  const factor = isScaled ? product(final, fraction(total.under, total.over)) : fraction(1)
  return { aprice: shown(product(unrounded, factor)), final_charge: shown(final) }
}
