/**
 * The priced record (CDR) of one segment: absolute totals and a version, so that the newest wins.
 */
import type { CategoryPrice, Payment } from './session.ts'
import type { Tariff } from './tariff.ts'
import type { LineRounding, TaxRule } from './tax.ts'

export interface Line {
  /** Identifies the segment: session, opening, service, segment number. */
  stamp: string
  version: number
  aid: number
  sid: number
  origin: string
  sessionId: string
  ratingGroup: number
  usaget: string
  calledNumber: string
  rateKey: string
  plan: string
  cycle: string
  /** Units used; of them covered by groups of units and of money; of the rest priced. */
  used: number
  grouped: number
  covered: number
  priced: number
  /** Micros: what groups of money paid; price to be paid; of it paid by no bucket. */
  coveredMicros: number
  charged: number
  debt: number
  /** Whether units beyond the groups are `over_group`, and not `out_group`. */
  hasGroups: boolean
  /** How the price came about (SegmentStart): enough to compute it again by hand. */
  tariff: Tariff
  access: boolean
  priceOf: string
  band: string
  others: CategoryPrice[]
  taxes: TaxRule[]
  rounding: LineRounding | null
  lapsedUnits: number
  lapsedMicros: number
  payments: Payment[]
  firstMs: number
  lastMs: number
  /**
   * `open` while the segment may grow; then why it ended. What is reported late makes an `expired`
   * one grow once more.
   */
  state: 'open' | 'ended' | 'closed' | 'expired'
  /** Usage of it was reported after the session had expired. */
  late: boolean
}

/** The record of a balance operation (top-up, adjustment). */
export interface OperationLine {
  stamp: string
  aid: number
  sid: number
  operationId: string
  operation: string
  bucketId: number
  prepaidIncludeId: number
  kind: 'units' | 'money'
  usaget: string
  /** Units or micros, credit positive. */
  amount: number
  before: number
  after: number
  /** Part of the amount that repaid debt, micros. */
  repaid: number
  atMs: number
  /** The owner's version that it made, and the terms of its bucket from then on. */
  version: number
  priority: number
  fromMs: number
  toMs: number
}
