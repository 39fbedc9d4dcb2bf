/** A price model: the rule by which tiers yield a price. One file each, listed in models.ts. */
import type { Sale, Tier } from './tier.ts'

/**
 * The units to price are those from `start`, in the scale of the tiers; the ones before it are paid
 * for.
 */
export interface PriceModel {
  /** Identity in stored sessions and lines, which never changes. */
  readonly code: number
  /** For the documentation of the API. */
  readonly about: string
  /** Whether more units may cost less. A price falls only at the start of a tier. */
  readonly canFall: boolean
  /** Fields of tiers that have the same value in all prices. */
  readonly fixed?: Partial<Pick<Tier, 'interval' | 'ceil'>>
  /** Whether an interval that begins in a tier may end in a later one. */
  readonly crossesTiers?: boolean
  /** Whether another tariff continues from the money that was paid, not from the units sold. */
  readonly isCredited?: boolean
  /** The price of one or more units, in the scale of the prices; -1 if it is no safe integer. */
  price(tiers: readonly Tier[], start: number, units: number): number
  /** The same price, exact: for the explanation, and for amounts beyond the safe integers. */
  sales(tiers: readonly Tier[], start: bigint, units: bigint): Sale[]
  /** Units beyond `end` that are paid for, because an interval has begun. */
  sold(tiers: readonly Tier[], start: number, end: number): number
}
