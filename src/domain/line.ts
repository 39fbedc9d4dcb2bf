/** The line (CDR) of one segment: absolute totals and a version, so that the newest one wins. */
import type { Counts } from './counts.ts'
import type { ServiceIdentity, SessionIdentity } from './identity.ts'
import type { Pricing } from './segment-parts.ts'

export interface Line {
  /** Identifies the segment: session, opening, service, segment number. */
  stamp: string
  version: number
  /** Shared with the session, its service and the segment: never changed. */
  session: Readonly<SessionIdentity>
  service: Readonly<ServiceIdentity>
  pricing: Pricing
  counts: Readonly<Counts>
  /**
   * `open` while the segment may grow, then the reason of its end. Usage reported after expiry may
   * extend an `expired` one once more.
   */
  state: 'open' | 'ended' | 'closed' | 'expired'
}

/** Information for people about the cause of a balance operation. Has no effect. */
export interface OperationNote {
  /** How the balance was selected; absent if an operator named it on the command line. */
  chargingType?: 'Id' | 'Prepaidinclude' | 'Chargingplan' | 'Secret'
  /** Name of the charging plan, or id of the card. */
  sourceRef?: string
  /** Stamp of the line of the parent operation. */
  parentRef?: string
  /** Data that the caller wants to record: plain JSON. */
  additional?: Readonly<Record<string, unknown>>
}

/**
 * Units or micros by which a correction makes the lines agree with the ledger; positive or
 * negative.
 */
export interface MendedSums {
  credited: number
  spent: number
  /** Debt of the owner, micros. */
  owed: number
  repaid: number
}

/** The operation by which lines get new prices: the lines have its amounts. */
export const RERATE = 'rerate'

/** The line of a balance operation (top-up, adjustment). Unused optional fields are absent. */
export interface OperationLine extends OperationNote {
  stamp: string
  aid: number
  sid: number
  operationId: string
  /** Mode of the operation (credit.ts, balance-operations.ts). */
  operation: string
  /** 0 for a heading, which moves nothing. */
  bucketId: number
  prepaidIncludeId: number
  kind: 'units' | 'money'
  usaget: string
  /** Units or micros, credit positive. */
  amount: number
  /**
   * The requested amount, if it differs: the target of `set`, or the amount before it was limited.
   */
  asked?: number
  /** By how much the credited amount is less than the requested one. */
  normalized?: number
  /** For a counter: its name, its total, and the usage counted elsewhere. */
  counter?: string
  limit?: number
  counted?: number
  /**
   * For a correction: what it adds to the sums of lines. For all other operations that is the
   * amount.
   */
  mended?: MendedSums
  before: number
  after: number
  /** Part of the amount that repaid debt, micros. */
  repaid: number
  atMs: number
  /** Version of the owner after the operation, and the terms of its bucket from then on. */
  version: number
  priority: number
  fromMs: number
  toMs: number
}
