/**
 * Builds the charge program of one service: integers only, ready to settle (design.md §2, stage 6).
 */
import { bucketOrder, type OwnerState } from '../domain/bucket.ts'
import { type Catalogue, revisionAt, type SubscriberProfile } from '../domain/catalogue.ts'
import type { Reason } from '../domain/charge-outcome.ts'
import type { ServiceRequest } from '../domain/charge-request.ts'
import type { Cycle } from '../domain/cycle.ts'
import type { SegmentStart, ServiceSession } from '../domain/session.ts'
import type { ChargeProgram } from '../domain/settle.ts'
import { matchRate, type RateKeyTemplate } from './match.ts'

/** What rating needs beside the request: all of it immutable. */
export interface RatingContext {
  catalogue: Catalogue
  rateKeys: readonly RateKeyTemplate[]
  cycleAt: (atMs: number) => Cycle
}

/** What pricing depends on, and until when it stays so (epoch ms). */
export interface RatedService {
  start: SegmentStart
  untilMs: number
}

/** Rates one service for a subscriber at an instant, or says why it cannot be. */
export function rateService(
  context: RatingContext,
  profile: SubscriberProfile,
  service: { ratingGroup: number; usaget: string },
  atMs: number,
): RatedService | Reason {
  if (profile.barred) return 'barred'
  const plan = revisionAt(context.catalogue.plans.get(profile.plan), atMs)
  if (plan === null) return 'unknownSubscriber'
  const match = matchRate(context.catalogue, context.rateKeys, plan, service, atMs)
  if (match === null) return 'noRate'
  const cycle = context.cycleAt(atMs)
  const { rate, tariff } = match
  return {
    start: {
      key: `${rate.id}|${plan.name}|${cycle.key}`,
      rateKey: rate.key,
      plan: plan.name,
      cycle: cycle.key,
      tariff,
    },
    untilMs: Math.min(rate.toMs, plan.toMs, profile.toMs, cycle.toMs),
  }
}

/**
 * Whether the catalogue is needed at all: what was granted keeps its own price, and so does what is
 * reported late.
 */
export function needsRating(
  request: ServiceRequest,
  service: ServiceSession,
  isLate: boolean,
): boolean {
  const isGranted = service.segment !== null && (isLate || service.reservation.units > 0)
  return request.requested > 0 || (request.used > 0 && !isGranted)
}

/** The program of a service that is used on, closed or both. */
export function buildProgram(
  owners: { subscriber: OwnerState; account: OwnerState | null },
  request: { usaget: string; used: number; requested: number },
  next: SegmentStart | null,
  atMs: number,
  end: ChargeProgram['end'],
  exact: boolean,
): ChargeProgram {
  return {
    used: request.used,
    requested: request.requested,
    exact,
    order: bucketOrder(owners.subscriber, owners.account, request.usaget, atMs),
    next,
    atMs,
    end,
  }
}
