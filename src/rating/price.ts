/**
 * The price of a usage at a rate: services take precedence over the plan, the plan over the rate.
 */
import {
  type PriceOverride,
  type PriceSet,
  type RateRevision,
  revisionAt,
  type Taxable,
  type TaxHint,
  type TaxRevision,
} from '../domain/catalogue.ts'
import { PriceRangeError, type Tariff } from '../domain/tariff.ts'
import { scaledTariff, withRateTerms } from '../domain/tariff-terms.ts'
import type { TaxRule } from '../domain/tax.ts'
import type { ActiveProducts } from './active-products.ts'
import type { TaxMapping } from './tax-mapping.ts'

export interface ChosenPrice {
  price: PriceSet
  /** Source for people, and identity of the override; empty for a price of the rate itself. */
  source: string
  id: string
}

/** Null if the rate has no price for this subscriber, which blocks it. */
export function choosePrice(
  { plan, offers }: ActiveProducts,
  rate: RateRevision,
  usaget: string,
): ChosenPrice | null {
  const usage = rate.usages.get(usaget)
  const planEntry = usage?.plans.get(plan.name)
  const own = planEntry ?? usage?.base ?? null
  for (const kind of ['service', 'plan'] as const) {
    for (const offer of offers) {
      if (offer.kind !== kind || !offer.isActive) continue
      const override = offer.prices.get(rate.key)?.get(usaget)
      if (override === undefined) continue
      const price = applied(override, usage?.base ?? own, rate)
      // The first override decides, even if it is a percentage of a price that does not exist.
      return price === null ? null : { price, source: `${kind} ${offer.name}`, id: offer.id }
    }
  }
  const source = planEntry === undefined ? 'BASE' : `rate ${plan.name}`
  return own === null ? null : { price: own, source, id: '' }
}

/** A percentage refers to `BASE`, and without it to the rate's price for the plan. */
function applied(
  override: PriceOverride,
  base: PriceSet | null,
  rate: RateRevision,
): PriceSet | null {
  if (override.kind === 'price') {
    const { price } = override
    if (rate.method === 'tiered' && rate.rounding === null) return price
    return derived(price, rate, (tariff) => withRateTerms(tariff, rate))
  }
  const { factor, factorDigits } = override
  if (base === null) return null
  return derived(base, override, (tariff) => scaledBy(tariff, factor, factorDigits))
}

function scaledBy(tariff: Tariff, factor: number, factorDigits: number): Tariff {
  try {
    return scaledTariff(tariff, factor, factorDigits)
  } catch (error) {
    if (error instanceof RangeError) throw new PriceRangeError(error.message)
    throw error
  }
}

/** Derived prices, by price and by the rate or override. They are the same for all subscribers. */
const derivedPrices = new WeakMap<PriceSet, WeakMap<object, PriceSet>>()

function derived(price: PriceSet, by: object, derive: (tariff: Tariff) => Tariff): PriceSet {
  let prices = derivedPrices.get(price)
  if (prices === undefined) {
    prices = new WeakMap()
    derivedPrices.set(price, prices)
  }
  let result = prices.get(by)
  if (result === undefined) {
    const bands = price.bands.map((band) => ({ ...band, tariff: derive(band.tariff) }))
    result = { tariff: derive(price.tariff), bands }
    prices.set(by, result)
  }
  return result
}

export interface TaxContext {
  taxes: ReadonlyMap<string, readonly TaxRevision[]>
  /** Key of the tax for rates that name none. Null if there is no default. */
  defaultTax: string | null
  mapTax: TaxMapping
}

const GLOBAL: TaxHint = {
  type: 'vat',
  taxation: 'global',
  customTax: '',
  customLogic: 'override',
}

/** The rate names no tax, and there is no default. */
const UNTAXED = 'untaxed'

/**
 * The taxes of a rate, plan or service. Null if a tax that it names, or the default, does not
 * exist. One without a tax is untaxed if there is no default.
 */
export function chooseTaxes(context: TaxContext, taxed: Taxable, atMs: number): TaxRule[] | null {
  const hints = taxed.taxHints.length === 0 ? [GLOBAL] : taxed.taxHints
  const rules: TaxRule[] = []
  for (const hint of hints) {
    if (hint.taxation === 'no') continue
    const tax = taxOf(context, hint, taxed, atMs)
    if (tax === null) return null
    if (tax === UNTAXED) continue
    const { key, description, rate: fraction, isEmbedded } = tax
    rules.push({ key, description, type: hint.type, rate: fraction, isEmbedded })
  }
  return rules
}

function taxOf(
  context: TaxContext,
  hint: TaxHint,
  taxed: Taxable,
  atMs: number,
): TaxRevision | typeof UNTAXED | null {
  const { defaultTax } = context
  const byKey = (key: string) => revisionAt(context.taxes.get(key), atMs)
  const byDefault = () => (defaultTax === null ? UNTAXED : byKey(defaultTax))
  if (hint.taxation === 'default') return byDefault()
  if (hint.taxation === 'global') return context.mapTax(taxed, atMs) ?? byDefault()
  // An installation without any taxes charges none, even if a rate names one.
  if (context.taxes.size === 0) return UNTAXED
  const isFallback = hint.customLogic === 'fallback'
  return (isFallback ? context.mapTax(taxed, atMs) : null) ?? byKey(hint.customTax)
}

/** Whether a rate is untaxed only because neither it nor the default names a tax. */
export function hasNoTax(context: TaxContext, rate: RateRevision, atMs: number): boolean {
  const hints = rate.taxHints.length === 0 ? [GLOBAL] : rate.taxHints
  return hints.some(
    (hint) => hint.taxation !== 'no' && taxOf(context, hint, rate, atMs) === UNTAXED,
  )
}

/** The period [sinceMs, untilMs) around an instant in which the same taxes are in force. */
export function taxesBetween(
  taxes: TaxContext['taxes'],
  atMs: number,
): { sinceMs: number; untilMs: number } {
  let sinceMs = Number.NEGATIVE_INFINITY
  let untilMs = Number.POSITIVE_INFINITY
  for (const revisions of taxes.values()) {
    for (const { fromMs, toMs } of revisions) {
      for (const boundaryMs of [fromMs, toMs]) {
        if (boundaryMs > atMs) untilMs = Math.min(untilMs, boundaryMs)
        else sinceMs = Math.max(sinceMs, boundaryMs)
      }
    }
  }
  return { sinceMs, untilMs }
}
