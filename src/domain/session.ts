/**
 * A session as it is stored between requests: what is reserved, what was priced, and the last
 * answer.
 */
import type { BucketRef, FundingSource } from './bucket.ts'
import type { ChargeOutcome } from './charge-outcome.ts'
import type { CreditControlClient } from './charge-request.ts'
import type { Carried, CategoryPrice, Payment } from './segment-parts.ts'
import type { Tariff } from './tariff.ts'
import type { LineRounding, TaxRule } from './tax.ts'

/**
 * `denied`: the start got nothing, so the session never opened. All but `open` are tombstones that
 * keep the last answers for `replayMs`; one that is `expired` also keeps its services, so that
 * usage which is reported late finds its price.
 */
export type SessionState = 'open' | 'closed' | 'expired' | 'denied'

/** Units of a grant, in the order in which they will be used. */
export interface Slice {
  /** The bucket or counter of units that holds them, or null: they are paid from `money`. */
  bucket: BucketRef | null
  units: number
  /** Priced and paid from money that a group includes: no part of the price of the segment. */
  isCovered: boolean
}

/** Money held in one bucket. */
export interface MoneyHold {
  source: FundingSource
  micros: number
}

/** What a grant holds in the buckets. */
export interface Reservation {
  /** Units granted and not yet reported: the sum of the slices. */
  units: number
  slices: Slice[]
  money: MoneyHold[]
}

/** What a new segment starts from: everything that pricing depends on. */
export interface SegmentStart {
  /** Equal keys continue a segment: rate revisions, plan, override, time band, cycle. */
  key: string
  rateKey: string
  plan: string
  /** Cycle key (`billrun_key`), YYYYMM. */
  cycle: string
  tariff: Tariff
  /** Where the price comes from: `BASE`, `plan NAME`, `service NAME` or `rate NAME` (its plan). */
  priceOf: string
  /** Time band of the price; empty for the plain one. */
  band: string
  /** Prices of further tariff categories, on all units. */
  others: CategoryPrice[]
  taxes: TaxRule[]
  /** How the final charge of its line is rounded; null: not. */
  rounding: LineRounding | null
  /** Whether units beyond the groups are `over_group`: some group is meant for such usage. */
  hasGroups: boolean
  /** The groups that include it, in order, then the credit of a postpaid subscriber. */
  fundingSources: FundingSource[]
  /** Whether prepaid buckets pay for what no group covers; else credit does. */
  isPrepaid: boolean
  /** When its cycle or time band ends, epoch ms. */
  endMs: number
}

/** Session, service and the key of its start: the unit of pricing and of lines. */
export interface Segment extends SegmentStart {
  /** Counts the segments of the service, from 1. */
  number: number
  /** Grows by one with each change that reaches the line. */
  version: number
  /** Null if the price starts with this segment. */
  carried: Carried | null
  /** Whether this segment bears the access price. */
  access: boolean
  /**
   * Units used so far; of them covered by groups of units, and by groups of money; of the rest
   * priced with money.
   */
  used: number
  grouped: number
  covered: number
  priced: number
  /** Micros: price of the units that groups of money covered, and of the segment to be paid. */
  coveredMicros: number
  charged: number
  /** Part of `charged` that no bucket could pay; of it, what the account owes (debt.ts). */
  debt: number
  accountDebt: number
  /** Returned to buckets that had expired meanwhile, units and micros. */
  lapsedUnits: number
  lapsedMicros: number
  payments: Payment[]
  /** Event times, epoch ms. */
  firstMs: number
  lastMs: number
  /** Whether usage of it was reported after the session had expired. */
  late: boolean
}

export interface ServiceSession {
  ratingGroup: number
  /** As in `ServiceRequest`. */
  serviceIdentifier: string
  usaget: string
  calledNumber: string
  /**
   * Whether a segment that has ended bore the access price: it is due once per session and service.
   */
  accessCharged: boolean
  /** The same of other categories, which price every unit: due with the first one used. */
  othersAccessCharged: boolean
  /** Of a report without usage after the last usage of the segment, epoch ms; 0 if none. */
  reportedMs: number
  /** Units of all reports so far. */
  usedTotal: number
  /** What the segments that have ended cost, micros. */
  endedMicros: number
  segmentsEnded: number
  segment: Segment | null
  reservation: Reservation
}

/** A request that was answered, for replay. */
export interface AnsweredRequest {
  /** -1 if the dialect carries no number: then the digest alone identifies it. */
  requestNumber: number
  digest: number
  outcome: ChargeOutcome
}

export interface Session {
  aid: number
  sid: number
  origin: string
  sessionId: string
  state: SessionState
  openedMs: number
  /** From the latest request that identified it; null if no request has. */
  client: CreditControlClient | null
  /** When an open session expires, or a tombstone is dropped; by the node's clock. */
  expiresMs: number
  /** Highest request number so far; -1 if none. */
  lastNumber: number
  /** Counts the requests that were processed. */
  processed: number
  /** The last answer; for requests without a number, the last few, newest first. */
  answered: AnsweredRequest[]
  services: ServiceSession[]
}

/** A copy with these services, field by field: one shape for all sessions. */
export function withServices(session: Session, services: ServiceSession[]): Session {
  return {
    aid: session.aid,
    sid: session.sid,
    origin: session.origin,
    sessionId: session.sessionId,
    state: session.state,
    openedMs: session.openedMs,
    client: session.client,
    expiresMs: session.expiresMs,
    lastNumber: session.lastNumber,
    processed: session.processed,
    answered: session.answered,
    services,
  }
}
