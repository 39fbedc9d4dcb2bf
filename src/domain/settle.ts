/**
 * The one settlement (design.md §2): settle(state, program) → (state', grant, lines). The hot path,
 * quotes, the sweep and the tests use it; nothing else prices usage or moves a balance by it.
 *
 * In this order: what was reserved is committed up to what was used and the rest goes back;
 * over-use is debited, and what no bucket can pay becomes debt; only then the next grant is
 * reserved.
 */
import { assert, present } from './assert.ts'
import { type Bucket, type BucketRef, copyOwner, type OwnerState } from './bucket.ts'
import type { Line } from './line.ts'
import type {
  MoneyHold,
  Payment,
  Reservation,
  Segment,
  SegmentStart,
  ServiceSession,
  Slice,
} from './session.ts'
import { affordable, charge, isFree, PriceRangeError } from './tariff.ts'

/** What settlement works on: the owners and one service of the session. Never changed in place. */
export interface SettleState {
  subscriber: OwnerState
  account: OwnerState | null
  service: ServiceSession
}

/** What is to be done, decided by rating. */
export interface ChargeProgram {
  /** Units used since the last report. */
  used: number
  /** Units asked for; 0 asks for none. */
  requested: number
  /** True: all of `requested` or nothing. */
  exact: boolean
  /** The buckets that may pay, in order. */
  order: readonly BucketRef[]
  /** What pricing depends on from now on; null only if nothing is used or asked for. */
  next: SegmentStart | null
  /** Event time, epoch ms. */
  atMs: number
  /** Whether the service ends here. `expired`: its segment stays, and usage with it is late. */
  end: 'none' | 'closed' | 'expired'
}

/** A segment whose line has changed. */
export interface SegmentChange {
  segment: Segment
  state: Line['state']
}

export interface Settlement extends SettleState {
  /** Units that may be used now. */
  granted: number
  /** True if a grant was asked for and no further units are available after it. */
  finalUnit: boolean
  /** Earliest end of a bucket that holds the grant, epoch ms; Infinity if none does. */
  bucketsEndMs: number
  changes: SegmentChange[]
}

/** Pure. Throws `PriceRangeError` if a price or a total leaves 2^53; then nothing has moved. */
export function settle(state: SettleState, program: ChargeProgram): Settlement {
  const work: Settlement = {
    subscriber: copyOwner(state.subscriber),
    account: copyShared(state.account),
    service: copyService(state.service),
    granted: 0,
    finalUnit: false,
    bucketsEndMs: Number.POSITIVE_INFINITY,
    changes: [],
  }
  const { service } = work
  assert(program.requested === 0 || program.end === 'none', 'a service that ends asks for nothing')
  if (program.used > 0) openForUse(work, program)
  if (service.segment !== null) commitUsed(work, service.segment, program)
  if (program.requested > 0) {
    if (service.segment !== null && service.segment.key !== program.next?.key) {
      endSegment(work, service.segment, 'ended')
    }
    if (service.segment === null) startSegment(service, program)
    reserveNext(work, present(service.segment, 'segment'), program)
  }
  const last = service.segment
  if (last !== null && program.end === 'closed') endSegment(work, last, 'closed')
  if (last !== null && program.end === 'expired') reportEnd(work, last, 'expired')
  return work
}

/** Usage belongs to the segment that granted it; without a grant, to the one that holds now. */
function openForUse(work: Settlement, program: ChargeProgram): void {
  const { service } = work
  const isUngranted = service.reservation.units === 0 && program.next !== null
  if (service.segment !== null && isUngranted && service.segment.key !== program.next?.key) {
    endSegment(work, service.segment, 'ended')
  }
  if (service.segment === null) startSegment(service, program)
}

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
    segmentsEnded: 0,
    segment: null,
    reservation: { units: 0, slices: [], money: [] },
  }
}

/** Most accounts share nothing, and what has no buckets never changes. */
function copyShared(account: OwnerState | null): OwnerState | null {
  return account === null || account.buckets.length === 0 ? account : copyOwner(account)
}

function copyService(service: ServiceSession): ServiceSession {
  const { segment } = service
  return {
    ...service,
    segment:
      segment === null
        ? null
        : { ...segment, payments: segment.payments.map((payment) => ({ ...payment })) },
  }
}

function startSegment(service: ServiceSession, program: ChargeProgram): void {
  const next = present(program.next, 'the next segment')
  service.segment = {
    ...next,
    number: service.segmentsEnded + 1,
    version: 0,
    access: !service.accessBorne,
    used: 0,
    priced: 0,
    charged: 0,
    debt: 0,
    lapsedUnits: 0,
    lapsedMicros: 0,
    payments: [],
    firstMs: program.atMs,
    lastMs: program.atMs,
    late: false,
  }
}

function endSegment(work: Settlement, segment: Segment, state: Line['state']): void {
  const { service } = work
  service.segment = null
  service.segmentsEnded += 1
  if (segment.access && segment.priced > 0) service.accessBorne = true
  reportEnd(work, segment, state)
}

/** A segment that nothing came of has no line. */
function reportEnd(work: Settlement, segment: Segment, state: Line['state']): void {
  if (segment.used + segment.lapsedUnits + segment.lapsedMicros === 0) return
  const reported = work.changes.find((change) => change.segment === segment)
  if (reported !== undefined) {
    reported.state = state
    return
  }
  segment.version += 1
  work.changes.push({ segment, state })
}

/** Commits the reservation up to what was used, returns the rest, debits over-use. */
function commitUsed(work: Settlement, segment: Segment, program: ChargeProgram): void {
  const { reservation } = work.service
  work.service.reservation = { units: 0, slices: [], money: [] }
  const over = commitReserved(work, segment, reservation, program)
  if (program.used === 0) return
  if (over > 0) debitOverUse(work, segment, program, over)
  segment.used = countable(segment.used + program.used, 'usage of a segment')
  segment.lastMs = Math.max(segment.lastMs, program.atMs)
  segment.late ||= program.end === 'expired'
  segment.version += 1
  work.changes.push({ segment, state: 'open' })
}

/** Returns the units that were used beyond the reservation. */
function commitReserved(
  work: Settlement,
  segment: Segment,
  reservation: Reservation,
  program: ChargeProgram,
): number {
  let left = program.used
  let priced = 0
  for (const slice of reservation.slices) {
    const taken = Math.min(left, slice.units)
    left -= taken
    if (slice.bucket === null) {
      priced += taken
      continue
    }
    const bucket = bucketOf(work, slice.bucket)
    bucket.reserved -= slice.units
    bucket.spent += taken
    giveBack(bucket, slice.units - taken, segment, program.atMs)
    pay(segment, slice.bucket, bucket, taken)
  }
  segment.priced += priced
  let cost = chargeOf(segment, segment.priced) - segment.charged
  segment.charged += cost
  for (const hold of reservation.money) {
    const bucket = bucketOf(work, hold.bucket)
    const taken = Math.min(cost, hold.micros)
    cost -= taken
    bucket.reserved -= hold.micros
    bucket.spent += taken
    giveBack(bucket, hold.micros - taken, segment, program.atMs)
    pay(segment, hold.bucket, bucket, taken)
  }
  assert(cost === 0, 'the reservation holds less than its units cost')
  return left
}

/** Price of a segment's first priced units, micros. */
function chargeOf(segment: Segment, priced: number): number {
  return charge(segment.tariff, priced, segment.access)
}

function giveBack(bucket: Bucket, amount: number, segment: Segment, atMs: number): void {
  bucket.free += amount
  if (bucket.toMs > atMs) return
  if (bucket.kind === 'units') segment.lapsedUnits += amount
  else segment.lapsedMicros += amount
}

function debitOverUse(
  work: Settlement,
  segment: Segment,
  program: ChargeProgram,
  units: number,
): void {
  const plan = allocate(work, segment, program.order, units)
  for (const slice of plan.slices) {
    if (slice.bucket === null) continue
    const bucket = bucketOf(work, slice.bucket)
    bucket.free -= slice.units
    bucket.spent += slice.units
    pay(segment, slice.bucket, bucket, slice.units)
  }
  segment.priced += plan.priced + plan.left
  let cost = chargeOf(segment, segment.priced) - segment.charged
  segment.charged += cost
  for (const hold of plan.money) {
    cost -= debitMoney(work, segment, hold.bucket, Math.min(cost, hold.micros))
  }
  // Only grants respect the credit limit: a bucket that has one carries the rest of the over-use.
  const carrier = program.order.find((ref) => carriesOverUse(bucketOf(work, ref)))
  if (carrier !== undefined) cost -= debitMoney(work, segment, carrier, cost)
  segment.debt += cost
  work.subscriber.owed = countable(work.subscriber.owed + cost, 'debt')
}

function carriesOverUse(bucket: Bucket): boolean {
  return bucket.kind !== 'units' && bucket.limit > 0
}

/** A total that has stayed exact. */
function countable(total: number, what: string): number {
  if (!Number.isSafeInteger(total)) throw new PriceRangeError(`${what} exceeds 2^53`)
  return total
}

function debitMoney(work: Settlement, segment: Segment, ref: BucketRef, micros: number): number {
  const bucket = bucketOf(work, ref)
  bucket.free -= micros
  bucket.spent = countable(bucket.spent + micros, 'what a bucket has paid')
  pay(segment, ref, bucket, micros)
  return micros
}

function reserveNext(work: Settlement, segment: Segment, program: ChargeProgram): void {
  const plan = allocate(work, segment, program.order, program.requested)
  if (program.exact && plan.left > 0) {
    work.finalUnit = true
    return
  }
  const pricedThen = segment.priced + plan.priced
  const chargedThen = chargeOf(segment, pricedThen)
  let cost = chargedThen - segment.charged
  for (const slice of plan.slices) {
    if (slice.bucket !== null) hold(work, bucketOf(work, slice.bucket), slice.units)
  }
  const money: MoneyHold[] = []
  for (const offer of plan.money) {
    const micros = Math.min(cost, offer.micros)
    if (micros <= 0) continue
    cost -= micros
    hold(work, bucketOf(work, offer.bucket), micros)
    money.push({ bucket: offer.bucket, micros })
  }
  assert(cost === 0, 'a grant costs more than the buckets that pay for it hold')
  work.granted = program.requested - plan.left
  work.service.reservation = { units: work.granted, slices: plan.slices, money }
  const ahead = { ...segment, priced: pricedThen, charged: chargedThen }
  work.finalUnit = plan.left > 0 || allocate(work, ahead, program.order, 1).left > 0
}

function hold(work: Settlement, bucket: Bucket, amount: number): void {
  bucket.free -= amount
  bucket.reserved += amount
  work.bucketsEndMs = Math.min(work.bucketsEndMs, bucket.toMs)
}

/** How units would be paid: slices in order of use, and the money that may be drawn on for them. */
interface Allocation {
  slices: Slice[]
  money: MoneyHold[]
  /** Units of the slices that are priced. */
  priced: number
  /** Units that nothing can pay. */
  left: number
}

/**
 * Walks the buckets in order. Money that cannot buy a whole interval alone stays in the pool and
 * buys it together with the next bucket's, so that no remainder is stranded.
 */
function allocate(
  work: SettleState,
  segment: Segment,
  order: readonly BucketRef[],
  units: number,
): Allocation {
  const plan: Allocation = { slices: [], money: [], priced: 0, left: units }
  if (isFree(segment.tariff)) {
    takePriced(plan, units)
    return plan
  }
  let pool = 0
  for (const ref of order) {
    if (plan.left === 0) return plan
    const bucket = bucketOf(work, ref)
    const available = Math.max(0, bucket.free + bucket.limit)
    if (bucket.kind === 'units') {
      const taken = Math.min(available, plan.left)
      if (taken > 0) plan.slices.push({ bucket: ref, units: taken })
      plan.left -= taken
    } else {
      // Also empty money has its turn: what a begun interval still holds is paid for already.
      pool += available
      if (available > 0) plan.money.push({ bucket: ref, micros: available })
      takePriced(plan, affordableNow(segment, plan, pool))
    }
  }
  if (plan.left > 0) takePriced(plan, affordableNow(segment, plan, pool))
  return plan
}

function affordableNow(segment: Segment, plan: Allocation, pool: number): number {
  const { tariff, access, priced, charged } = segment
  return affordable(tariff, access, priced + plan.priced, charged, pool, plan.left)
}

function takePriced(plan: Allocation, units: number): void {
  if (units === 0) return
  const last = plan.slices.at(-1)
  if (last !== undefined && last.bucket === null) last.units += units
  else plan.slices.push({ bucket: null, units })
  plan.priced += units
  plan.left -= units
}

function bucketOf(state: SettleState, ref: BucketRef): Bucket {
  const owner = ref.owner === 0 ? state.subscriber : state.account
  const bucket = owner?.buckets.find((candidate) => candidate.id === ref.id)
  return present(bucket, `bucket ${ref.id} of owner ${ref.owner}`)
}

function pay(segment: Segment, ref: BucketRef, bucket: Bucket, amount: number): void {
  if (amount === 0) return
  const known = segment.payments.find(
    (payment) => payment.bucketId === ref.id && payment.owner === ref.owner,
  )
  if (known !== undefined) {
    known.amount += amount
    return
  }
  const payment: Payment = {
    owner: ref.owner,
    bucketId: ref.id,
    prepaidIncludeId: bucket.prepaidIncludeId,
    kind: bucket.kind === 'units' ? 'units' : 'money',
    amount,
  }
  segment.payments.push(payment)
}
