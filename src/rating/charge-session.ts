/**
 * One request against one session, decided in memory: what is answered, and what is to be
 * committed. Pure: the hot path, `pretend` and the tests call it with the states they hold.
 */
import type { OwnerState } from '../domain/bucket.ts'
import type { SubscriberProfile } from '../domain/catalogue.ts'
import { type ChargeOutcome, plainOutcome } from '../domain/charge-outcome.ts'
import type { ChargeRequest } from '../domain/charge-request.ts'
import type { Line } from '../domain/line.ts'
import { findAnswer, misfit } from '../domain/replay.ts'
import type { Session } from '../domain/session.ts'
import { needsRating, type RatingContext } from './program.ts'
import { askedOf, SessionWork, serviceOf } from './session-work.ts'

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
export interface Decision {
  outcome: ChargeOutcome
  commit: ChargeCommit | null
}

/** What has to be written together for the outcome to become true. */
export interface ChargeCommit {
  subscriber: OwnerState
  account: OwnerState | null
  session: Session
  lines: Line[]
}

/** Whether deciding needs the subscriber's profile (design.md §2: a release always succeeds). */
export function needsProfile(request: ChargeRequest, session: Session | null): boolean {
  if (request.kind === 'start' || request.kind === 'event') return true
  if (session === null) return false
  const isLate = session.state === 'expired'
  // Nothing is settled on another tombstone.
  if (session.state !== 'open' && !isLate) return false
  return request.services.some((service) =>
    needsRating(
      askedOf(request, service, isLate),
      serviceOf(session, service),
      isLate,
      request.eventTimeMs,
    ),
  )
}

/** Decides a request. Throws nothing but broken invariants. */
export function chargeSession(
  view: ChargeView,
  identified: IdentifiedRequest,
  context: ChargeContext,
): Decision {
  const { request, digest } = identified
  const known = liveSession(view.session, context.nowMs)
  if (known !== null) {
    const answer = findAnswer(known, request, digest)
    if (answer !== null) return { outcome: answer, commit: null }
  }
  const { aid, sid } = view.subscriber
  const problem = misfit(known, request)
  if (problem !== null) {
    return { outcome: plainOutcome(problem.reason, problem.detail, aid, sid), commit: null }
  }
  const opening = request.kind === 'start' || request.kind === 'event'
  if (opening && context.profile === null) {
    return { outcome: plainOutcome('unknownSubscriber'), commit: null }
  }
  const isNew = known === null || (opening && !request.refund)
  const session = isNew ? openSession(view, request, context) : known
  const work = new SessionWork({ ...view, session }, identified, context)
  return work.run()
}

/** A tombstone past its time counts as gone, whether or not the sweep has been there. */
function liveSession(session: Session | null, nowMs: number): Session | null {
  if (session === null) return null
  return session.state !== 'open' && nowMs >= session.expiresMs ? null : session
}

function openSession(view: ChargeView, request: ChargeRequest, context: ChargeContext): Session {
  return {
    aid: view.subscriber.aid,
    sid: view.subscriber.sid,
    origin: request.origin,
    sessionId: request.sessionId,
    state: 'open',
    openedMs: context.nowMs,
    expiresMs: 0,
    lastNumber: -1,
    processed: 0,
    answered: [],
    services: [],
  }
}
