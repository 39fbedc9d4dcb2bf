/**
 * Time boundaries, where other terms begin: another billing cycle, time band, revision or service.
 */
import type { SubscriberProfile } from '../domain/catalogue.ts'
import type { AfterBoundary } from '../domain/charge-program.ts'
import type { ServiceRequest } from '../domain/charge-request.ts'
import { type CounterOwners, CREDIT } from '../domain/counters.ts'
import { digestOfTexts } from '../domain/digest.ts'
import { lastUsedAt } from '../domain/segment.ts'
import type { Segment, SegmentStart, ServiceSession } from '../domain/session.ts'
import { FOREVER_MS } from '../domain/time.ts'
import type { ChargeContext } from './decision.ts'
import { isFundedBy, openFundingSources } from './funding-sources.ts'
import type { RatedService } from './rated-service-cache.ts'

/** The terms that apply from a boundary onwards. */
export interface Boundary {
  next: RatedService
  fromMs: number
}

/** Returns null if the service cannot be rated. */
type RateAt = (atMs: number) => RatedService | null

/** How a subscriber's usage is rated at any instant. */
export interface RatedTimes {
  rateAt: RateAt
  owners: CounterOwners
  /** The profile in force now. Another one was in force before it, perhaps with another plan. */
  profile: Pick<SubscriberProfile, 'fromMs' | 'plan'> | null
}

/**
 * The boundaries at which the terms of usage change; one at which it ends is not passed. Granted
 * units have those that were known with the grant, which was not reserved for another plan.
 */
export function boundariesOf(
  reported: ServiceRequest,
  service: ServiceSession,
  segment: Segment,
  reportedMs: number,
  times: RatedTimes,
): Boundary[] {
  const found: Boundary[] = []
  const { rateAt, owners, profile } = times
  const isOfPlan = profile === null || profile.plan === segment.pricing.plan
  if (service.reservation.units > 0 && !isOfPlan) return found
  const profileMs = profile?.fromMs ?? 0
  const usedMs = lastUsedAt(reported, reportedMs, segment.counts.firstMs)
  let endMs = knownEnd(service, segment, usedMs, times)
  const known = service.reservation.units > 0 ? segment.after : null
  while (usedMs >= endMs) {
    const next = rateAt(endMs)
    const isFirst = known !== null && found.length === 0
    if (isFirst && (next === null || digestOfTerms(next) !== known.digest)) break
    if (endMs < profileMs && (next === null || !isOfPlan)) {
      endMs = profileMs
      continue
    }
    if (next === null) break
    const last = found.at(-1)?.next
    const isSame = last === undefined ? continues(segment, next, owners) : isSameTerms(last, next)
    if (!isSame) found.push({ next, fromMs: endMs })
    endMs = isFirst ? Math.max(next.untilMs, known.endMs) : next.untilMs
  }
  return found
}

/** When the terms of the segment end; without a grant by the revisions that are known now. */
function knownEnd(
  { reservation, reportedMs }: ServiceSession,
  segment: Segment,
  usedMs: number,
  { rateAt, owners, profile }: RatedTimes,
): number {
  const { endMs, counts } = segment
  if (reservation.units > 0) return endMs
  const sinceMs = Math.max(counts.lastMs, reportedMs)
  const first = usedMs >= endMs ? null : rateAt(sinceMs)
  if (first !== null && continues(segment, first, owners)) return first.untilMs
  // The profile before has the terms of the segment.
  return profile !== null && sinceMs < profile.fromMs ? Math.min(endMs, profile.fromMs) : endMs
}

/** Whether usage with these terms continues a segment, or the one that starts. */
export function continues(
  { key, fundingSources }: Pick<SegmentStart, 'key' | 'fundingSources'>,
  { start, funding }: RatedService,
  owners: CounterOwners,
): boolean {
  return start.key === key && isFundedBy(owners, fundingSources, funding)
}

/**
 * Splits usage at the boundaries: at the first one as reported (`usedBefore`), otherwise by time.
 */
export function sharesOf(
  { used, usedBefore }: ServiceRequest,
  { reportedMs }: ServiceSession,
  { counts }: Segment,
  boundaries: readonly Boundary[],
  untilMs: number,
): number[] {
  const instants = [...boundaries.map(({ fromMs }) => fromMs), untilMs]
  if (usedBefore < 0) return splitByTime(used, [Math.max(counts.lastMs, reportedMs), ...instants])
  const first = Math.min(used, usedBefore)
  return [first, ...splitByTime(used - first, instants)]
}

/** The terms of a grant, which end where others begin, and those. */
export interface GrantTerms {
  granting: SegmentStart
  /** Null if the session expires before others begin. */
  after: AfterBoundary | null
}

/** The terms known at the time of a grant: granted units have these. */
export function termsOfGrant(
  { profile, settings }: ChargeContext,
  owners: CounterOwners,
  granting: SegmentStart,
  atMs: number,
  rateAt: RateAt,
): GrantTerms {
  if (profile === null) return { granting, after: null }
  const horizonMs = atMs + settings.validityMs + settings.graceMs
  let fromMs = granting.endMs
  while (fromMs <= horizonMs) {
    const next = rateAt(fromMs)
    if (next === null) return { granting: { ...granting, endMs: FOREVER_MS }, after: null }
    if (!continues(granting, next, owners)) {
      const digest = digestOfTerms(next)
      const { start, owners: opened } = openFundingSources(owners, next, profile)
      return { granting, after: { fromMs, start, digest, ...opened } }
    }
    fromMs = next.start.endMs
  }
  const isLater = fromMs > granting.endMs
  return { granting: isLater ? { ...granting, endMs: fromMs } : granting, after: null }
}

function isSameTerms(one: RatedService, other: RatedService): boolean {
  if (one.start.key !== other.start.key) return false
  const totals = other.funding.groups.map(({ total }) => total)
  const isSameSize = one.funding.groups.every(({ total }, index) => total === totals[index])
  return isSameSize && digestOfTerms(one) === digestOfTerms(other)
}

/**
 * A digest of what determines price and payment. A write that changes only ids of revisions, or the
 * size of the account's groups (by members of a pool), leaves the terms.
 */
function digestOfTerms({ start, funding }: RatedService): number {
  const { isPrepaid } = start
  const { rateKey, plan, cycle, tariff, others, taxes, rounding } = start.pricing
  const groups = funding.groups.map(({ owner, counter, fromMs, total }) => {
    return `${owner} ${counter} ${fromMs} ${owner === 0 ? total : ''}`
  })
  const price = JSON.stringify([rateKey, plan, cycle, tariff, others, taxes, rounding, isPrepaid])
  return digestOfTexts([price, ...groups, funding.credit === null ? '' : CREDIT])
}

/**
 * Splits units over the parts of a period in proportion to their length. Of two parts, the earlier
 * one is rounded down; more parts are rounded by largest remainder, the later one first on a tie.
 * `instants`: begin, boundaries and end, epoch ms, ascending. If the period is empty, the last part
 * has all units.
 */
export function splitByTime(used: number, instants: readonly number[]): number[] {
  const parts = instants.length - 1
  const spans = instants.slice(1).map((toMs, index) => {
    return BigInt(Math.max(0, toMs - (instants[index] as number)))
  })
  const whole = spans.reduce((sum, span) => sum + span, 0n)
  if (whole === 0n) return spans.map((_, index) => (index === parts - 1 ? used : 0))
  const quotas = spans.map((span) => BigInt(used) * span)
  const shares = quotas.map((quota) => Number(quota / whole))
  let left = used - shares.reduce((sum, share) => sum + share, 0)
  const order = quotas.map((quota, index) => ({ index, rest: quota % whole })).reverse()
  if (parts > 2) order.sort((a, b) => (a.rest === b.rest ? 0 : a.rest > b.rest ? -1 : 1))
  for (const { index } of order) {
    if (left === 0) break
    shares[index] = (shares[index] as number) + 1
    left -= 1
  }
  return shares
}
