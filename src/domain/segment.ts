/** The life of a segment: begin, price, payments, end. */
import { assert, present } from './assert.ts'
import type { Bucket, BucketRef } from './bucket.ts'
import type { ChargeProgram, SegmentChange, Settlement } from './charge-program.ts'
import { findBucket, ownBucket, ownSubscriber, type Work } from './copy-on-write.ts'
import { continued, isSamePayer } from './course.ts'
import type { Line } from './line.ts'
import type {
  CategoryPrice,
  Payment,
  Reservation,
  Segment,
  SegmentStart,
  ServiceSession,
} from './session.ts'
import { charge, PriceRangeError, peakCharge } from './tariff.ts'

/** What a service holds that has no grant. Never changed: all such services have the same. */
export const NOTHING_HELD: Reservation = { units: 0, slices: [], money: [] }

/** A service that nothing has been granted to yet. */
export function emptyService(
  ratingGroup: number,
  usaget: string,
  calledNumber: string,
): ServiceSession {
  return {
    ratingGroup,
    usaget,
    calledNumber,
    accessBorne: false,
    othersBorne: false,
    reportedMs: 0,
    usedTotal: 0,
    endedMicros: 0,
    segmentsEnded: 0,
    segment: null,
    reservation: NOTHING_HELD,
  }
}

/** Its segment may be changed, too. */
export function copyService(service: ServiceSession): ServiceSession {
  const { segment } = service
  return withSegment(service, segment === null ? null : copySegment(segment))
}

/** The service with another segment, field by field: one shape for all services. */
export function withSegment(service: ServiceSession, segment: Segment | null): ServiceSession {
  return {
    ratingGroup: service.ratingGroup,
    usaget: service.usaget,
    calledNumber: service.calledNumber,
    accessBorne: service.accessBorne,
    othersBorne: service.othersBorne,
    reportedMs: service.reportedMs,
    usedTotal: service.usedTotal,
    endedMicros: service.endedMicros,
    segmentsEnded: service.segmentsEnded,
    segment,
    reservation: service.reservation,
  }
}

/** A copy whose payments may be changed, too. */
export function copySegment(segment: Segment): Segment {
  return {
    key: segment.key,
    rateKey: segment.rateKey,
    plan: segment.plan,
    cycle: segment.cycle,
    tariff: segment.tariff,
    priceOf: segment.priceOf,
    band: segment.band,
    others: segment.others,
    taxes: segment.taxes,
    rounding: segment.rounding,
    hasGroups: segment.hasGroups,
    payers: segment.payers,
    isPrepaid: segment.isPrepaid,
    endMs: segment.endMs,
    number: segment.number,
    version: segment.version,
    carried: segment.carried,
    access: segment.access,
    used: segment.used,
    grouped: segment.grouped,
    covered: segment.covered,
    priced: segment.priced,
    coveredMicros: segment.coveredMicros,
    charged: segment.charged,
    debt: segment.debt,
    lapsedUnits: segment.lapsedUnits,
    lapsedMicros: segment.lapsedMicros,
    payments: segment.payments.map(copyPayment),
    firstMs: segment.firstMs,
    lastMs: segment.lastMs,
    late: segment.late,
  }
}

function copyPayment(payment: Payment): Payment {
  return {
    owner: payment.owner,
    bucketId: payment.bucketId,
    prepaidIncludeId: payment.prepaidIncludeId,
    kind: payment.kind,
    amount: payment.amount,
    counter: payment.counter,
    left: payment.left,
    total: payment.total,
  }
}

/** A copy of the service in which a segment has begun, after the one that has ended. */
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

export function startSegment(
  service: ServiceSession,
  { next, atMs }: ChargeProgram,
  ended: Segment | null,
): Segment {
  return beginSegment(service, present(next, 'the next segment'), atMs, ended)
}

/** Field by field: one shape for all segments, and no copies on the way. */
function beginSegment(
  service: ServiceSession,
  start: SegmentStart,
  atMs: number,
  ended: Segment | null,
): Segment {
  const { carried, others } = continued(ended, start, service.othersBorne)
  const segment: Segment = {
    key: start.key,
    rateKey: start.rateKey,
    plan: start.plan,
    cycle: start.cycle,
    tariff: start.tariff,
    priceOf: start.priceOf,
    band: start.band,
    others,
    taxes: start.taxes,
    rounding: start.rounding,
    hasGroups: start.hasGroups,
    payers: start.payers,
    isPrepaid: start.isPrepaid,
    endMs: start.endMs,
    number: service.segmentsEnded + 1,
    version: 0,
    carried,
    access: !service.accessBorne,
    used: 0,
    grouped: 0,
    covered: 0,
    priced: 0,
    coveredMicros: 0,
    charged: 0,
    debt: 0,
    lapsedUnits: 0,
    lapsedMicros: 0,
    payments: [],
    firstMs: atMs,
    lastMs: atMs,
    late: false,
  }
  service.segment = segment
  return segment
}

/** The segment goes on under the same price; who pays for it may have changed. */
export function refresh(segment: Segment, next: SegmentStart): void {
  segment.payers = next.payers
  segment.hasGroups = next.hasGroups
  segment.endMs = next.endMs
}

export function endSegment(work: Work, segment: Segment, state: Line['state']): void {
  const { service } = work
  work.ended = segment
  service.segment = null
  service.segmentsEnded += 1
  service.endedMicros += segment.charged
  if (segment.access && segment.priced > 0) service.accessBorne = true
  if (segment.used > 0 && segment.others.length > 0) service.othersBorne = true
  reportEnd(work, segment, state)
}

/** A segment that nothing came of has no line, but for one of a service that was never used. */
export function reportEnd(work: Settlement, segment: Segment, state: Line['state']): void {
  const isNothing = segment.used + segment.lapsedUnits + segment.lapsedMicros === 0
  if (isNothing && (state !== 'closed' || work.service.usedTotal > 0)) return
  for (const change of work.changes) {
    if (change.segment !== segment) continue
    change.state = state
    return
  }
  segment.version += 1
  noteChange(work, { segment, state })
}

export function noteChange(work: Settlement, change: SegmentChange): void {
  work.changes = appended(work.changes, change)
}

/** A list with one more, of no more room than that: most lists here have one member at most. */
export function appended<T>(list: readonly T[], item: T): T[] {
  return list.length === 0 ? [item] : [...list, item]
}

/** What of a segment decides who pays for more of it, and how much. */
export type PricedSegment = Pick<
  Segment,
  | 'tariff'
  | 'others'
  | 'carried'
  | 'access'
  | 'payers'
  | 'isPrepaid'
  | 'used'
  | 'covered'
  | 'priced'
  | 'charged'
>

/** Micros for `priced` units with money and `used` units in all (other categories price these). */
export function priceOf(segment: PricedSegment, priced: number, used: number): number {
  const { tariff, access, others, carried } = segment
  let sum = charge(tariff, priced, access, carried?.priced)
  for (let index = 0; index < others.length; index += 1) {
    const { isAdded, tariff: other } = others[index] as CategoryPrice
    if (isAdded) sum += charge(other, used, access, carried?.others[index])
  }
  return countable(sum, 'the price of a segment')
}

/** The highest that the price gets on the way to so many more units. */
export function peakPrice(segment: PricedSegment, priced: number, used: number): number {
  const { tariff, access, carried } = segment
  const from = segment.priced
  const peak = peakCharge(tariff, from, from + priced, access, carried?.priced)
  return countable(peak + peakOfOthers(segment, used), 'the price of a segment')
}

/** The same of what other categories add. */
export function peakOfOthers(segment: PricedSegment, used: number): number {
  const { others, access, carried, used: from } = segment
  let sum = 0
  for (const [index, { tariff, isAdded }] of others.entries()) {
    if (isAdded) sum += peakCharge(tariff, from, from + used, access, carried?.others[index])
  }
  return sum
}

/** Notes what a bucket paid. */
export function pay(
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
    segment.payments = appended(segment.payments, payment)
  }
  payment.amount += amount
  noteCounter(payment, bucket)
}

function paymentOf(
  { payments }: Segment,
  { owner, id }: BucketRef,
  kind: Payment['kind'],
): Payment | undefined {
  for (const payment of payments) {
    if (payment.bucketId === id && payment.owner === owner && payment.kind === kind) return payment
  }
  return undefined
}

/** What is given back goes to those who paid, the last one first; what was owed comes before. */
export function refund(work: Work, segment: Segment, micros: number): void {
  const { owed, repaid } = work.subscriber
  const debt = segment.debt + (segment.carried?.debt ?? 0)
  const forgiven = Math.min(micros, debt, owed - repaid)
  segment.debt -= forgiven
  if (forgiven !== 0) ownSubscriber(work).owed -= forgiven
  const returned = micros - forgiven
  const left = returnPaid(work, segment, returned, (payment) => isMoney(payment, false))
  returnRepaid(work, segment, left)
  returnPaid(work, segment, returned, ({ kind }) => kind === 'limit')
}

/** Debt that top-ups have paid meanwhile goes back to money that was topped up. */
function returnRepaid(work: Work, segment: Segment, micros: number): void {
  let left = micros
  for (const { id, kind, counter, spent } of work.subscriber.buckets) {
    if (kind === 'units' || counter !== '') continue
    const returned = Math.min(left, spent)
    if (returned === 0) continue
    const ref: BucketRef = { owner: 0, id }
    const bucket = ownBucket(work, ref)
    bucket.spent -= returned
    bucket.free += returned
    left -= returned
    pay(segment, ref, bucket, 0 - returned, 'money')
  }
  assert(left === 0, 'more is given back than was paid')
}

/** The same for money that groups include. */
export function returnToGroups(work: Work, segment: Segment, micros: number): void {
  const left = returnPaid(work, segment, micros, (payment) => isMoney(payment, true))
  assert(left === 0, 'more is given back than was covered')
}

function isMoney({ kind, counter }: Payment, ofGroup: boolean): boolean {
  return kind === 'money' && counter.startsWith('group/') === ofGroup
}

/** To those who paid for the segment, then for the earlier ones. Returns what none had paid. */
function returnPaid(
  work: Work,
  segment: Segment,
  micros: number,
  isMeant: (payment: Payment) => boolean,
): number {
  const earlier = segment.carried?.payments ?? []
  let left = micros
  for (const payment of [...earlier, ...segment.payments].reverse()) {
    if (!isMeant(payment)) continue
    const isIts = (other: Payment) => isSamePayer(other, payment)
    const before = earlier.find(isIts)?.amount ?? 0
    const returned = Math.min(left, before + (segment.payments.find(isIts)?.amount ?? 0))
    if (returned <= 0) continue
    left -= returned
    returnTo(work, ownPayment(segment, payment), returned)
  }
  return left
}

function ownPayment(segment: Segment, payment: Payment): Payment {
  const known = segment.payments.find((other) => isSamePayer(other, payment))
  if (known !== undefined) return known
  const own = { ...copyPayment(payment), amount: 0 }
  segment.payments = appended(segment.payments, own)
  return own
}

/** Those who paid may be gone by now, with the cycle that they counted. */
function returnTo(work: Work, payment: Payment, amount: number): void {
  payment.amount -= amount
  const ref: BucketRef = { owner: payment.owner, id: payment.bucketId }
  if (findBucket(work, ref) === undefined) return
  const bucket = ownBucket(work, ref)
  bucket.spent -= amount
  bucket.free += amount
  noteCounter(payment, bucket)
}

function noteCounter(payment: Payment, bucket: Bucket): void {
  if (bucket.counter === '') return
  payment.left = Math.max(0, bucket.limit - bucket.spent)
  payment.total = Math.max(0, bucket.limit)
}

/** A total that has stayed exact. */
export function countable(total: number, what: string): number {
  if (!Number.isSafeInteger(total)) throw new PriceRangeError(`${what} exceeds 2^53`)
  return total
}
