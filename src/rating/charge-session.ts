/**
 * Decides one request against one session, in memory: the answer, and the states to commit. Pure:
 * the hot path, `pretend` and the tests call it with the states they have.
 */
import { plainOutcome } from '../domain/charge-outcome.ts'
import { type ChargeRequest, opensSession, type ServiceRequest } from '../domain/charge-request.ts'
import { FOREIGN_EVENT, findAnswer, RECORD_OPENED_MS, sequenceErrorOf } from '../domain/replay.ts'
import { hasNoUsage } from '../domain/segment.ts'
import type { Session } from '../domain/session.ts'
import { newlyUsed, serviceOf } from '../domain/session-services.ts'
import { detailOf } from './answers.ts'
import type { ChargeContext, ChargeDecision, ChargeView, IdentifiedRequest } from './decision.ts'
import { effectiveRequest } from './effective-request.ts'
import { isBarred, needsRating } from './program.ts'
import { chooseUnits } from './service-units.ts'
import { SessionWork } from './session-work.ts'

/**
 * Whether the decision needs the subscriber's profile; a release must succeed without it. Without
 * an available profile, granted units are not split at a time boundary.
 */
export function needsProfile(
  request: ChargeRequest,
  session: Session | null,
  isProfileUnavailable = false,
): boolean {
  if (opensSession(request.kind)) return true
  if (session === null) return false
  const isLate = session.state === 'expired'
  // Other tombstones settle no usage.
  if (session.state !== 'open' && !isLate) return false
  const atMs = isProfileUnavailable ? Number.NEGATIVE_INFINITY : request.eventTimeMs
  // During an outage a missing line without usage is acceptable.
  const kind = isProfileUnavailable ? 'update' : request.kind
  if (kind === 'release' && !isLate && session.services.some(hasNoUsage)) return true
  for (const service of request.services) {
    for (const units of chargedUnits(session, service)) {
      const previous = serviceOf(session, units)
      if (isCheck(request, units) && !isLate) return true
      const used = newlyUsed(units, previous)
      const effective = effectiveRequest(request, units, used, previous, isLate)
      if (needsRating(kind, effective, previous, isLate, atMs)) return true
    }
  }
  return false
}

/** Whether the service only asks if units could be granted. */
function isCheck({ kind }: ChargeRequest, { checksCredit, requested }: ServiceRequest): boolean {
  return kind === 'update' && checksCredit && requested === 0
}

/** Does not look at prices: services that need them are rated in any case. */
function chargedUnits(session: Session, service: ServiceRequest): readonly ServiceRequest[] {
  if (service.parts === null) return [service]
  return chooseUnits(session, service, () => false).charged
}

/** Decides a request. Throws only for broken invariants. */
export function chargeSession(
  view: ChargeView,
  identified: IdentifiedRequest,
  context: ChargeContext,
): ChargeDecision {
  const { request, digest } = identified
  const known = liveSession(view.session, context.nowMs)
  if (known !== null) {
    const answer = findAnswer(known, request, digest)
    if (answer !== null) return { outcome: answer, commit: null }
  }
  const { aid, sid } = view.subscriber
  const isOthers = request.refund && known !== null && known.identity.sid !== sid
  const problem = isOthers ? FOREIGN_EVENT : sequenceErrorOf(known, request)
  if (problem !== null) {
    return { outcome: plainOutcome(problem.reason, problem.detail, aid, sid), commit: null }
  }
  const isOpening = opensSession(request.kind)
  if (isOpening && context.profile === null) {
    return { outcome: plainOutcome('unknownSubscriber'), commit: null }
  }
  // A start without services is not rated, so a barred subscriber has to be denied here.
  const isBare = request.kind === 'start' && request.services.length === 0
  if (isBare && context.profile !== null && isBarred(context.profile, request.eventTimeMs)) {
    const detail = detailOf('barred', [], request, context.profile, false)
    return { outcome: plainOutcome('barred', detail, aid, sid), commit: null }
  }
  const isNew = known === null || (isOpening && !request.refund)
  const session = isNew ? openSession(view, request, context) : known
  return new SessionWork(view, session, identified, context).run()
}

/** An expired tombstone is ignored, whether or not the sweep has dropped it. */
function liveSession(session: Session | null, nowMs: number): Session | null {
  if (session === null) return null
  return session.state !== 'open' && nowMs >= session.expiresMs ? null : session
}

function openSession(view: ChargeView, request: ChargeRequest, context: ChargeContext): Session {
  return {
    identity: {
      aid: view.subscriber.aid,
      sid: view.subscriber.sid,
      origin: request.origin,
      sessionId: request.sessionId,
    },
    state: 'open',
    openedMs: request.isRecord === true ? RECORD_OPENED_MS : context.nowMs,
    client: null,
    expiresMs: 0,
    lastNumber: -1,
    processed: 0,
    answered: [],
    services: [],
  }
}
