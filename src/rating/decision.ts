/** What a request is decided on, and what the decision is: states, context, outcome, commit. */
import type { OwnerState } from '../domain/bucket.ts'
import type { SubscriberProfile } from '../domain/catalogue.ts'
import type { ChargeOutcome } from '../domain/charge-outcome.ts'
import type { ChargeRequest } from '../domain/charge-request.ts'
import type { Line } from '../domain/line.ts'
import type { Session } from '../domain/session.ts'
import type { RatingContext } from './program.ts'

/** The states that a request is decided on. */
export interface ChargeView {
  subscriber: OwnerState
  /** The account's shared buckets; null if the account never had one. */
  account: OwnerState | null
  session: Session | null
}

export interface ChargeSettings {
  /** Longest validity of a grant, ms. */
  validityMs: number
  /** How long after its validity a session waits for the network element, ms. */
  graceMs: number
  /** How long a closed session keeps its answers, ms. */
  replayMs: number
  /** Limits of a refund without an earlier event: in total, and per service. */
  refundMicrosMax: number
  refundUnitsMax: number
}

export interface ChargeContext extends RatingContext {
  settings: ChargeSettings
  /** Valid at the event time; null if the subscriber is unknown or was not needed. */
  profile: SubscriberProfile | null
  /** The node's clock, epoch ms: chooses expiry. */
  nowMs: number
}

/** A request with its identity worked out. */
export interface IdentifiedRequest {
  request: ChargeRequest
  /** Digest of origin and session id: names the session in the ledger. */
  sessionKey: string
  digest: number
}

/** `commit` null: nothing moves, and the outcome can be sent at once. */
export interface ChargeDecision {
  outcome: ChargeOutcome
  commit: ChargeCommit | null
}

/**
 * What has to be written together for the outcome to become true. What has not changed of a state
 * is the one that was handed in: neither may be changed in place.
 */
export interface ChargeCommit {
  subscriber: OwnerState
  account: OwnerState | null
  session: Session
  /** Of segments that ended with it; what goes on, or may, stands in the session. */
  lines: Line[]
}
