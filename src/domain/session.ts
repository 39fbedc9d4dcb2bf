/**
 * A session as it is stored between requests: what is reserved, what was priced, and the last
 * answer.
 */
import type { BucketRef, OwnerSlot } from './bucket.ts'
import type { ChargeOutcome } from './charge-outcome.ts'
import type { Tariff } from './tariff.ts'

/**
 * `denied`: the start got nothing, so the session never opened. All but `open` are tombstones that
 * keep the last answers for `replayMs`; one that is `expired` also keeps its services, so that
 * usage which is reported late finds its price.
 */
export type SessionState = 'open' | 'closed' | 'expired' | 'denied'

/** Units of a grant, in the order in which they will be used. */
export interface Slice {
  /** The units bucket that holds them, or null: they are priced and paid from `money`. */
  bucket: BucketRef | null
  units: number
}

/** Money held in one bucket. */
export interface MoneyHold {
  bucket: BucketRef
  micros: number
}

/** What a grant holds in the buckets. */
export interface Reservation {
  /** Units granted and not yet reported: the sum of the slices. */
  units: number
  slices: Slice[]
  money: MoneyHold[]
}

/** What one bucket paid for a segment, absolute. */
export interface Payment {
  owner: OwnerSlot
  bucketId: number
  prepaidIncludeId: number
  kind: 'units' | 'money'
  amount: number
}

/** What a new segment starts from: everything that pricing depends on. */
export interface SegmentStart {
  /** Equal keys continue a segment: rate revision, override, time band, cycle. */
  key: string
  rateKey: string
  plan: string
  /** Cycle key (`billrun_key`), YYYYMM. */
  cycle: string
  tariff: Tariff
}

/**
 * (session, service, rate revision, override, time band, cycle): the unit of pricing and of lines.
 */
export interface Segment extends SegmentStart {
  /** Counts the segments of the service, from 1. */
  number: number
  /** Grows by one with each change that reaches the line. */
  version: number
  /** Whether this segment bears the access price. */
  access: boolean
  /** Units used so far; of them priced with money; their price so far in micros. */
  used: number
  priced: number
  charged: number
  /** Part of `charged` that no bucket could pay. */
  debt: number
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
  usaget: string
  calledNumber: string
  /**
   * Whether a segment that has ended bore the access price: it is due once per session and service.
   */
  accessBorne: boolean
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
