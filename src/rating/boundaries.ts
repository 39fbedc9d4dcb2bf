/**
 * Boundaries of time: ends of billing cycles, and edges of time bands where another price begins.
 */
import type { AfterBoundary } from '../domain/charge-program.ts'
import type { ServiceRequest } from '../domain/charge-request.ts'
import type { CountedOwners } from '../domain/counters.ts'
import { NOTHING_HELD } from '../domain/segment.ts'
import type { Reservation, Segment, SegmentStart, ServiceSession } from '../domain/session.ts'
import type { ChargeContext } from './decision.ts'
import { openPayers } from './payers.ts'
import type { RatedService } from './program.ts'
import { splitByTime } from './split.ts'

/** What holds from a boundary on. */
export interface Boundary {
  next: RatedService
  fromMs: number
}

/** Null where a service cannot be rated. */
type RateAt = (atMs: number) => RatedService | null

/** Usage that was settled up to the last boundary: the rest, and what is held for it. */
export interface SettledUse {
  service: ServiceSession
  asked: ServiceRequest
  held: Reservation
}

/** Where there is no boundary. */
export function unsettled(service: ServiceSession, asked: ServiceRequest): SettledUse {
  return { service, asked, held: NOTHING_HELD }
}

/** Those that usage up to an instant passes, from one segment to another. */
export function boundariesOf(segment: Segment, untilMs: number, rateAt: RateAt): Boundary[] {
  const found: Boundary[] = []
  let { key, endMs } = segment
  while (untilMs > endMs) {
    const next = rateAt(endMs)
    if (next === null) break
    if (next.start.key !== key) found.push({ next, fromMs: endMs })
    key = next.start.key
    endMs = next.start.endMs
  }
  return found
}

/**
 * Usage by the boundaries: at the first one as the network element says, if it does, else by time.
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

/** What a grant may be used under after the next boundary; null if its session ends before. */
export function afterBoundary(
  { profile, settings }: ChargeContext,
  owners: CountedOwners,
  { key, endMs }: SegmentStart,
  atMs: number,
  rateAt: RateAt,
): AfterBoundary | null {
  if (profile === null || endMs - atMs > settings.validityMs + settings.graceMs) return null
  const next = rateAt(endMs)
  if (next === null || next.start.key === key) return null
  const opened = openPayers(owners, next, profile)
  const { subscriber, account } = opened.owners
  return { start: opened.start, subscriber, account }
}
