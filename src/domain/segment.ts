/** The life cycle of a segment: start, price, payments, end. */
import { present } from './assert.ts'
import type { Bucket, BucketRef } from './bucket.ts'
import type { ChargeProgram, SegmentChange, Settlement } from './charge-program.ts'
import type { ServiceRequest } from './charge-request.ts'
import type { SettlementWork } from './copy-on-write.ts'
import { type Counts, copyCounts, newCounts } from './counts.ts'
import type { ServiceIdentity } from './identity.ts'
import type { Line } from './line.ts'
import { continuePrice } from './price-continuation.ts'
import { type CategoryPrice, type Payment, type Pricing, withTariffs } from './segment-parts.ts'
import type { Reservation, Segment, SegmentStart, ServiceSession, Session } from './session.ts'
import { charge, PriceRangeError, peakCharge } from './tariff.ts'
import { NO_BEGIN_MS } from './time.ts'

/** The reservation of a service without a grant. Never changed, because it is shared. */
export const EMPTY_RESERVATION: Reservation = { units: 0, slices: [], money: [] }

/** A service without any grant. */
export function emptyService(identity: Readonly<ServiceIdentity>): ServiceSession {
  return {
    identity,
    accessCharged: false,
    othersAccessCharged: false,
    reportedMs: 0,
    usedTotal: 0,
    endedMicros: 0,
    segmentsEnded: 0,
    segment: null,
    reservation: EMPTY_RESERVATION,
  }
}

/** A copy whose segment may be changed as well. */
export function copyService(service: ServiceSession): ServiceSession {
  const { segment } = service
  return withSegment(service, segment === null ? null : copySegment(segment))
}

/** A copy with another segment. Field by field, so that all services have one hidden class. */
export function withSegment(service: ServiceSession, segment: Segment | null): ServiceSession {
  return {
    identity: service.identity,
    accessCharged: service.accessCharged,
    othersAccessCharged: service.othersAccessCharged,
    reportedMs: service.reportedMs,
    usedTotal: service.usedTotal,
    endedMicros: service.endedMicros,
    segmentsEnded: service.segmentsEnded,
    segment,
    reservation: service.reservation,
  }
}

/** A copy whose counts may be changed as well. */
export function copySegment(segment: Segment): Segment {
  return {
    key: segment.key,
    pricing: segment.pricing,
    fundingSources: segment.fundingSources,
    isPrepaid: segment.isPrepaid,
    endMs: segment.endMs,
    after: segment.after,
    number: segment.number,
    version: segment.version,
    counts: copyCounts(segment.counts),
  }
}

/**
 * The instant whose terms apply to usage reported at an instant: it was used before. At an edge,
 * such as midnight, a report therefore belongs to the side that ends there, and a grant to the side
 * that begins. `sinceMs`: begin of its segment or session, before which nothing was used.
 */
export function usedAt(reportedMs: number, sinceMs: number): number {
  return sinceMs === reportedMs ? reportedMs : Math.max(NO_BEGIN_MS, reportedMs - 1)
}

/** An instant before which nothing of the service's segment, or of its first one, was used. */
export function beginOfUse(
  { segment, reportedMs }: ServiceSession,
  { openedMs }: Pick<Session, 'openedMs'>,
): number {
  if (segment !== null) return segment.counts.firstMs
  return reportedMs > 0 ? reportedMs : openedMs
}

/** The same for the last of the units: those after a tariff change may be used at the report. */
export function lastUsedAt(
  { used, usedBefore }: Pick<ServiceRequest, 'used' | 'usedBefore'>,
  reportedMs: number,
  sinceMs: number,
): number {
  const isAfterChange = usedBefore >= 0 && usedBefore < used
  return isAfterChange ? reportedMs : usedAt(reportedMs, sinceMs)
}

/** Cost of a service so far, micros before tax. */
export function costOf({ endedMicros, segment }: ServiceSession): number {
  return segment === null ? endedMicros : endedMicros + segment.counts.charged
}

/** Whether the service has neither usage nor a segment, current or ended. */
export function hasNoUsage({ segment, usedTotal, segmentsEnded }: ServiceSession): boolean {
  return segment === null && usedTotal === 0 && segmentsEnded === 0
}

/** The service of a closed event with its last segment, which refunds need. */
export function reopened({ service, changes }: Settlement): ServiceSession {
  const segment = changes.at(-1)?.segment ?? null
  const opened = withSegment(service, segment)
  opened.endedMicros -= segment?.counts.charged ?? 0
  return opened
}

/** A copy of the service with a new segment, which continues from `ended`. */
export function startedService(
  service: ServiceSession,
  start: SegmentStart,
  atMs: number,
  ended: Segment | null = null,
): ServiceSession {
  const started = copyService(service)
  beginSegment(started, start, atMs, ended)
  return started
}

/** A copy of the service whose segment continues with other funding. */
export function continuedService(service: ServiceSession, start: SegmentStart): ServiceSession {
  const continued = copyService(service)
  if (continued.segment !== null) refresh(continued.segment, start)
  return continued
}

export function startSegment(
  service: ServiceSession,
  { next, atMs }: ChargeProgram,
  ended: Segment | null,
): Segment {
  return beginSegment(service, present(next, 'the next segment'), atMs, ended)
}

/** Field by field, so that all segments have one hidden class and nothing is copied twice. */
function beginSegment(
  service: ServiceSession,
  start: SegmentStart,
  atMs: number,
  ended: Segment | null,
): Segment {
  const { pricing } = start
  const { carried, others } = continuePrice(ended, start, service.othersAccessCharged)
  const segment: Segment = {
    key: start.key,
    pricing: others === pricing.others ? pricing : withTariffs(pricing, pricing.tariff, others),
    fundingSources: start.fundingSources,
    isPrepaid: start.isPrepaid,
    endMs: start.endMs,
    after: null,
    number: service.segmentsEnded + 1,
    version: 0,
    counts: newCounts(atMs, start.hasGroups, !service.accessCharged, carried),
  }
  service.segment = segment
  return segment
}

/** Updates the fields that may change while the price stays the same. */
export function refresh(segment: Segment, next: SegmentStart): void {
  segment.fundingSources = next.fundingSources
  segment.counts.hasGroups = next.hasGroups
  segment.isPrepaid = next.isPrepaid
  segment.endMs = next.endMs
  segment.after = null
}

export function endSegment(work: SettlementWork, segment: Segment, state: Line['state']): void {
  const { service } = work
  const { pricing, counts } = segment
  work.ended = segment
  service.segment = null
  service.segmentsEnded += 1
  service.endedMicros += counts.charged
  if (counts.access && counts.chargedUnits > 0) service.accessCharged = true
  if (counts.used > 0 && pricing.others.length > 0) service.othersAccessCharged = true
  reportEnd(work, segment, state)
}

/**
 * A segment without usage or forfeited amounts has a line only if its service closes without any
 * usage.
 */
export function reportEnd(work: Settlement, segment: Segment, state: Line['state']): void {
  const { used, forfeitedUnits, forfeitedMicros } = segment.counts
  const isNothing = used + forfeitedUnits + forfeitedMicros === 0
  if (isNothing && (state !== 'closed' || work.service.usedTotal > 0)) return
  for (const change of work.changes) {
    if (change.segment !== segment) continue
    change.state = state
    return
  }
  segment.version += 1
  recordChange(work, { segment, state })
}

export function recordChange(work: Settlement, change: SegmentChange): void {
  work.changes = appended(work.changes, change)
}

/** Appends to a copy without spare capacity: most of these lists have at most one element. */
export function appended<T>(list: readonly T[], item: T): T[] {
  return list.length === 0 ? [item] : [...list, item]
}

/** The fields of a segment that determine funding and price of further units. */
export interface PricedSegment extends Pick<Segment, 'fundingSources' | 'isPrepaid'> {
  pricing: Pick<Pricing, 'tariff' | 'others'>
  counts: Pick<
    Counts,
    'carried' | 'access' | 'used' | 'includedMoneyUnits' | 'chargedUnits' | 'charged'
  >
}

/**
 * Price in micros of `chargedUnits` and of `used` units in total; other categories price the
 * latter.
 */
export function priceOf(segment: PricedSegment, chargedUnits: number, used: number): number {
  const { tariff, others } = segment.pricing
  const { access, carried } = segment.counts
  let sum = charge(tariff, chargedUnits, access, carried?.priced)
  for (let index = 0; index < others.length; index += 1) {
    const { isAdded, tariff: other } = others[index] as CategoryPrice
    if (isAdded) sum += charge(other, used, access, carried?.others[index])
  }
  return safeTotal(sum, 'the price of a segment')
}

/** The highest price that is reached while so many more units are charged and used. */
export function peakPrice(segment: PricedSegment, chargedUnits: number, used: number): number {
  const { tariff } = segment.pricing
  const { access, carried, chargedUnits: from } = segment.counts
  const peak = peakCharge(tariff, from, from + chargedUnits, access, carried?.priced)
  return safeTotal(peak + peakOfOthers(segment, used), 'the price of a segment')
}

/** The highest amount that other categories add while `used` more units are consumed. */
export function peakOfOthers(segment: PricedSegment, used: number): number {
  const { access, carried, used: from } = segment.counts
  let sum = 0
  for (const [index, { tariff, isAdded }] of segment.pricing.others.entries()) {
    if (isAdded) sum += peakCharge(tariff, from, from + used, access, carried?.others[index])
  }
  return sum
}

/** Records a payment of a bucket. */
export function recordPayment(
  segment: Segment,
  ref: BucketRef,
  bucket: Bucket,
  amount: number,
  kind: Payment['kind'],
): void {
  if (amount === 0) return
  let payment = paymentOf(segment, ref, kind)
  if (payment === undefined) {
    payment = {
      owner: ref.owner,
      bucketId: ref.id,
      prepaidIncludeId: bucket.prepaidIncludeId,
      kind,
      amount: 0,
      counter: bucket.counter,
      left: 0,
      total: 0,
    }
    segment.counts.payments = appended(segment.counts.payments, payment)
  }
  payment.amount += amount
  recordCounter(payment, bucket)
}

function paymentOf(
  { counts: { payments } }: Segment,
  { owner, id }: BucketRef,
  kind: Payment['kind'],
): Payment | undefined {
  for (const payment of payments) {
    if (payment.bucketId === id && payment.owner === owner && payment.kind === kind) return payment
  }
  return undefined
}

function recordCounter(payment: Payment, bucket: Bucket): void {
  if (bucket.counter === '') return
  payment.left = Math.max(0, bucket.limit - bucket.spent)
  payment.total = Math.max(0, bucket.limit)
}

/** Returns the total if it is exact. Throws `PriceRangeError` past 2^53. */
export function safeTotal(total: number, what: string): number {
  if (!Number.isSafeInteger(total)) throw new PriceRangeError(`${what} exceeds 2^53`)
  return total
}
