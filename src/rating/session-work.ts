/** The states of one request while its services are settled one after the other. */
import { present } from '../domain/assert.ts'
import type { OwnerState } from '../domain/bucket.ts'
import type { ChargeOutcome, Quote, Reason, ServiceOutcome } from '../domain/charge-outcome.ts'
import type { ChargeProgram, SegmentChange, Settlement } from '../domain/charge-program.ts'
import {
  type ChargeRequest,
  opens,
  type ServiceRequest,
  withVolumes,
} from '../domain/charge-request.ts'
import type { Line } from '../domain/line.ts'
import { lineOf, serviceTagOf, transactionIdOf } from '../domain/lines.ts'
import { findService, newlyUsed, serviceOf } from '../domain/reported.ts'
import { appended, costOf, reopened, startedService } from '../domain/segment.ts'
import {
  type Segment,
  type SegmentStart,
  type ServiceSession,
  type Session,
  withServices,
} from '../domain/session.ts'
import { settle } from '../domain/settle.ts'
import { PriceRangeError } from '../domain/tariff.ts'
import { balanceReports, denied, detailOf, leavesTrace, overallOf, settledOnly } from './answers.ts'
import { askedOf } from './asked.ts'
import type { ChargeContext, ChargeView, Decision, IdentifiedRequest } from './decision.ts'
import { finishSession } from './finish.ts'
import { finalCharge } from './line-tax.ts'
import { openPayers, wantsNone } from './payers.ts'
import { buildProgram, needsRating, type RatedService, rateService } from './program.ts'
import { refundSession } from './refund.ts'
import { settleUnits, type UnitWork } from './service-units.ts'
import { splitByTime } from './split.ts'

/** What holds for a service from now on. */
interface Rated {
  start: SegmentStart | null
  untilMs: number
}

const UNRATED: Rated = { start: null, untilMs: 0 }

/** What settling a service changes. */
interface WorkState {
  subscriber: OwnerState
  account: OwnerState | null
  services: ServiceSession[]
  lines: Line[]
}

export class SessionWork implements UnitWork<WorkState> {
  private subscriber: OwnerState
  private account: OwnerState | null
  /** A copy, whose list of services is replaced and never changed in place. */
  readonly session: Session
  private lines: Line[] = []
  private readonly request: ChargeRequest
  private readonly identified: IdentifiedRequest
  private readonly context: ChargeContext
  /** The session has expired: what is reported is settled, and nothing is granted. */
  private readonly isLate: boolean

  constructor(
    view: ChargeView,
    session: Session,
    identified: IdentifiedRequest,
    context: ChargeContext,
  ) {
    this.subscriber = view.subscriber
    this.account = view.account
    this.session = withServices(session, session.services)
    this.identified = identified
    this.request = identified.request
    this.context = context
    this.isLate = session.state === 'expired'
  }

  run(): Decision {
    const { request, session, identified } = this
    const services = request.refund
      ? this.refund()
      : request.services.map((service) => this.service(service))
    if (request.kind === 'release' && !this.isLate) this.closeOthers()
    const reason = overallOf(request, services)
    const refused = opens(request.kind) && reason !== 'granted'
    let cost = 0
    for (const service of session.services) cost += costOf(service)
    const outcome: ChargeOutcome = {
      reason,
      detail: detailOf(reason, services, request, this.context.profile, this.isLate),
      aid: session.aid,
      sid: session.sid,
      transactionId: request.pretend ? '' : transactionIdOf(identified.sessionKey, session),
      services,
      cost,
      balances: request.wantBalances ? balanceReports(this.owners(), request) : null,
    }
    if (request.pretend || !this.hasTrace(services)) return { outcome, commit: null }
    finishSession(session, identified, outcome, refused, this.context)
    const { subscriber, account, lines } = this
    return { outcome, commit: { subscriber, account, session, lines } }
  }

  /** A start that names no service opens the session all the same: its updates will. */
  private hasTrace(services: readonly ServiceOutcome[]): boolean {
    const { kind, refund } = this.request
    if (refund) return services.some(({ reason }) => reason === 'granted')
    if (!opens(kind) || (kind === 'start' && services.length === 0)) return true
    return services.some(leavesTrace)
  }

  private owners() {
    const { subscriber, account } = this
    return { subscriber, account }
  }

  /** Settles one service and grants anew; a service that cannot be priced is left as it was. */
  private service(wanted: ServiceRequest): ServiceOutcome {
    if (wanted.parts !== null) return settleUnits(this, wanted, this.request.kind === 'event')
    return this.settle(wanted)
  }

  settle(wanted: ServiceRequest): ServiceOutcome {
    const kept = serviceOf(this.session, wanted)
    const used = newlyUsed(wanted, kept)
    const outcome =
      used < 0
        ? denied(wanted, 'totalBelow')
        : this.reported(askedOf(this.request, wanted, used, kept, this.isLate), kept)
    if (wanted.checksCredit && wanted.requested === 0) this.checkCredit(wanted, outcome)
    const left = findService(this.session, wanted)
    outcome.cost = left === undefined ? 0 : costOf(left)
    return outcome
  }

  /** Whether a unit could be granted, for who asks for none. */
  private checkCredit(wanted: ServiceRequest, outcome: ServiceOutcome): void {
    if (outcome.reason !== 'granted' || this.isLate) return
    const before = this.state()
    const asked = withVolumes(wanted, 1, 0, -1, wanted.calledNumber)
    const { reason, validityMs, finalUnit } = this.reported(asked, serviceOf(this.session, wanted))
    this.restore(before)
    outcome.reason = reason
    outcome.validityMs = validityMs
    if (reason !== 'granted') outcome.finalUnit = finalUnit
  }

  hasPrice(service: ServiceRequest): boolean {
    const { profile } = this.context
    if (profile === null) return false
    const usage = this.usage(service, this.request.eventTimeMs)
    return rateService(this.context, profile, usage) !== 'noRate'
  }

  state(): WorkState {
    const { subscriber, account, lines, session } = this
    return { subscriber, account, services: session.services, lines }
  }

  restore({ subscriber, account, services, lines }: WorkState): void {
    this.subscriber = subscriber
    this.account = account
    this.session.services = services
    this.lines = lines
  }

  private reported(asked: ServiceRequest, kept: ServiceSession): ServiceOutcome {
    if (this.isLate && asked.used === 0) return this.settledOnly(asked)
    const before = this.state()
    try {
      return this.settleService(asked, kept)
    } catch (error) {
      if (!(error instanceof PriceRangeError)) throw error
      this.restore(before)
      return denied(asked, 'pricing')
    }
  }

  private settleService(asked: ServiceRequest, kept: ServiceSession): ServiceOutcome {
    const { subscriber, account } = this
    const settledUse = this.isSplit(asked, kept.segment) ? this.settleEarlier(kept, asked) : null
    const service = settledUse === null ? kept : settledUse.service
    const left = settledUse === null ? asked : settledUse.asked
    const rated = this.rate(left, service)
    if (typeof rated !== 'string') return this.settleRated(service, left, rated)
    // Without a price only what was granted before can be settled.
    if (asked.used > 0 && service.segment === null && kept.segment === null) {
      this.subscriber = subscriber
      this.account = account
      return denied(asked, rated)
    }
    this.settleOne(service, left.used, 0, null, 'none')
    return asked.requested === 0 ? this.settledOnly(asked) : denied(asked, rated)
  }

  /** Whether usage goes on past the end of the segment that it began in. */
  private isSplit({ used }: ServiceRequest, segment: Segment | null): segment is Segment {
    if (used <= 0 || this.isLate || segment === null) return false
    return this.request.eventTimeMs > segment.endMs
  }

  /**
   * Usage that goes on past the end of its time band or cycle is split there: at the first one as
   * the network element says, if it does, else by time. What belongs before the last boundary is
   * settled, and the rest is left to do.
   */
  private settleEarlier(
    kept: ServiceSession,
    asked: ServiceRequest,
  ): { service: ServiceSession; asked: ServiceRequest } {
    const { eventTimeMs } = this.request
    const { requested, calledNumber } = asked
    let service = kept
    let left = asked
    while (this.isSplit(left, service.segment)) {
      const { segment } = service
      const { endMs, lastMs } = segment
      const sinceMs = Math.max(lastMs, service.reportedMs)
      const next = this.rateAt(left, endMs)
      if (next === null) break
      const earlier =
        left.usedBefore < 0
          ? splitByTime(left.used, sinceMs, endMs, eventTimeMs)
          : Math.min(left.used, left.usedBefore)
      this.settleOne(service, earlier, 0, null, 'ended', endMs)
      service = serviceOf(this.session, asked)
      left = withVolumes(left, requested, left.used - earlier, -1, calledNumber)
      service = this.beginSegment(service, next, endMs)
    }
    return { service, asked: left }
  }

  /** The segment that usage after a boundary belongs to, whatever holds by now. */
  private beginSegment(service: ServiceSession, next: RatedService, atMs: number): ServiceSession {
    const begun = startedService(service, this.opened(next), atMs)
    this.keep(begun)
    return begun
  }

  private settleRated(
    service: ServiceSession,
    asked: ServiceRequest,
    rated: Rated,
  ): ServiceOutcome {
    const { kind, pretend } = this.request
    const end = this.isLate ? 'expired' : kind === 'release' ? 'closed' : 'none'
    const settled = this.settleOne(service, asked.used, asked.requested, rated.start, end)
    if (asked.requested === 0) return this.settledOnly(asked)
    if (settled.granted === 0) {
      const nothing = denied(asked, 'noCredit')
      nothing.finalUnit = true
      return nothing
    }
    const quote = pretend ? this.quoteOf(settled, rated.start) : null
    if (kind === 'event') {
      const closed = this.useUp(settled, rated.start)
      // A refund will ask what the event took.
      this.keep(reopened(closed))
    }
    const untilMs = Math.min(rated.untilMs, settled.bucketsEndMs)
    return {
      ratingGroup: asked.ratingGroup,
      serviceIdentifier: asked.serviceIdentifier,
      usaget: asked.usaget,
      reason: 'granted',
      granted: settled.granted,
      parts: null,
      validityMs: kind === 'event' ? 0 : this.validityMs(untilMs),
      tariffChangeMs: kind === 'event' ? 0 : this.tariffChangeMs(rated.start),
      finalUnit: settled.finalUnit,
      cost: 0,
      quote,
    }
  }

  private useUp({ service, granted }: Settlement, next: SegmentStart | null): Settlement {
    return this.settleOne(service, granted, 0, next, 'closed')
  }

  /** The line that the grant becomes if it is used up; the states stay as they are. */
  private quoteOf(granted: Settlement, next: SegmentStart | null): Quote | null {
    const before = this.state()
    this.useUp(granted, next)
    const line = this.lines.length > before.lines.length ? this.lines.at(-1) : undefined
    this.restore(before)
    if (line === undefined) return null
    return { line, charge: finalCharge(line.charged, line.taxes, line.rounding) }
  }

  /** Who reports late and means to go on is told that there is no more. */
  private settledOnly(wanted: ServiceRequest): ServiceOutcome {
    const outcome = settledOnly(wanted)
    outcome.finalUnit = this.isLate && this.request.kind === 'update'
    return outcome
  }

  private rate(asked: ServiceRequest, kept: ServiceSession): Rated | Reason {
    const { eventTimeMs } = this.request
    const { requested, used } = asked
    if (!needsRating(requested, used, kept, this.isLate, eventTimeMs)) return UNRATED
    const { profile } = this.context
    if (profile === null) return 'unknownSubscriber'
    const rated = rateService(this.context, profile, this.usage(asked, eventTimeMs))
    if (typeof rated === 'string' || wantsNone(rated.wanted)) return rated
    return { start: this.opened(rated), untilMs: rated.untilMs }
  }

  /** The start of a segment, with the counters that pay for it open. */
  private opened(rated: RatedService): SegmentStart {
    const profile = present(this.context.profile, 'profile that it was rated with')
    const { owners, start } = openPayers(this.owners(), rated, profile)
    this.subscriber = owners.subscriber
    this.account = owners.account
    return start
  }

  /** Null if it cannot be rated then. */
  private rateAt(asked: ServiceRequest, atMs: number): RatedService | null {
    const { profile } = this.context
    if (profile === null) return null
    const rated = rateService(this.context, profile, this.usage(asked, atMs))
    return typeof rated === 'string' ? null : rated
  }

  private usage(service: ServiceRequest, atMs: number) {
    return { service, fields: this.request.fields, atMs, nowMs: this.context.nowMs }
  }

  private settleOne(
    service: ServiceSession,
    used: number,
    requested: number,
    next: SegmentStart | null,
    end: ChargeProgram['end'],
    atMs = this.request.eventTimeMs,
  ): Settlement {
    const { subscriber, account } = this
    const state = { subscriber, account, service }
    const { usaget, segment, reservation } = service
    const exact = this.request.kind === 'event'
    const wanted = { usaget, used, requested, atMs, end, exact, held: reservation.units }
    const program = buildProgram(this.context.catalogue, state, segment, next, wanted)
    const settled = settle(state, program)
    this.subscriber = settled.subscriber
    this.account = settled.account
    this.keep(settled.service)
    for (const change of settled.changes) {
      if (change.state !== 'open') this.line(settled.service, change)
    }
    return settled
  }

  private keep(service: ServiceSession): void {
    const { session } = this
    const { services } = session
    const known = findService(session, service)
    if (known === undefined) {
      session.services = appended(services, service)
      return
    }
    session.services = services.slice()
    session.services[services.indexOf(known)] = service
  }

  /** A release ends every service of the session, also those it does not name. */
  private closeOthers(): void {
    for (const service of this.session.services) {
      if (service.segment !== null) this.settleOne(service, 0, 0, null, 'closed')
    }
  }

  private refund(): ServiceOutcome[] {
    const { subscriber, account, session } = this
    session.services = session.services.slice()
    const state = { subscriber, account, session }
    const hasPrice = (service: ServiceRequest) => this.hasPrice(service)
    const refunded = refundSession(state, this.identified, this.context, hasPrice)
    this.subscriber = refunded.subscriber
    this.account = refunded.account
    this.lines = refunded.lines
    return refunded.services
  }

  private line(service: ServiceSession, change: SegmentChange): void {
    const { session } = this
    const tag = serviceTagOf(this.identified.sessionKey, session, session.services.indexOf(service))
    this.lines = appended(this.lines, lineOf(session, service, change, tag))
  }

  private tariffChangeMs(granting: SegmentStart | null): number {
    const { eventTimeMs } = this.request
    if (granting === null) return 0
    const { endMs } = granting
    return endMs - eventTimeMs <= this.context.settings.validityMs ? endMs : 0
  }

  private validityMs(untilMs: number): number {
    const left = Math.min(this.context.settings.validityMs, untilMs - this.request.eventTimeMs)
    return Math.max(1000, Math.floor(left / 1000) * 1000)
  }
}
