/** What settlement is told to do, and what it answers (settle.ts). */
import type { FundingSource, OwnerState } from './bucket.ts'
import type { Line } from './line.ts'
import type { Reservation, Segment, SegmentStart, ServiceSession } from './session.ts'

/** What settlement works on: the owners and one service of the session. Never changed in place. */
export interface SettleState {
  subscriber: OwnerState
  account: OwnerState | null
  service: ServiceSession
}

/** What is to be done, decided by rating. */
export interface ChargeProgram {
  /** Units used since the last report. */
  used: number
  /** Units asked for; 0 asks for none. */
  requested: number
  /** True: all of `requested` or nothing. */
  exact: boolean
  /** The prepaid buckets that may pay for the segment that is open, in order. */
  order: readonly FundingSource[]
  /** The same for `next`. */
  nextOrder: readonly FundingSource[]
  /**
   * Of usage beyond the grant that no valid money may pay for: the prepaid buckets that have ended,
   * and could have paid before; the last one ended last. Absent: there are none.
   */
  ended?: readonly FundingSource[]
  /** What pricing depends on from now on; null only if nothing is used or asked for. */
  next: SegmentStart | null
  /** Event time, epoch ms. */
  atMs: number
  /**
   * Whether the service ends here. `ended`: only its segment does, at a boundary of time.
   * `expired`: its segment stays, and usage with it is late.
   */
  end: 'none' | 'ended' | 'closed' | 'expired'
  /** The service ends without use and still gets a line; `next` is started for it. */
  isUnused?: boolean
  /** Reservations made before the last time boundary that usage after it may draw on. */
  held?: Reservation
  /** Usage after the boundary follows: reservations in prepaid buckets stay held (`kept`). */
  keeps?: boolean
  /** Terms after the next boundary, if the grant may be used past it. */
  after?: AfterBoundary | null
}

/** The start of the following segment, and the owners with its counters opened. */
export interface AfterBoundary {
  start: SegmentStart
  subscriber: OwnerState
  account: OwnerState | null
}

/** A segment whose line has changed. */
export interface SegmentChange {
  segment: Segment
  state: Line['state']
}

export interface Settlement extends SettleState {
  /** Units that may be used now. */
  granted: number
  /** True if a grant was asked for and no further units are available after it. */
  finalUnit: boolean
  /** Earliest end of a bucket that holds the grant, epoch ms; Infinity if none does. */
  bucketsEndMs: number
  changes: SegmentChange[]
  /** The last segment that has ended. */
  ended: Segment | null
  /** Reservations that stay held if the program sets `keeps`. */
  kept: Reservation
}
