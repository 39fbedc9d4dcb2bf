/** The input and the result of a decision: states, context, outcome, commit. */
import type { OwnerState } from '../domain/bucket.ts'
import type { SubscriberProfile } from '../domain/catalogue.ts'
import type { ChargeOutcome } from '../domain/charge-outcome.ts'
import type { ChargeRequest } from '../domain/charge-request.ts'
import type { BalanceRuleSet } from '../domain/events/rule-set.ts'
import type { Line } from '../domain/line.ts'
import type { Session } from '../domain/session.ts'
import type { RatingContext } from './program.ts'

/** The states on which a request is decided. */
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
  /** Limits of a refund without an earlier event: in total per request, and per service. */
  refundMicrosMax: number
  refundUnitsMax: number
  /** By how much the clock of a network element may differ, ms. */
  clockDifferenceMs: number
}

export interface ChargeContext extends RatingContext {
  settings: ChargeSettings
  /** The event rules with actions; null if there are none. */
  actionRules: BalanceRuleSet | null
  /**
   * The profile in force at the event time; null if the subscriber is unknown or no profile is
   * needed.
   */
  profile: SubscriberProfile | null
  /** The node's clock, epoch ms: determines expiry. */
  nowMs: number
}

/**
 * By when balances must have begun to be used at an instant: an event of now may have an earlier
 * time, since clocks differ and some have whole seconds.
 */
export function begunBy(
  atMs: number,
  { nowMs, settings }: Pick<ChargeContext, 'nowMs' | 'settings'>,
): number {
  return atMs < nowMs && nowMs - atMs <= settings.clockDifferenceMs ? nowMs : atMs
}

/** A request with its keys. */
export interface IdentifiedRequest {
  request: ChargeRequest
  /** Digest of origin and session id, the key of the session in the ledger. */
  sessionKey: string
  digest: number
}

/** `commit` is null if nothing changes; then the outcome can be sent immediately. */
export interface ChargeDecision {
  outcome: ChargeOutcome
  commit: ChargeCommit | null
}

/**
 * The states to commit together with the outcome. Unchanged states are the same objects as in the
 * input; neither may be changed in place.
 */
export interface ChargeCommit {
  subscriber: OwnerState
  account: OwnerState | null
  session: Session
  /**
   * Lines of segments that ended with the request. Segments that may continue are part of the
   * session.
   */
  lines: Line[]
}
