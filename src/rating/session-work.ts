/** The states of one request while its services are settled one after the other. */
import type { OwnerState } from '../domain/bucket.ts'
import type { ChargeOutcome, Quote, Reason, ServiceOutcome } from '../domain/charge-outcome.ts'
import type { ChargeProgram, SegmentChange, Settlement } from '../domain/charge-program.ts'
import {
  type ChargeRequest,
  opens,
  type ServiceRequest,
  serviceRequest,
} from '../domain/charge-request.ts'
import type { Line } from '../domain/line.ts'
import { lineOf, serviceTagOf, sessionTagOf } from '../domain/lines.ts'
import { remember } from '../domain/replay.ts'
import { newlyUsed, serviceOf } from '../domain/reported.ts'
import { startedService } from '../domain/segment.ts'
import type { SegmentStart, ServiceSession, Session } from '../domain/session.ts'
import { settle } from '../domain/settle.ts'
import { PriceRangeError } from '../domain/tariff.ts'
import { balanceReports, denied, detailOf, leavesTrace, overallOf, settledOnly } from './answers.ts'
import type { ChargeContext, ChargeView, Decision, IdentifiedRequest } from './decision.ts'
import { finalCharge } from './line-tax.ts'
import { buildProgram, needsRating, openPayers, type RatedService, rateService } from './program.ts'
import { refundSession } from './refund.ts'
import { splitByTime } from './split.ts'

/** Only who is still in session, and goes on, is granted more. */
export function askedOf(
  request: ChargeRequest,
  wanted: ServiceRequest,
  isLate: boolean,
): ServiceRequest {
  const isSilent = isLate || request.kind === 'release' || wanted.requested < 0
  return isSilent ? { ...wanted, requested: 0 } : wanted
}

/** A total was not used since the tariff change was told: what it says of that is of no use. */
function usedBeforeOf({ isTotal, usedBefore }: ServiceRequest): number {
  return isTotal ? -1 : usedBefore
}

/** What a service has cost so far, micros before tax. */
function costOf({ endedMicros, segment }: ServiceSession): number {
  return endedMicros + (segment?.charged ?? 0)
}

/** The service of an event with its segment. */
function reopened({ service, changes }: Settlement): ServiceSession {
  const segment = changes.at(-1)?.segment ?? null
  return { ...service, segment, endedMicros: service.endedMicros - (segment?.charged ?? 0) }
}

/** What holds for a service from now on, or why nothing does. */
interface Rated {
  reason: Reason
  start: SegmentStart | null
  untilMs: number
}

const UNRATED: Rated = { reason: 'granted', start: null, untilMs: 0 }

export class SessionWork {
  private subscriber: OwnerState
  private account: OwnerState | null
  private readonly session: Session
  private readonly lines: Line[] = []
  private readonly request: ChargeRequest
  private readonly identified: IdentifiedRequest
  private readonly context: ChargeContext
  /** The session has expired: what is reported is settled, and nothing is granted. */
  private readonly isLate: boolean

  constructor(
    view: ChargeView & { session: Session },
    identified: IdentifiedRequest,
    context: ChargeContext,
  ) {
    this.subscriber = view.subscriber
    this.account = view.account
    this.session = { ...view.session, services: [...view.session.services] }
    this.identified = identified
    this.request = identified.request
    this.context = context
    this.isLate = view.session.state === 'expired'
  }

  run(): Decision {
    const { request, session } = this
    const services = request.refund
      ? this.refund()
      : request.services.map((service) => this.service(service))
    if (request.kind === 'release' && !this.isLate) this.closeOthers()
    const reason = overallOf(request, services)
    const refused = opens(request.kind) && reason !== 'granted'
    const outcome: ChargeOutcome = {
      reason,
      detail: detailOf(reason, services, request, this.context.profile, this.isLate),
      aid: session.aid,
      sid: session.sid,
      transactionId: request.pretend ? '' : this.transactionId(),
      services,
      cost: this.session.services.reduce((cost, service) => cost + costOf(service), 0),
      balances: request.wantBalances ? balanceReports(this.owners(), request) : null,
    }
    if (request.pretend || !this.hasTrace(services)) return { outcome, commit: null }
    this.finish(outcome, refused)
    const { lines } = this
    return { outcome, commit: { ...this.owners(), session, lines } }
  }

  /** A start that names no service opens the session all the same: its updates will. */
  private hasTrace(services: readonly ServiceOutcome[]): boolean {
    const { kind } = this.request
    if (!opens(kind) || (kind === 'start' && services.length === 0)) return true
    return services.some(leavesTrace)
  }

  private owners() {
    const { subscriber, account } = this
    return { subscriber, account }
  }

  private transactionId(): string {
    const { session, identified } = this
    return `${sessionTagOf(identified.sessionKey, session)}-${session.processed + 1}`
  }

  private finish(outcome: ChargeOutcome, refused: boolean): void {
    const { request, session } = this
    const { settings, nowMs } = this.context
    session.processed += 1
    if (request.requestNumber >= 0) session.lastNumber = request.requestNumber
    const { requestNumber } = request
    const { digest } = this.identified
    session.answered = remember(session.answered, { requestNumber, digest, outcome })
    if (refused) session.state = 'denied'
    else if (request.kind === 'release' || request.kind === 'event') session.state = 'closed'
    const open = session.state === 'open'
    const livesUntilMs = nowMs + settings.validityMs + settings.graceMs
    // A thread that began while the clock was set back must not cut short what was granted before.
    if (open) session.expiresMs = Math.max(session.expiresMs, livesUntilMs)
    else session.expiresMs = nowMs + settings.replayMs
    // What late usage, or the refund of an event, will need stays.
    const isNeeded = open || session.state === 'expired' || request.kind === 'event'
    if (!isNeeded || refused) session.services = []
  }

  /** Settles one service and grants anew; a service that cannot be priced is left as it was. */
  private service(wanted: ServiceRequest): ServiceOutcome {
    const kept = serviceOf(this.session, wanted)
    const used = newlyUsed(wanted, kept)
    const outcome =
      used < 0
        ? denied(wanted, 'totalBelow')
        : this.reported({ ...wanted, used, usedBefore: usedBeforeOf(wanted) }, kept.calledNumber)
    outcome.cost = costOf(serviceOf(this.session, wanted))
    return outcome
  }

  private reported(wanted: ServiceRequest, calledNumber: string): ServiceOutcome {
    if (this.isLate && wanted.used === 0) return this.settledOnly(wanted)
    const asked = askedOf(this.request, wanted, this.isLate)
    const before = this.owners()
    const services = [...this.session.services]
    const count = this.lines.length
    try {
      // What a report leaves out is as it was: the rate may depend on it.
      const number = asked.calledNumber === '' ? calledNumber : asked.calledNumber
      return this.settleService(wanted, { ...asked, calledNumber: number })
    } catch (error) {
      if (!(error instanceof PriceRangeError)) throw error
      Object.assign(this, before)
      this.session.services = services
      this.lines.length = count
      return denied(wanted, 'pricing')
    }
  }

  private settleService(wanted: ServiceRequest, asked: ServiceRequest): ServiceOutcome {
    const before = this.owners()
    const kept = serviceOf(this.session, wanted)
    const settledUse = this.settleEarlier(kept, asked)
    const rated = this.rate(settledUse.asked, settledUse.service)
    if (rated.reason === 'granted') {
      return this.settleRated(wanted, settledUse.service, settledUse.asked, rated)
    }
    // Without a price only what was granted before can be settled.
    const isUnpriced =
      asked.used > 0 && settledUse.service.segment === null && kept.segment === null
    if (isUnpriced) {
      Object.assign(this, before)
      return denied(wanted, rated.reason)
    }
    this.settleOne(settledUse.service, { ...settledUse.asked, requested: 0 }, null, 'none')
    return asked.requested === 0 ? this.settledOnly(wanted) : denied(wanted, rated.reason)
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
    let service = kept
    let left = asked
    while (left.used > 0 && !this.isLate && service.segment !== null) {
      const { segment } = service
      if (eventTimeMs <= segment.endMs) break
      const { endMs } = segment
      const sinceMs = Math.max(segment.lastMs, service.reportedMs)
      const next = this.rateAt({ ...left, requested: 1 }, endMs)
      if (next === null) break
      const earlier =
        left.usedBefore < 0
          ? splitByTime(left.used, sinceMs, endMs, eventTimeMs)
          : Math.min(left.used, left.usedBefore)
      const opening = { ...left, used: earlier, requested: 0 }
      this.settleOne(service, opening, null, 'ended', endMs)
      service = serviceOf(this.session, asked)
      left = { ...left, used: left.used - earlier, usedBefore: -1 }
      service = this.beginSegment(service, next, endMs)
    }
    return { service, asked: left }
  }

  /** The segment that usage after a boundary belongs to, whatever holds by now. */
  private beginSegment(service: ServiceSession, next: RatedService, atMs: number): ServiceSession {
    const opened = openPayers(this.owners(), next)
    this.subscriber = opened.owners.subscriber
    this.account = opened.owners.account
    const begun = startedService(service, opened.start, atMs)
    this.keep(begun)
    return begun
  }

  private settleRated(
    wanted: ServiceRequest,
    kept: ServiceSession,
    asked: ServiceRequest,
    rated: Rated,
  ): ServiceOutcome {
    const { kind, pretend } = this.request
    const end = this.isLate ? 'expired' : kind === 'release' ? 'closed' : 'none'
    const settled = this.settleOne(kept, asked, rated.start, end)
    if (asked.requested === 0) return this.settledOnly(wanted)
    if (settled.granted === 0) return { ...denied(wanted, 'noCredit'), finalUnit: true }
    const quote = pretend ? this.quoteOf(settled, asked, rated.start) : null
    if (kind === 'event') {
      const closed = this.useUp(settled, asked, rated.start)
      // A refund will ask what the event took.
      this.keep(reopened(closed))
    }
    const untilMs = Math.min(rated.untilMs, settled.bucketsEndMs)
    return {
      ratingGroup: wanted.ratingGroup,
      usaget: wanted.usaget,
      reason: 'granted',
      granted: settled.granted,
      validityMs: kind === 'event' ? 0 : this.validityMs(untilMs),
      tariffChangeMs: kind === 'event' ? 0 : this.tariffChangeMs(rated.start),
      finalUnit: settled.finalUnit,
      cost: 0,
      quote,
    }
  }

  private useUp(granted: Settlement, asked: ServiceRequest, next: SegmentStart | null): Settlement {
    const used = { ...asked, used: granted.granted, requested: 0 }
    return this.settleOne(granted.service, used, next, 'closed')
  }

  /** The line that the grant becomes if it is used up; the states stay as they are. */
  private quoteOf(
    granted: Settlement,
    asked: ServiceRequest,
    next: SegmentStart | null,
  ): Quote | null {
    const before = this.owners()
    const count = this.lines.length
    this.useUp(granted, asked, next)
    const [line] = this.lines.splice(count).slice(-1)
    Object.assign(this, before)
    this.keep(granted.service)
    if (line === undefined) return null
    return { line, charge: finalCharge(line.charged, line.taxes, line.rounding) }
  }

  /** Who reports late and means to go on is told that there is no more. */
  private settledOnly(wanted: ServiceRequest): ServiceOutcome {
    const finalUnit = this.isLate && this.request.kind === 'update'
    return { ...settledOnly(wanted), finalUnit }
  }

  private rate(asked: ServiceRequest, kept: ServiceSession): Rated {
    const { eventTimeMs } = this.request
    if (!needsRating(asked, kept, this.isLate, eventTimeMs)) return UNRATED
    const { profile } = this.context
    if (profile === null) return { ...UNRATED, reason: 'unknownSubscriber' }
    const rated = rateService(this.context, profile, this.usage(asked, eventTimeMs))
    if (typeof rated === 'string') return { ...UNRATED, reason: rated }
    const { owners, start } = openPayers(this.owners(), rated)
    this.subscriber = owners.subscriber
    this.account = owners.account
    return { reason: 'granted', start, untilMs: rated.untilMs }
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
    asked: ServiceRequest,
    next: SegmentStart | null,
    end: ChargeProgram['end'],
    atMs = this.request.eventTimeMs,
  ): Settlement {
    const owners = this.owners()
    const exact = this.request.kind === 'event'
    const { usaget, used, requested } = asked
    const wanted = { usaget, used, requested, atMs, end, exact }
    const { catalogue } = this.context
    const program = buildProgram(catalogue, owners, service.segment, next, wanted)
    const { subscriber, account } = owners
    const settled = settle({ subscriber, account, service }, program)
    this.subscriber = settled.subscriber
    this.account = settled.account
    this.keep(settled.service)
    for (const change of settled.changes) this.line(settled.service, change)
    return settled
  }

  private keep(service: ServiceSession): void {
    const index = this.session.services.findIndex(
      (kept) => kept.ratingGroup === service.ratingGroup && kept.usaget === service.usaget,
    )
    if (index < 0) this.session.services.push(service)
    else this.session.services[index] = service
  }

  /** A release ends every service of the session, also those it does not name. */
  private closeOthers(): void {
    for (const service of [...this.session.services]) {
      if (service.segment === null) continue
      const { ratingGroup, usaget, calledNumber } = service
      const silent = serviceRequest({ ratingGroup, usaget, calledNumber, requested: 0 })
      this.settleOne(service, silent, null, 'closed')
    }
  }

  /** Gives back what the event took. */
  private refund(): ServiceOutcome[] {
    const refunded = refundSession({ ...this.owners(), session: this.session }, this.request)
    this.subscriber = refunded.subscriber
    this.account = refunded.account
    for (const [service, change] of refunded.changes) this.line(service, change)
    return refunded.services
  }

  private line(service: ServiceSession, change: SegmentChange): void {
    const { session } = this
    const tag = serviceTagOf(this.identified.sessionKey, session, session.services.indexOf(service))
    this.lines.push(lineOf(session, service, change, tag))
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
