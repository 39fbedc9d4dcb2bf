/**
 * Time boundaries: ends of billing cycles, and starts and ends of time bands where the price
 * changes.
 */
import type { AfterBoundary } from '../domain/charge-program.ts'
import type { ServiceRequest } from '../domain/charge-request.ts'
import type { CounterOwners } from '../domain/counters.ts'
import { EMPTY_RESERVATION, usedAt } from '../domain/segment.ts'
import type { Reservation, Segment, SegmentStart, ServiceSession } from '../domain/session.ts'
import type { ChargeContext } from './decision.ts'
import { openFundingSources } from './funding-sources.ts'
import type { RatedService } from './rated-service-cache.ts'
import { splitByTime } from './split.ts'

/** The terms that apply from a boundary onwards. */
export interface Boundary {
  next: RatedService
  fromMs: number
}

/** Returns null if the service cannot be rated. */
type RateAt = (atMs: number) => RatedService | null

/**
 * The state after usage was settled up to the last boundary: the remaining request and the
 * reservation carried over.
 */
export interface SettledUse {
  service: ServiceSession
  remaining: ServiceRequest
  carried: Reservation
}

/** The state if usage passes no boundary. */
export function unsettled(service: ServiceSession, request: ServiceRequest): SettledUse {
  return { service, remaining: request, carried: EMPTY_RESERVATION }
}

/** The boundaries between segments that usage passes; one at which it ends is not passed. */
export function boundariesOf(segment: Segment, reportedMs: number, rateAt: RateAt): Boundary[] {
  const found: Boundary[] = []
  let { key, endMs } = segment
  const usedMs = usedAt(reportedMs, segment.firstMs)
  while (usedMs >= endMs) {
    const next = rateAt(endMs)
    if (next === null) break
    if (next.start.key !== key) found.push({ next, fromMs: endMs })
    key = next.start.key
    endMs = next.start.endMs
  }
  return found
}

/**
 * Splits usage at the boundaries: at the first one as reported (`usedBefore`), otherwise by time.
 */
export function sharesOf(
  { used, usedBefore }: ServiceRequest,
  { reportedMs }: ServiceSession,
  { lastMs }: Segment,
  boundaries: readonly Boundary[],
  untilMs: number,
): number[] {
  const instants = [...boundaries.map(({ fromMs }) => fromMs), untilMs]
  if (usedBefore < 0) return splitByTime(used, [Math.max(lastMs, reportedMs), ...instants])
  const first = Math.min(used, usedBefore)
  return [first, ...splitByTime(used - first, instants)]
}

/** Terms of a grant after the next boundary; null if the session expires before it. */
export function afterBoundary(
  { profile, settings }: ChargeContext,
  owners: CounterOwners,
  { key, endMs }: SegmentStart,
  atMs: number,
  rateAt: RateAt,
): AfterBoundary | null {
  if (profile === null || endMs - atMs > settings.validityMs + settings.graceMs) return null
  const next = rateAt(endMs)
  if (next === null || next.start.key === key) return null
  const opened = openFundingSources(owners, next, profile)
  const { subscriber, account } = opened.owners
  return { start: opened.start, subscriber, account }
}
