/**
 * Refunds of an event, in full or in part, to the buckets that paid; and refunds without an earlier
 * event, within limits (refund-credit.ts). Each has its own line with reversed signs.
 */
import { copyOwner, type OwnerState } from '../domain/bucket.ts'
import type { ServiceOutcome } from '../domain/charge-outcome.ts'
import { type ChargeRequest, MONEY_USAGE, type ServiceRequest } from '../domain/charge-request.ts'
import { CREDIT } from '../domain/counters.ts'
import { reversedCounts } from '../domain/counts.ts'
import { isSameService, type ServiceKey, serviceIdentity } from '../domain/identity.ts'
import type { Line } from '../domain/line.ts'
import { lineOf, serviceTagOf } from '../domain/lines.ts'
import { copySegment, costOf, emptyService, withSegment } from '../domain/segment.ts'
import type { Segment, ServiceSession, Session } from '../domain/session.ts'
import { findService } from '../domain/session-services.ts'
import { denied, settledOnly } from './answers.ts'
import type { ChargeContext, IdentifiedRequest } from './decision.ts'
import { creditRefund } from './refund-credit.ts'
import { recomputable, splitMoney, splitUnits } from './refund-parts.ts'
import { settleUnits, type UnitWork } from './service-units.ts'

interface RefundState {
  subscriber: OwnerState
  account: OwnerState | null
  /** A copy, whose services are replaced. An open one starts with the refund. */
  session: Session
}

export interface Refund {
  subscriber: OwnerState
  account: OwnerState | null
  services: ServiceOutcome[]
  lines: Line[]
}

type HasPrice = (service: ServiceRequest) => boolean

interface WorkState {
  subscriber: OwnerState
  account: OwnerState | null
  services: ServiceSession[]
  lines: readonly Line[]
  microsLeft: number
}

/** Each service has its own outcome; a denied service changes nothing. */
export function refundSession(
  state: RefundState,
  identified: IdentifiedRequest,
  context: ChargeContext,
  hasPrice: HasPrice,
): Refund {
  const work = new RefundWork(state, identified, context, hasPrice)
  work.run()
  return work
}

class RefundWork implements Refund, UnitWork<WorkState> {
  subscriber: OwnerState
  account: OwnerState | null
  readonly services: ServiceOutcome[] = []
  lines: Line[] = []
  readonly session: Session
  readonly hasPrice: HasPrice
  readonly #request: ChargeRequest
  readonly #sessionKey: string
  readonly #context: ChargeContext
  /** Micros that refunds without an event may still return in this request. */
  #microsLeft: number

  constructor(
    { subscriber, account, session }: RefundState,
    identified: IdentifiedRequest,
    context: ChargeContext,
    hasPrice: HasPrice,
  ) {
    this.subscriber = subscriber
    this.account = account
    this.session = session
    this.hasPrice = hasPrice
    this.#request = identified.request
    this.#sessionKey = identified.sessionKey
    this.#context = context
    this.#microsLeft = context.settings.refundMicrosMax
  }

  run(): void {
    const { session } = this
    const request = this.#request
    const isOfAll =
      session.state !== 'open' && request.services.every((one) => !this.#isOfPart(one))
    if (!isOfAll) {
      for (const service of request.services) this.services.push(this.#service(service))
      return
    }
    for (const [index, { segment }] of session.services.entries()) {
      if (segment !== null) this.services.push(this.#whole(index, segment))
    }
  }

  #service(request: ServiceRequest): ServiceOutcome {
    return request.parts === null ? this.settle(request) : settleUnits(this, request, true)
  }

  settle(request: ServiceRequest): ServiceOutcome {
    return this.session.state === 'open' ? this.#credit(request) : this.#part(request)
  }

  state(): WorkState {
    const { subscriber, account, session } = this
    const microsLeft = this.#microsLeft
    const [services, lines] = [session.services.slice(), [...this.lines]]
    return { subscriber, account, services, lines, microsLeft }
  }

  restore({ subscriber, account, services, lines, microsLeft }: WorkState): void {
    this.subscriber = subscriber
    this.account = account
    this.session.services = services.slice()
    this.lines = [...lines]
    this.#microsLeft = microsLeft
  }

  /** Whether the request states an amount, or names a service of the event. */
  #isOfPart(request: ServiceRequest): boolean {
    const names = [request, ...(request.parts ?? []).map((part) => ({ ...request, ...part }))]
    return names.some((name) => name.requested >= 0 || this.#indexOf(name) >= 0)
  }

  /** Refunds a service without an event. */
  #credit(serviceRequest: ServiceRequest): ServiceOutcome {
    const { session, subscriber, account } = this
    const request = this.#request
    const context = this.#context
    const { eventTimeMs: atMs, fields } = request
    const { nowMs, profile } = context
    if (profile === null) return denied(serviceRequest, 'unknownSubscriber')
    const usage = { fields, atMs, nowMs }
    const owners = { subscriber, account }
    const credited = creditRefund(owners, serviceRequest, usage, context, profile, this.#microsLeft)
    if (typeof credited === 'string') return denied(serviceRequest, credited)
    this.subscriber = credited.owners.subscriber
    this.account = credited.owners.account
    this.#microsLeft -= credited.micros
    session.services.push(emptyService(serviceIdentity(serviceRequest)))
    const service = this.#ended(session.services.length - 1, credited.segment, null)
    service.endedMicros -= credited.segment.counts.charged
    return refundOutcome(serviceRequest, serviceRequest.requested, service)
  }

  /** Refunds one service of an event, or a part of it. */
  #part(request: ServiceRequest): ServiceOutcome {
    const index = this.#indexOf(request)
    const segment = this.session.services[index]?.segment ?? null
    const { requested } = request
    if (segment === null) {
      return request.usaget === MONEY_USAGE && requested > 0
        ? this.#money(request)
        : denied(request, 'nothingToRefund')
    }
    if (requested === 0) return denied(request, 'nothingToRefund')
    if (requested > segment.counts.used) return denied(request, 'refundLimit')
    if (requested < 0 || requested === segment.counts.used) return this.#whole(index, segment)
    const { refunded, remaining } = splitUnits(segment, requested)
    const service = this.#ended(index, this.#giveBack(refunded), remaining)
    service.usedTotal -= refunded.counts.used
    return refundOutcome(request, requested, service)
  }

  /** Refunds an amount of money of an event, from the last of its services backwards. */
  #money(request: ServiceRequest): ServiceOutcome {
    const { services } = this.session
    const charged = services.map((service) =>
      service.segment !== null && isNamed(service.identity, request)
        ? service.segment.counts.charged
        : 0,
    )
    const most = charged.reduce((sum, micros) => sum + micros, 0)
    if (most === 0) return denied(request, 'nothingToRefund')
    if (request.requested > most) return denied(request, 'refundLimit')
    let left = request.requested
    let cost = 0
    for (let index = charged.length - 1; left > 0; index -= 1) {
      const micros = Math.min(left, charged[index] as number)
      if (micros === 0) continue
      left -= micros
      cost = costOf(this.#moneyOf(index, micros))
    }
    const outcome = settledOnly(request)
    outcome.granted = request.requested
    outcome.cost = cost
    return outcome
  }

  /** The line is of usage type money; the units of the service stay used. */
  #moneyOf(index: number, micros: number): ServiceSession {
    const { session } = this
    const { services } = session
    const service = services[index] as ServiceSession
    const { refunded, remaining } = splitMoney(service.segment as Segment, micros)
    const given = this.#giveBack(refunded)
    const left = withSegment(service, remaining)
    services[index] = left
    const inMoney = serviceIdentity({ ...service.identity, usaget: MONEY_USAGE })
    const known = findService(session, inMoney)
    if (known === undefined) services.push(emptyService(inMoney))
    this.#ended(known === undefined ? services.length - 1 : services.indexOf(known), given, null)
    return left
  }

  #whole(index: number, segment: Segment): ServiceOutcome {
    const service = this.#ended(index, recomputable(this.#giveBack(segment)), null)
    service.usedTotal -= segment.counts.used
    return refundOutcome(service.identity, segment.counts.used, service)
  }

  /** Records the line of the refunded part, and leaves the rest to the service. */
  #ended(index: number, refunded: Segment, remaining: Segment | null): ServiceSession {
    const { session } = this
    const request = this.#request
    const sessionKey = this.#sessionKey
    const left = withSegment(session.services[index] as ServiceSession, remaining)
    left.segmentsEnded += 1
    session.services[index] = left
    const segment = reversed(refunded, left.segmentsEnded, request.eventTimeMs)
    const tag = serviceTagOf(sessionKey, session, index)
    this.lines.push(lineOf(session, left, { segment, state: 'closed' }, tag))
    return left
  }

  /** Index of the service of the event to refund; -1 if no refundable service matches. */
  #indexOf(key: ServiceKey): number {
    const { services } = this.session
    const exact = services.findIndex(
      (one) => one.segment !== null && isSameService(one.identity, key),
    )
    if (exact >= 0) return exact
    const [one, ...more] = services.flatMap(({ identity, segment }, index) => {
      const isLeft = segment !== null && identity.usaget === key.usaget
      return isLeft && isNamed(identity, key) ? [index] : []
    })
    return one !== undefined && more.length === 0 ? one : -1
  }

  /**
   * Returns the segment as it is given back. What a bucket has spent falls to 0 at most: a refund
   * without an event may have reduced it before. A limit falls as the credit that it limits.
   */
  #giveBack(segment: Segment): Segment {
    this.subscriber = copyOwner(this.subscriber)
    this.account = this.account === null ? null : copyOwner(this.account)
    const given = copySegment(segment)
    const { counts } = given
    let ofLimit = 0
    for (const payment of counts.payments) {
      const state = payment.owner === 0 ? this.subscriber : this.account
      const bucket = state?.buckets.find(({ id }) => id === payment.bucketId)
      // A counter may have been removed since, together with its cycle.
      const spent = bucket?.spent ?? payment.amount
      payment.amount = Math.min(payment.amount, payment.kind === 'limit' ? ofLimit : spent, spent)
      if (payment.counter === CREDIT && payment.kind === 'money') ofLimit += payment.amount
      if (payment.kind === 'limit') ofLimit -= payment.amount
      if (bucket === undefined) continue
      bucket.spent -= payment.amount
      bucket.free += payment.amount
    }
    counts.payments = counts.payments.filter(({ amount }) => amount !== 0)
    return given
  }
}

/** Whether the service matches a refund, which may omit rating group and service identifier. */
function isNamed(service: ServiceKey, key: ServiceKey): boolean {
  const isOfGroup = key.ratingGroup < 0 || service.ratingGroup === key.ratingGroup
  const { serviceIdentifier: identifier } = key
  return isOfGroup && (identifier === '' || service.serviceIdentifier === identifier)
}

function refundOutcome(
  named: ServiceKey,
  granted: number,
  service: ServiceSession,
): ServiceOutcome {
  return {
    ratingGroup: named.ratingGroup,
    serviceIdentifier: named.serviceIdentifier,
    usaget: named.usaget,
    reason: 'granted',
    granted,
    parts: null,
    validityMs: 0,
    tariffChangeMs: 0,
    finalUnit: false,
    action: null,
    cost: costOf(service),
    quote: null,
  }
}

function reversed(refunded: Segment, number: number, atMs: number): Segment {
  const line = copySegment(refunded)
  line.number = number
  line.version = 1
  line.counts = reversedCounts(refunded.counts)
  line.counts.firstMs = atMs
  line.counts.lastMs = atMs
  line.counts.late = false
  return line
}
