/** The documents of rerating: an account in a cycle, planned before it is done. */
import type { Binary, IndexDescription, ObjectId } from 'mongodb'

/** Decimals: before tax, and with it. */
export interface RerateAmounts {
  readonly aprice: string
  readonly final_charge: string
}

/** A line that cannot be priced again exactly. */
export interface RefusedLine {
  readonly stamp: string
  readonly reason: string
  readonly text: string
}

/** The invoice of the cycle. */
export interface RerateInvoice {
  readonly id: number
  readonly state: 'computed' | 'confirmed' | 'not_for_bill'
}

/** Lines with other prices, and sums of their differences. */
export interface RerateSums {
  readonly changed: number
  readonly difference: RerateAmounts
  /** The part of it that is on a confirmed invoice. */
  readonly on_confirmed: RerateAmounts
}

/** A counter from which new payments of lines are paid. */
export interface PlannedCounter {
  /** 0 for one of the account. */
  readonly sid: number
  readonly counter: string
  readonly kind: 'units' | 'cost' | 'totalCost'
  readonly fromMs: number
  readonly toMs: number
  readonly limit: number
  /** Sum of the new payments, units or micros. */
  readonly amount: number
}

/** The sum of the former payments of the lines from a bucket. */
export interface FreedAmount {
  readonly sid: number
  readonly bucket: number
  readonly amount: number
}

/** By how much totals of usage differ, by the measures of such totals. */
export interface TotalsChange {
  readonly sid: number
  readonly usaget: string
  readonly cost: number
  readonly over_group: number
  readonly out_group: number
}

/** Lines that are committed together: everything that a repetition of the commit needs. */
export interface RerateChunk extends RerateSums {
  readonly at: Date
  /**
   * New versions of lines, packed as for the recorder. The bucket of a payment is the position of
   * its counter in `counters`, from 1.
   */
  readonly lines: Binary
  readonly counters: readonly PlannedCounter[]
  readonly freed: readonly FreedAmount[]
  readonly totals: readonly TotalsChange[]
  /** Start of the cycle, which the counters of totals begin with. */
  readonly cycleMs: number
}

export interface RerateDocument extends RerateSums {
  /** Job or queued request, account and cycle: the id of the ledger operation has it. */
  _id: string
  job: ObjectId
  readonly aid: number
  readonly cycle: string
  readonly invoice: RerateInvoice | null
  /** Lines of usage in the cycle. */
  readonly lines: number
  readonly refused: readonly RefusedLine[]
  /**
   * `planned`: its chunk is being committed; `partial`: committed, further lines follow. The others
   * are final.
   */
  readonly state: 'planned' | 'partial' | 'applied' | 'unchanged' | 'refused'
  /** Number of the chunk, from 1; 0 without one. */
  readonly seq: number
  /** Sums of the chunks that are committed. */
  readonly done: RerateSums
  readonly chunk: RerateChunk | null
}

export const RERATE_INDEXES: readonly IndexDescription[] = [
  { key: { job: 1, aid: 1, cycle: 1 } },
  { key: { state: 1 } },
]
