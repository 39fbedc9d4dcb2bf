/** Payments and prices of a segment, which its line contains as well. */
import type { OwnerSlot } from './bucket.ts'
import type { PricePosition, Tariff } from './tariff.ts'

/**
 * What one bucket paid for a segment, absolute. `limit`: counted against a limit of the account
 * beside the payment itself. `creditedUnits`, `creditedMoney`: credited to the bucket by a refund
 * without an earlier event, and therefore negative.
 */
export interface Payment {
  owner: OwnerSlot
  bucketId: number
  prepaidIncludeId: number
  kind: 'units' | 'money' | 'limit' | 'creditedUnits' | 'creditedMoney'
  amount: number
  /** The counter that it is; empty for prepaid credit. */
  counter: string
  /** Of a counter: what it had left after this segment's last change, and its total. */
  left: number
  total: number
}

/** The price of one more tariff category (wholesale and the like) beside the retail one. */
export interface CategoryPrice {
  category: string
  rateKey: string
  tariff: Tariff
  /** Whether it is part of what the customer pays (`add_to_retail`). */
  isAdded: boolean
}

/** State carried over from earlier segments of the service: the course of prices, and payments. */
export interface Carried {
  /** Courses of the units priced for the customer, and of those covered by money of groups. */
  priced: PricePosition
  covered: PricePosition
  /** Courses of the other categories, in the order of the segment's. */
  others: PricePosition[]
  /** Units at the start of the segment that lie in an interval already paid for. */
  pricedSold: number
  coveredSold: number
  /** Payments and debt that a volume price may return; empty and 0 for other prices. */
  payments: Payment[]
  debt: number
  /** The part of `debt` that the account owes. */
  accountDebt: number
}
