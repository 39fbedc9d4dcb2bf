/** Payments and prices of a segment, which its line contains as well. */
import type { OwnerSlot } from './bucket.ts'
import type { PricePosition, Tariff } from './tariff.ts'
import type { LineRounding, TaxRule } from './tax.ts'

/**
 * The price terms of a segment, in enough detail to recompute its line by hand. Shared by the
 * segments and lines with these terms, and therefore never changed.
 */
export interface Pricing {
  readonly rateKey: string
  readonly plan: string
  /** Cycle key (`billrun_key`), YYYYMM. */
  readonly cycle: string
  readonly tariff: Tariff
  /**
   * Source of the price: `BASE`, `plan NAME`, `service NAME`, `rate NAME` (for a plan), or
   * `RECORD_PRICE`.
   */
  readonly priceOf: string
  /** Time band of the price; empty for the plain one. */
  readonly band: string
  /** Prices of further tariff categories, which apply to all units. */
  readonly others: CategoryPrice[]
  readonly taxes: TaxRule[]
  /** Rounding of the final charge of its line; null if it is not rounded. */
  readonly rounding: LineRounding | null
}

/** Source of the price of a usage record that has its price, which the catalogue does not know. */
export const RECORD_PRICE = 'RECORD'

/** The terms of a rate's own price, without taxes and other categories. */
export function plainPricing({
  rateKey,
  plan,
  cycle,
  tariff,
}: Pick<Pricing, 'rateKey' | 'plan' | 'cycle' | 'tariff'>): Pricing {
  return {
    rateKey,
    plan,
    cycle,
    tariff,
    priceOf: 'BASE',
    band: '',
    others: [],
    taxes: [],
    rounding: null,
  }
}

/** The same terms with other tariffs. Field by field, so that all have one hidden class. */
export function withTariffs(pricing: Pricing, tariff: Tariff, others: CategoryPrice[]): Pricing {
  return {
    rateKey: pricing.rateKey,
    plan: pricing.plan,
    cycle: pricing.cycle,
    tariff,
    priceOf: pricing.priceOf,
    band: pricing.band,
    others,
    taxes: pricing.taxes,
    rounding: pricing.rounding,
  }
}

/**
 * The total that one bucket paid for a segment. `limit`: counted against an account limit in
 * addition to the payment itself. `creditedUnits`, `creditedMoney`: credited to the bucket by a
 * refund without an earlier event or by a price that falls, and therefore negative.
 */
export interface Payment {
  owner: OwnerSlot
  bucketId: number
  prepaidIncludeId: number
  kind: 'units' | 'money' | 'limit' | 'creditedUnits' | 'creditedMoney'
  amount: number
  /** Name of the counter; empty for prepaid credit. */
  counter: string
  /** For a counter: its remaining amount after the last change of this segment, and its total. */
  left: number
  total: number
}

/** The price in another tariff category than retail, such as wholesale. */
export interface CategoryPrice {
  category: string
  rateKey: string
  tariff: Tariff
  /** Whether it is part of what the customer pays (`add_to_retail`). */
  isAdded: boolean
}

/** State carried over from earlier segments of the service: price positions and payments. */
export interface Carried {
  /** Positions of charged units, and of units paid by included money. */
  priced: PricePosition
  covered: PricePosition
  /** Positions of the other categories, in the order of those of the segment. */
  others: PricePosition[]
  /** Units at the start of the segment that lie in an interval already paid for. */
  pricedSold: number
  coveredSold: number
  /** Payments and debt that a price may return if it can fall; empty and 0 for other prices. */
  payments: Payment[]
  debt: number
  /** The part of `debt` that belongs to the account. */
  accountDebt: number
}
