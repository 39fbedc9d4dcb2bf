/**
 * Settles reported usage before the rest of its request: the parts before each boundary that it
 * passes, and all of it if other terms or buckets apply to the grant that follows.
 */
import type { Bucket } from '../domain/bucket.ts'
import { opensSession, type ServiceRequest, withVolumes } from '../domain/charge-request.ts'
import type { CounterOwners } from '../domain/counters.ts'
import {
  continuedService,
  EMPTY_RESERVATION,
  lastUsedAt,
  startedService,
} from '../domain/segment.ts'
import type { Reservation, Segment, ServiceSession } from '../domain/session.ts'
import { type Boundary, boundariesOf, continues, sharesOf } from './boundaries.ts'
import type { RequestStates } from './request-states.ts'
import type { ServiceRates } from './service-rates.ts'

/** The service after that, the remaining request, and the reservation carried over. */
export interface SettledUse {
  service: ServiceSession
  remaining: ServiceRequest
  carried: Reservation
}

/** The state if usage passes no boundary. */
function unsettled(service: ServiceSession, request: ServiceRequest): SettledUse {
  return { service, remaining: request, carried: EMPTY_RESERVATION }
}

export function settleEarlier(
  states: RequestStates,
  rates: ServiceRates,
  effective: ServiceRequest,
  previous: ServiceSession,
): SettledUse {
  const mayPass = effective.used > 0 && states.session.state !== 'expired'
  const { owners } = states
  const split = mayPass
    ? passed(states, rates, effective, begun(states, rates, effective, previous))
    : null
  if (split === null) states.owners = owners
  return settleBeforeGrant(states, rates, split ?? unsettled(previous, effective))
}

/**
 * The service with a segment. Its first usage, without a grant, is since its last report, or that
 * of the session if it is new, or the start.
 */
function begun(
  states: RequestStates,
  rates: ServiceRates,
  effective: ServiceRequest,
  previous: ServiceSession,
): ServiceSession {
  const { kind, eventTimeMs } = rates.request
  const { profile } = rates.context
  const { segment, reportedMs } = previous
  if (segment !== null || opensSession(kind) || profile === null) return previous
  const sinceMs = Math.max(reportedMs > 0 ? reportedMs : states.lastReportMs(), profile.fromMs)
  const rated = sinceMs < eventTimeMs ? rates.find(effective, sinceMs) : null
  return rated === null ? previous : startedService(previous, states.open(rated), sinceMs)
}

/** Settles the parts before the boundaries; null if the usage passes none. */
function passed(
  states: RequestStates,
  rates: ServiceRates,
  effective: ServiceRequest,
  service: ServiceSession,
): SettledUse | null {
  const { segment } = service
  if (segment === null || isOfSegment(states, rates, effective, service, segment)) return null
  return settleShares(states, rates, effective, service, segment)
}

/** Whether the usage passes no boundary, which is the ordinary case. */
function isOfSegment(
  states: RequestStates,
  rates: ServiceRates,
  effective: ServiceRequest,
  { reservation }: ServiceSession,
  segment: Segment,
): boolean {
  const usedMs = lastUsedAt(effective, rates.request.eventTimeMs, segment.counts.firstMs)
  if (usedMs >= segment.endMs) return false
  if (reservation.units > 0) return true
  const rated = rates.find(effective, usedMs)
  return rated === null || continues(segment, rated, states.owners)
}

/** Splits usage at the boundaries, if any, and settles all parts but the last one. */
function settleShares(
  states: RequestStates,
  rates: ServiceRates,
  effective: ServiceRequest,
  previous: ServiceSession,
  segment: Segment,
): SettledUse | null {
  const { eventTimeMs } = rates.request
  const boundaries = boundariesOf(effective, previous, segment, eventTimeMs, {
    rateAt: (atMs) => rates.find(effective, atMs),
    owners: states.owners,
    profile: rates.context.profile,
  })
  if (boundaries.length === 0) return null
  const shares = sharesOf(effective, previous, segment, boundaries, eventTimeMs)
  const split = unsettled(previous, effective)
  for (const [index, { next, fromMs }] of boundaries.entries()) {
    const share = shares[index] as number
    const { requested, used, calledNumber } = split.remaining
    const carriedReservation = split.carried
    const more = { atMs: fromMs, carriedReservation, carriesReservation: used > share }
    const isSame = split.service.segment?.key === next.start.key
    const end = isSame ? 'none' : 'ended'
    const settled = states.settle(split.service, share, 0, null, end, more)
    const start = states.open(next)
    split.service = isSame
      ? continuedService(settled.service, start)
      : startedService(settled.service, start, fromMs, settled.ended)
    states.store(split.service)
    split.remaining = withVolumes(split.remaining, requested, used - share, -1, calledNumber)
    split.carried = settled.carriedReservation
  }
  const { untilMs } = (boundaries.at(-1) as Boundary).next
  const usedMs = lastUsedAt(effective, eventTimeMs, segment.counts.firstMs)
  return usedMs < untilMs ? split : settleLast(states, split)
}

/** Settles the last part by the terms of its segment, which are not those of its time. */
function settleLast(
  states: RequestStates,
  { service, remaining, carried }: SettledUse,
): SettledUse {
  const { requested, used, calledNumber } = remaining
  const settled = states.settle(service, used, 0, null, 'none', { carriedReservation: carried })
  return unsettled(settled.service, withVolumes(remaining, requested, 0, -1, calledNumber))
}

/** Settles the usage separately if its terms, or its buckets, are not those of the grant. */
function settleBeforeGrant(
  states: RequestStates,
  rates: ServiceRates,
  split: SettledUse,
): SettledUse {
  const { service, remaining, carried: carriedReservation } = split
  const { requested, used, calledNumber } = remaining
  const { kind, eventTimeMs } = rates.request
  if (requested <= 0 || used <= service.reservation.units || kind === 'event') return split
  const rated = rates.ofUse(remaining, service, states.session)
  const isUnrated = typeof rated === 'string'
  if (isUnrated && service.segment === null) return split
  const isSame = !isUnrated && rated.untilMs > eventTimeMs
  if (isSame && !hasBucketEdge(states.owners, eventTimeMs)) return split
  const start = isUnrated ? null : states.open(rated)
  const settled = states.settle(service, used, 0, start, 'none', { carriedReservation })
  return unsettled(settled.service, withVolumes(remaining, requested, 0, -1, calledNumber))
}

/** Whether a prepaid bucket begins or ends at the instant. */
function hasBucketEdge({ subscriber, account }: CounterOwners, atMs: number): boolean {
  const isEdge = ({ counter, fromMs, toMs }: Bucket) =>
    counter === '' && (fromMs === atMs || toMs === atMs)
  return subscriber.buckets.some(isEdge) || account?.buckets.some(isEdge) === true
}
