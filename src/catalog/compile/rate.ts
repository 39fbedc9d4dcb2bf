/** Rates. Pure; throws `FieldError` with the path of the field. */
import { type PriceSet, type RateRevision, type RateUsage, RETAIL } from '../../domain/catalogue.ts'
import { FieldIssues, readAll, readEach } from '../../domain/field-errors.ts'
import { FieldError, type Fields, isEmpty, objectAt } from '../../domain/fields.ts'
import { PRICING_METHODS } from '../../domain/pricing/models.ts'
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
  const rate = document as RawDocument & RateDocument
  // The schema refuses any other value.
  const method = PRICING_METHODS.find((name) => name === rate.pricing_method) ?? 'tiered'
  const category = rate.tariff_category ?? RETAIL
  const issues = new FieldIssues()
  const rounding =
    issues.attempt(() => usageRoundingAt(rate.rounding_rules, 'rounding_rules')) ?? null
  const { usages, taxHints } = readAll({
    schema: () => checkSchema(RateSchema, document),
    rounding: () => issues.throwIfAny(),
    usages: () => usagesOf(rate.rates, { ...options, terms: { method, rounding } }),
    taxHints: () => taxHintsAt(rate.tax, 'tax'),
  })
  return {
    ...revisionOf(rate),
    key: rate.key,
    usages,
    method,
    category,
    addToRetail: category === RETAIL || rate.add_to_retail === true,
    play: rate.play ?? '',
    params: paramsOf(document, NO_PARAMS),
    taxHints,
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
  const usages = readEach(Object.entries(objectAt(rates, 'rates')), ([usaget, prices]) => {
    const path = `rates.${usaget}`
    checkUsageType(usaget, path)
    return [usaget, compileUsage(prices, path, context)] as const
  })
  if (usages.length === 0) throw new FieldError('rates', 'must have at least one usage type')
  return new Map(usages)
}

function compileUsage(document: unknown, path: string, context: PriceContext): RateUsage {
  const { BASE, ...others } = objectAt(document, path)
  const issues = new FieldIssues()
  const priced =
    BASE === undefined ? null : issues.attempt(() => compilePrice(BASE, `${path}.BASE`, context))
  const plans = new Map<string, PriceSet>()
  for (const [name, value] of Object.entries(others)) {
    const at = `${path}.${name}`
    // Limits of a single grant are stored next to the prices but are not plans.
    if (name.startsWith('prepaid_granted_') && isEmpty(value)) continue
    const price = issues.attempt(() => planPrice(priced, name, value, at, context))
    if (price !== undefined) plans.set(name, price)
  }
  issues.throwIfAny()
  const base = priced ?? null
  // Stored rates may rely on prices of plans or services alone; written ones must have a price.
  if (context.isStrict && base === null && plans.size === 0) {
    throw new FieldError(path, 'must have a price: BASE or a plan')
  }
  return { base, plans }
}

/** `base`: null without one, undefined if it is invalid. */
function planPrice(
  base: PriceSet | null | undefined,
  name: string,
  value: unknown,
  path: string,
  context: PriceContext,
): PriceSet | undefined {
  if (name.startsWith('prepaid_granted_')) throw new FieldError(path, 'is not supported yet')
  const price = objectAt(value, path)
  if (price['percentage'] === undefined) return compilePrice(price, path, context)
  return percentageOf(base, price, path)
}

function percentageOf(
  base: PriceSet | null | undefined,
  price: Fields,
  path: string,
): PriceSet | undefined {
  const { factor, factorDigits } = percentageAt(price, path)
  if (base === undefined) return undefined
  if (base === null) throw new FieldError(`${path}.percentage`, 'has no BASE price to refer to')
  return {
    tariff: scaledTariff(base.tariff, factor, factorDigits),
    bands: base.bands.map((band) => ({
      ...band,
      tariff: scaledTariff(band.tariff, factor, factorDigits),
    })),
  }
}
