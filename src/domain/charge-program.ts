/** The input and the result of settlement (settle.ts). */
import type { FundingSource, OwnerState } from './bucket.ts'
import type { Line } from './line.ts'
import type { Reservation, Segment, SegmentStart, ServiceSession } from './session.ts'

/** The owners and one service of the session. Never changed in place. */
export interface SettleState {
  subscriber: OwnerState
  account: OwnerState | null
  service: ServiceSession
}

/** The instructions for settlement, computed by rating. */
export interface ChargeProgram {
  /** Units used since the last report. */
  used: number
  /** Requested units; 0 requests none. */
  requested: number
  /** True if either all of `requested` is granted or nothing. */
  exact: boolean
  /** The prepaid buckets that may pay for the open segment, in order. */
  order: readonly FundingSource[]
  /** As `order`, for the segment `next`. */
  nextOrder: readonly FundingSource[]
  /**
   * For usage beyond the grant that no valid money may pay: the expired prepaid buckets that could
   * have paid before, by time of expiry. Absent without such buckets.
   */
  ended?: readonly FundingSource[]
  /** Terms of pricing from now on; null only if no units are used or requested. */
  next: SegmentStart | null
  /** Event time, epoch ms. */
  atMs: number
  /**
   * Whether the service ends. `ended`: only its segment ends, at a time boundary. `expired`: the
   * session has expired; the segment stays for usage reported after expiry.
   */
  end: 'none' | 'ended' | 'closed' | 'expired'
  /** The service ends without usage but still has a line; `next` is started for it. */
  isUnused?: boolean
  /** Reservations from before the last time boundary, which may pay for usage after it. */
  carriedReservation?: Reservation
  /**
   * Usage after the boundary follows: reservations in prepaid buckets are carried over (`kept`).
   */
  carriesReservation?: boolean
  /** Terms after the next boundary, if the grant may be used beyond it. */
  after?: AfterBoundary | null
}

/** The terms that begin at a boundary, and the owners with their counters opened. */
export interface AfterBoundary {
  /** Epoch ms. */
  fromMs: number
  start: SegmentStart
  /** As in `KnownTerms`. */
  digest: number
  subscriber: OwnerState
  account: OwnerState | null
}

/** A segment whose line changed. */
export interface SegmentChange {
  segment: Segment
  state: Line['state']
}

export interface Settlement extends SettleState {
  /** Granted units. */
  granted: number
  /** True if a grant was requested and no further units are available after it. */
  finalUnit: boolean
  /**
   * Earliest expiry of a bucket with a reservation for the grant, epoch ms; Infinity without
   * such a bucket.
   */
  bucketsEndMs: number
  changes: SegmentChange[]
  /** The last segment that ended. */
  ended: Segment | null
  /** Reservations that are carried over if the program sets `keeps`. */
  carriedReservation: Reservation
}
