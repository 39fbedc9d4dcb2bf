/** A session as stored between requests: reservations, priced segments, and the last answers. */
import type { BucketRef, FundingSource } from './bucket.ts'
import type { ChargeOutcome } from './charge-outcome.ts'
import type { CreditControlClient } from './charge-request.ts'
import type { Counts } from './counts.ts'
import type { ServiceIdentity, SessionIdentity } from './identity.ts'
import type { Pricing } from './segment-parts.ts'

/**
 * `denied`: the start was denied, so the session never opened. All states but `open` are
 * tombstones, which store the last answers for `replayMs`. An `expired` session also stores its
 * services, for the price of usage reported after expiry.
 */
export type SessionState = 'open' | 'closed' | 'expired' | 'denied'

/** Units of a grant, in order of use. */
export interface Slice {
  /**
   * The bucket or counter of units in which they are reserved; null if they are paid from `money`.
   */
  bucket: BucketRef | null
  units: number
  /** Paid by included money, and not part of the price of the segment. */
  isCovered: boolean
}

/** Money reserved in one bucket. */
export interface MoneyHold {
  source: FundingSource
  micros: number
}

/** The reservation for a grant. */
export interface Reservation {
  /** Granted units that are not reported yet: the sum of the slices. */
  units: number
  slices: Slice[]
  money: MoneyHold[]
}

/** The terms of a new segment: everything that pricing depends on. */
export interface SegmentStart {
  /**
   * A segment continues while the key stays equal: rate revisions, plan, override, time band,
   * cycle.
   */
  key: string
  pricing: Pricing
  /** Whether units beyond the groups are `over_group`, because there is a group for such usage. */
  hasGroups: boolean
  /** Groups that include the usage, in order, then the credit of a postpaid subscriber. */
  fundingSources: FundingSource[]
  /** Whether prepaid buckets pay for units that no group includes; otherwise credit does. */
  isPrepaid: boolean
  /** When other terms may begin: another cycle, time band, revision or service. Epoch ms. */
  endMs: number
}

/** The terms that a grant found after the end of its own, and reserved for. */
export interface KnownTerms {
  /** Digest of what determines price and payment (`digestOfTerms`). */
  digest: number
  /** When still others may begin, epoch ms. */
  endMs: number
}

/** Part of a service in a session with one key: the unit of pricing and of lines. */
export interface Segment extends Omit<SegmentStart, 'hasGroups'> {
  /** The terms after `endMs` for granted units; null if the grant is not for usage after it. */
  after: KnownTerms | null
  /** Number within the service, from 1. */
  number: number
  /** Incremented by each change that reaches the line. */
  version: number
  counts: Counts
}

export interface ServiceSession {
  identity: Readonly<ServiceIdentity>
  /**
   * Whether an ended segment was charged the access price, which is due once per session and
   * service.
   */
  accessCharged: boolean
  /**
   * Likewise for other tariff categories, where the access price is due with the first used unit.
   */
  othersAccessCharged: boolean
  /**
   * Time of a report without usage after the last usage of the segment, or before the first one,
   * epoch ms; 0 without such a report.
   */
  reportedMs: number
  /** Units reported so far. */
  usedTotal: number
  /** Cost of the ended segments, micros. */
  endedMicros: number
  segmentsEnded: number
  segment: Segment | null
  reservation: Reservation
}

/** An answered request, for replay. */
export interface AnsweredRequest {
  /** -1 if the message format has no number; then only the digest identifies the request. */
  requestNumber: number
  digest: number
  /**
   * Number of the session's requests up to this one, with which its transaction id ends; 0 if the
   * id has another form.
   */
  count: number
  outcome: ChargeOutcome
}

export interface Session {
  identity: Readonly<SessionIdentity>
  state: SessionState
  /** By the node's clock, epoch ms. */
  openedMs: number
  /** Client of the latest request that identified one; null if none did. */
  client: CreditControlClient | null
  /** When an open session expires or a tombstone is dropped, by the node's clock. */
  expiresMs: number
  /** Highest request number so far; -1 before the first one. */
  lastNumber: number
  /** Number of processed requests. */
  processed: number
  /** The last answer; for requests without a number, the last few, newest first. */
  answered: AnsweredRequest[]
  services: ServiceSession[]
}

/** A copy with these services. Field by field, so that all sessions have one hidden class. */
export function withServices(session: Session, services: ServiceSession[]): Session {
  return {
    identity: session.identity,
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
