/**
 * The priced record (CDR) of one segment: absolute totals and a version, so that the newest wins.
 */
import type { Carried, CategoryPrice, Payment } from './segment-parts.ts'
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
  /** As in `ServiceRequest`. */
  serviceIdentifier: string
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
  /**
   * Micros: what groups of money paid; price to be paid; of it paid by no bucket, and of that what
   * the account owes.
   */
  coveredMicros: number
  charged: number
  debt: number
  accountDebt: number
  /** Whether units beyond the groups are `over_group`, and not `out_group`. */
  hasGroups: boolean
  /** How the price came about (SegmentStart): enough to compute it again by hand. */
  tariff: Tariff
  carried: Carried | null
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

/** How a balance operation came about, for people: nothing is decided by it. */
export interface OperationNote {
  /** By what the balance was chosen; absent where an operator named it to the command line. */
  chargingType?: 'Id' | 'Prepaidinclude' | 'Chargingplan' | 'Secret'
  /** Name of the charging plan, or id of the card. */
  sourceRef?: string
  /** Stamp of the line of the operation that it is a part of. */
  parentRef?: string
  /** What the caller wants to be on record: plain JSON. */
  additional?: Readonly<Record<string, unknown>>
}

/** Units or micros by which a correction makes the lines even with the ledger; of either sign. */
export interface MendedSums {
  credited: number
  spent: number
  /** Debt of the owner, micros. */
  owed: number
  repaid: number
}

/** The record of a balance operation (top-up, adjustment). Optional fields are absent if unused. */
export interface OperationLine extends OperationNote {
  stamp: string
  aid: number
  sid: number
  operationId: string
  /** Its mode (credit.ts, credit-moves.ts). */
  operation: string
  /** 0 for a heading, which moves nothing. */
  bucketId: number
  prepaidIncludeId: number
  kind: 'units' | 'money'
  usaget: string
  /** Units or micros, credit positive. */
  amount: number
  /** What was asked for, where that is not the amount: the aim of `set`, or what was clamped. */
  asked?: number
  /** By how much less was credited than asked for. */
  normalized?: number
  /** Of a counter: its name and total, and how much it has counted elsewhere. */
  counter?: string
  limit?: number
  counted?: number
  /** Of a correction: what it adds to the sums of lines, which its amount says of all others. */
  mended?: MendedSums
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
