/** Rates. Pure; throws `FieldError` with the path of the field. */
import { type PriceSet, type RateRevision, type RateUsage, RETAIL } from '../../domain/catalogue.ts'
import { FieldError, type Fields, isEmpty, objectAt } from '../../domain/fields.ts'
import { scaledTariff } from '../../domain/tariff-terms.ts'
import { checkSchema } from '../entities/entity.ts'
import { type PricesDocument, type RateDocument, RateSchema } from '../entities/rate.ts'
import { checkUsageType, LENIENT, paramsOf, type RawDocument, revisionOf } from './document.ts'
import { createInterner } from './interner.ts'
import { compilePrice, percentageAt } from './price.ts'
import { usageRoundingAt } from './rounding.ts'
import type { PriceContext } from './tariff.ts'
import { taxHintsAt } from './tax.ts'

/** Fields that matching rules do not compare; keeping them would waste memory. */
const NO_PARAMS = new Set([
  'rates',
  'tax',
  'rounding_rules',
  'pricing_method',
  'description',
  'invoice_label',
])

export function compileRate(document: RawDocument, options = LENIENT): RateRevision {
  checkSchema(RateSchema, document)
  const rate = document as RawDocument & RateDocument
  const method = rate.pricing_method ?? 'tiered'
  const rounding = usageRoundingAt(rate.rounding_rules, 'rounding_rules')
  const category = rate.tariff_category ?? RETAIL
  return {
    ...revisionOf(rate),
    key: rate.key,
    usages: usagesOf(rate.rates, { ...options, terms: { method, rounding } }),
    method,
    category,
    addToRetail: category === RETAIL || rate.add_to_retail === true,
    play: rate.play ?? '',
    params: paramsOf(document, NO_PARAMS),
    taxHints: taxHintsAt(rate.tax, 'tax'),
    rounding,
  }
}

const interned = createInterner<ReadonlyMap<string, RateUsage>>(10_000)

function usagesOf(rates: PricesDocument, context: PriceContext): ReadonlyMap<string, RateUsage> {
  return interned.get([rates, context], () => compileUsages(rates, context))
}

function compileUsages(
  rates: PricesDocument,
  context: PriceContext,
): ReadonlyMap<string, RateUsage> {
  const usages = new Map<string, RateUsage>()
  for (const [usaget, prices] of Object.entries(rates)) {
    const path = `rates.${usaget}`
    checkUsageType(usaget, path)
    usages.set(usaget, compileUsage(prices, path, context))
  }
  if (usages.size === 0) throw new FieldError('rates', 'must have at least one usage type')
  return usages
}

function compileUsage(document: unknown, path: string, context: PriceContext): RateUsage {
  const { BASE, ...others } = objectAt(document, path)
  const base = BASE === undefined ? null : compilePrice(BASE, `${path}.BASE`, context)
  const plans = new Map<string, PriceSet>()
  for (const [name, value] of Object.entries(others)) {
    const at = `${path}.${name}`
    // Limits of a single grant are stored next to the prices but are not plans.
    if (name.startsWith('prepaid_granted_')) {
      if (isEmpty(value)) continue
      throw new FieldError(at, 'is not supported yet')
    }
    const price = objectAt(value, at)
    const isPart = price['percentage'] !== undefined
    plans.set(name, isPart ? percentageOf(base, price, at) : compilePrice(price, at, context))
  }
  // Stored rates may rely on prices of plans or services alone; written ones must have a price.
  if (context.isStrict && base === null && plans.size === 0) {
    throw new FieldError(path, 'must have a price: BASE or a plan')
  }
  return { base, plans }
}

function percentageOf(base: PriceSet | null, price: Fields, path: string): PriceSet {
  const { factor, factorDigits } = percentageAt(price, path)
  if (base === null) throw new FieldError(`${path}.percentage`, 'has no BASE price to refer to')
  return {
    tariff: scaledTariff(base.tariff, factor, factorDigits),
    bands: base.bands.map((band) => ({
      ...band,
      tariff: scaledTariff(band.tariff, factor, factorDigits),
    })),
  }
}
