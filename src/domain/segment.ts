/** The life of a segment: begin, price, payments, end. */
import { assert, present } from './assert.ts'
import type { Bucket, BucketRef } from './bucket.ts'
import type { ChargeProgram, Settlement, SettleState } from './charge-program.ts'
import type { Line } from './line.ts'
import type { CategoryPrice, Payment, Segment, SegmentStart, ServiceSession } from './session.ts'
import { charge, PriceRangeError, peakCharge } from './tariff.ts'

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
    reservation: { units: 0, slices: [], money: [] },
  }
}

export function copyService(service: ServiceSession): ServiceSession {
  const { segment } = service
  return { ...service, segment: segment === null ? null : copySegment(segment) }
}

function copySegment(segment: Segment): Segment {
  return { ...segment, payments: segment.payments.map((payment) => ({ ...payment })) }
}

/** A copy of the service in which a segment has begun. */
export function startedService(
  service: ServiceSession,
  start: SegmentStart,
  atMs: number,
): ServiceSession {
  const started = copyService(service)
  beginSegment(started, start, atMs)
  return started
}

export function startSegment(service: ServiceSession, { next, atMs }: ChargeProgram): Segment {
  return beginSegment(service, present(next, 'the next segment'), atMs)
}

/** Field by field: one shape for all segments, and no copies on the way. */
function beginSegment(service: ServiceSession, start: SegmentStart, atMs: number): Segment {
  const segment: Segment = {
    key: start.key,
    rateKey: start.rateKey,
    plan: start.plan,
    cycle: start.cycle,
    tariff: start.tariff,
    priceOf: start.priceOf,
    band: start.band,
    others: service.othersBorne ? start.others.map(withoutAccess) : start.others,
    taxes: start.taxes,
    rounding: start.rounding,
    hasGroups: start.hasGroups,
    payers: start.payers,
    isPrepaid: start.isPrepaid,
    endMs: start.endMs,
    number: service.segmentsEnded + 1,
    version: 0,
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

/** Neither does it fall due again, nor the minimum that goes with it. */
function withoutAccess(other: CategoryPrice): CategoryPrice {
  const { tariff } = other
  const terms = tariff.terms === null ? null : { ...tariff.terms, minimum: 0 }
  return { ...other, tariff: { ...tariff, access: 0, terms } }
}

/** The segment goes on under the same price; who pays for it may have changed. */
export function refresh(segment: Segment, next: SegmentStart): void {
  segment.payers = next.payers
  segment.hasGroups = next.hasGroups
  segment.endMs = next.endMs
}

export function endSegment(work: Settlement, segment: Segment, state: Line['state']): void {
  const { service } = work
  service.segment = null
  service.segmentsEnded += 1
  service.endedMicros += segment.charged
  if (segment.access && segment.priced > 0) service.accessBorne = true
  if (segment.used > 0 && segment.others.length > 0) service.othersBorne = true
  reportEnd(work, segment, state)
}

/** A segment that nothing came of has no line. */
export function reportEnd(work: Settlement, segment: Segment, state: Line['state']): void {
  if (segment.used + segment.lapsedUnits + segment.lapsedMicros === 0) return
  const reported = work.changes.find((change) => change.segment === segment)
  if (reported !== undefined) {
    reported.state = state
    return
  }
  segment.version += 1
  work.changes.push({ segment, state })
}

/** What of a segment decides who pays for more of it, and how much. */
export type PricedSegment = Pick<
  Segment,
  | 'tariff'
  | 'others'
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
  let sum = charge(segment.tariff, priced, segment.access)
  for (const other of segment.others) {
    if (other.isAdded) sum += charge(other.tariff, used, segment.access)
  }
  return countable(sum, 'the price of a segment')
}

/** The highest that the price gets on the way to so many more units. */
export function peakPrice(segment: PricedSegment, priced: number, used: number): number {
  const { tariff, access, others } = segment
  let sum = peakCharge(tariff, segment.priced, segment.priced + priced, access)
  for (const other of others) {
    if (other.isAdded) {
      sum += peakCharge(other.tariff, segment.used, segment.used + used, access)
    }
  }
  return countable(sum, 'the price of a segment')
}

export function bucketOf(state: SettleState, ref: BucketRef): Bucket {
  return present(findBucket(state, ref), `bucket ${ref.id} of owner ${ref.owner}`)
}

export function findBucket(state: SettleState, { owner, id }: BucketRef): Bucket | undefined {
  const ownerState = owner === 0 ? state.subscriber : state.account
  return ownerState?.buckets.find((candidate) => candidate.id === id)
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
  let payment = segment.payments.find(
    (known) => known.bucketId === ref.id && known.owner === ref.owner && known.kind === kind,
  )
  if (payment === undefined) {
    payment = {
      owner: ref.owner,
      bucketId: ref.id,
      prepaidIncludeId: bucket.prepaidIncludeId,
      kind,
      amount: 0,
      counter: bucket.counter,
      ...{ left: 0, total: 0 },
    }
    segment.payments.push(payment)
  }
  payment.amount += amount
  noteCounter(payment, bucket)
}

/** What is given back goes to those who paid, the last one first; what was owed comes before. */
export function refund(work: Settlement, segment: Segment, micros: number): void {
  const { subscriber } = work
  const forgiven = Math.min(micros, segment.debt, subscriber.owed - subscriber.repaid)
  segment.debt -= forgiven
  subscriber.owed -= forgiven
  const returned = micros - forgiven
  const left = returnMoney(work, segment, returned, (payment) => !isOfGroup(payment))
  returnRepaid(work, segment, left)
  const limit = segment.payments.find(({ kind }) => kind === 'limit')
  if (limit !== undefined) returnTo(work, limit, Math.min(returned, limit.amount))
}

/** Debt that top-ups have paid meanwhile goes back to money that was topped up. */
function returnRepaid(work: Settlement, segment: Segment, micros: number): void {
  let left = micros
  for (const bucket of work.subscriber.buckets) {
    if (bucket.kind === 'units' || bucket.counter !== '') continue
    const returned = Math.min(left, bucket.spent)
    bucket.spent -= returned
    bucket.free += returned
    left -= returned
    pay(segment, { owner: 0, id: bucket.id }, bucket, 0 - returned, 'money')
  }
  assert(left === 0, 'more is given back than was paid')
}

/** The same for money that groups include. */
export function returnToGroups(work: Settlement, segment: Segment, micros: number): void {
  const left = returnMoney(work, segment, micros, isOfGroup)
  assert(left === 0, 'more is given back than was covered')
}

function isOfGroup({ counter }: Payment): boolean {
  return counter.startsWith('group/')
}

/** Returns what none of them had paid. */
function returnMoney(
  work: Settlement,
  { payments }: Segment,
  micros: number,
  isMeant: (payment: Payment) => boolean,
): number {
  let left = micros
  for (const payment of payments.toReversed()) {
    if (payment.kind !== 'money' || payment.amount <= 0 || !isMeant(payment)) continue
    const returned = Math.min(left, payment.amount)
    left -= returned
    returnTo(work, payment, returned)
  }
  return left
}

/** Those who paid may be gone by now, with the cycle that they counted. */
function returnTo(work: Settlement, payment: Payment, amount: number): void {
  payment.amount -= amount
  const bucket = findBucket(work, { owner: payment.owner, id: payment.bucketId })
  if (bucket === undefined) return
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
