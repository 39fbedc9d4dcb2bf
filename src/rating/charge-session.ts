/**
 * One request against one session, decided in memory: what is answered, and what is to be
 * committed. Pure: the hot path, `pretend` and the tests call it with the states they hold.
 */
import type { OwnerState } from '../domain/bucket.ts'
import type { SubscriberProfile } from '../domain/catalogue.ts'
import {
  type ChargeOutcome,
  plainOutcome,
  type Reason,
  type ServiceOutcome,
} from '../domain/charge-outcome.ts'
import type { ChargeRequest, ServiceRequest } from '../domain/charge-request.ts'
import type { Line } from '../domain/line.ts'
import { lineOf, serviceTagOf, sessionTagOf } from '../domain/lines.ts'
import { findAnswer, misfit, remember } from '../domain/replay.ts'
import type { SegmentStart, ServiceSession, Session } from '../domain/session.ts'
import {
  type ChargeProgram,
  emptyService,
  type SegmentChange,
  type Settlement,
  settle,
} from '../domain/settle.ts'
import { PriceRangeError } from '../domain/tariff.ts'
import { balanceReports, denied, leavesTrace, settledOnly, unpriced } from './answers.ts'
import { buildProgram, needsRating, type RatingContext, rateService } from './program.ts'

/** The states that a request is decided on. */
export interface ChargeView {
  subscriber: OwnerState
  /** The account's shared buckets; null if the account never had one. */
  account: OwnerState | null
  session: Session | null
}

export interface ChargeSettings {
  /** Longest validity of a grant, ms. */
  validityMs: number
  /** How long after its validity a session waits for the network element, ms. */
  graceMs: number
  /** How long a closed session keeps its answers, ms. */
  replayMs: number
}

export interface ChargeContext extends RatingContext {
  settings: ChargeSettings
  /** Valid at the event time; null if the subscriber is unknown or was not needed. */
  profile: SubscriberProfile | null
  /** The node's clock, epoch ms: chooses expiry. */
  nowMs: number
}

/** A request with its identity worked out. */
export interface IdentifiedRequest {
  request: ChargeRequest
  /** Digest of origin and session id: names the session in the ledger. */
  sessionKey: string
  digest: number
}

/** `commit` null: nothing moves, and the outcome can be sent at once. */
export interface Decision {
  outcome: ChargeOutcome
  commit: ChargeCommit | null
}

/** What has to be written together for the outcome to become true. */
export interface ChargeCommit {
  subscriber: OwnerState
  account: OwnerState | null
  session: Session
  lines: Line[]
}

/** Whether deciding needs the subscriber's profile (design.md §2: a release always succeeds). */
export function needsProfile(request: ChargeRequest, session: Session | null): boolean {
  if (request.kind === 'start' || request.kind === 'event') return true
  if (session === null) return false
  const isLate = session.state === 'expired'
  // Nothing is settled on another tombstone.
  if (session.state !== 'open' && !isLate) return false
  return request.services.some((service) =>
    needsRating(askedOf(request, service, isLate), serviceOf(session, service), isLate),
  )
}

/** Decides a request. Throws nothing but broken invariants. */
export function chargeSession(
  view: ChargeView,
  identified: IdentifiedRequest,
  context: ChargeContext,
): Decision {
  const { request, digest } = identified
  const known = liveSession(view.session, context.nowMs)
  if (known !== null) {
    const answer = findAnswer(known, request, digest)
    if (answer !== null) return { outcome: answer, commit: null }
  }
  const { aid, sid } = view.subscriber
  const problem = misfit(known, request)
  if (problem !== null) {
    return { outcome: plainOutcome(problem.reason, problem.detail, aid, sid), commit: null }
  }
  const opening = request.kind === 'start' || request.kind === 'event'
  if (opening && context.profile === null) {
    return { outcome: plainOutcome('unknownSubscriber'), commit: null }
  }
  const session = known === null || opening ? openSession(view, request, context) : known
  const work = new SessionWork({ ...view, session }, identified, context)
  return work.run()
}

/** A tombstone past its time counts as gone, whether or not the sweep has been there. */
function liveSession(session: Session | null, nowMs: number): Session | null {
  if (session === null) return null
  return session.state !== 'open' && nowMs >= session.expiresMs ? null : session
}

function openSession(view: ChargeView, request: ChargeRequest, context: ChargeContext): Session {
  return {
    aid: view.subscriber.aid,
    sid: view.subscriber.sid,
    origin: request.origin,
    sessionId: request.sessionId,
    state: 'open',
    openedMs: context.nowMs,
    expiresMs: 0,
    lastNumber: -1,
    processed: 0,
    answered: [],
    services: [],
  }
}

function serviceOf(session: Session, wanted: ServiceRequest): ServiceSession {
  return (
    session.services.find((service) => isSame(service, wanted)) ??
    emptyService(wanted.ratingGroup, wanted.usaget, wanted.calledNumber)
  )
}

/** Only who is still in session, and goes on, is granted more. */
function askedOf(request: ChargeRequest, wanted: ServiceRequest, isLate: boolean): ServiceRequest {
  const isSilent = isLate || request.kind === 'release' || wanted.requested < 0
  return isSilent ? { ...wanted, requested: 0 } : wanted
}

function isSame(service: ServiceSession, wanted: ServiceRequest): boolean {
  return service.ratingGroup === wanted.ratingGroup && service.usaget === wanted.usaget
}

/** The states of one request while its services are settled one after the other. */
class SessionWork {
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
    const services = request.services.map((service) => this.service(service))
    if (request.kind === 'release' && !this.isLate) this.closeOthers()
    const reason = this.overall(services)
    const refused = isOpening(request) && reason !== 'granted'
    const outcome: ChargeOutcome = {
      reason,
      detail: this.detail(reason, services),
      aid: session.aid,
      sid: session.sid,
      transactionId: request.pretend ? '' : this.transactionId(),
      services,
      balances: request.wantBalances ? balanceReports(this.owners(), request) : null,
    }
    if (request.pretend || (isOpening(request) && !services.some(leavesTrace))) {
      return { outcome, commit: null }
    }
    this.finish(outcome, refused)
    const { lines } = this
    return { outcome, commit: { ...this.owners(), session, lines } }
  }

  private owners() {
    const { subscriber, account } = this
    return { subscriber, account }
  }

  private detail(reason: Reason, services: readonly ServiceOutcome[]): string {
    const { profile } = this.context
    const late = this.isLate ? ['the session had expired'] : []
    if (reason === 'granted') return [...late, ...unpriced(services)].join('; ')
    // The code for a missing plan is that of a missing subscriber: only the text tells them apart.
    const isPlanMissing = reason === 'unknownSubscriber' && profile !== null
    return isPlanMissing ? `plan ${profile.plan} is not in the catalogue` : ''
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
    if (!open && session.state !== 'expired') session.services = []
  }

  /** Settles one service and grants anew; a service that cannot be priced is left as it was. */
  private service(wanted: ServiceRequest): ServiceOutcome {
    if (this.isLate && wanted.used === 0) return this.settledOnly(wanted)
    const kept = serviceOf(this.session, wanted)
    const asked = askedOf(this.request, wanted, this.isLate)
    const rated = this.rate(asked, kept)
    try {
      if (rated.reason === 'granted') return this.settleRated(wanted, kept, asked, rated)
      // Without a price only what was granted before can be settled.
      const unpriced = asked.used > 0 && kept.segment === null
      if (unpriced) return denied(wanted, rated.reason)
      this.settleOne(kept, { ...asked, requested: 0 }, null, 'none')
      return asked.requested === 0 ? this.settledOnly(wanted) : denied(wanted, rated.reason)
    } catch (error) {
      if (error instanceof PriceRangeError) return denied(wanted, 'pricing')
      throw error
    }
  }

  private settleRated(
    wanted: ServiceRequest,
    kept: ServiceSession,
    asked: ServiceRequest,
    rated: Rated,
  ): ServiceOutcome {
    const { kind } = this.request
    const end = this.isLate ? 'expired' : kind === 'release' ? 'closed' : 'none'
    const settled = this.settleOne(kept, asked, rated.start, end)
    if (asked.requested === 0) return this.settledOnly(wanted)
    if (settled.granted === 0) return { ...denied(wanted, 'noCredit'), finalUnit: true }
    if (kind === 'event') {
      const used = { ...asked, used: settled.granted, requested: 0 }
      this.settleOne(settled.service, used, rated.start, 'closed')
    }
    const untilMs = Math.min(rated.untilMs, settled.bucketsEndMs)
    return {
      ratingGroup: wanted.ratingGroup,
      usaget: wanted.usaget,
      reason: 'granted',
      granted: settled.granted,
      validityMs: kind === 'event' ? 0 : this.validityMs(untilMs),
      finalUnit: settled.finalUnit,
    }
  }

  /** Who reports late and means to go on is told that there is no more. */
  private settledOnly(wanted: ServiceRequest): ServiceOutcome {
    const finalUnit = this.isLate && this.request.kind === 'update'
    return { ...settledOnly(wanted), finalUnit }
  }

  private rate(asked: ServiceRequest, kept: ServiceSession): Rated {
    if (!needsRating(asked, kept, this.isLate))
      return { reason: 'granted', start: null, untilMs: 0 }
    const { profile } = this.context
    if (profile === null) return { reason: 'unknownSubscriber', start: null, untilMs: 0 }
    const rated = rateService(this.context, profile, asked, this.request.eventTimeMs)
    if (typeof rated === 'string') return { reason: rated, start: null, untilMs: 0 }
    return { reason: 'granted', ...rated }
  }

  private settleOne(
    service: ServiceSession,
    asked: ServiceRequest,
    next: SegmentStart | null,
    end: ChargeProgram['end'],
  ): Settlement {
    const owners = this.owners()
    const exact = this.request.kind === 'event'
    const { eventTimeMs } = this.request
    const program = buildProgram(owners, asked, next, eventTimeMs, end, exact)
    const settled = settle({ ...owners, service }, program)
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
      const silent = { ratingGroup, usaget, calledNumber, used: 0, requested: 0 }
      this.settleOne(service, silent, null, 'closed')
    }
  }

  private line(service: ServiceSession, change: SegmentChange): void {
    const { session } = this
    const tag = serviceTagOf(this.identified.sessionKey, session, session.services.indexOf(service))
    this.lines.push(lineOf(session, service, change, tag))
  }

  private overall(services: ServiceOutcome[]): Reason {
    if (this.request.kind === 'release' || services.length === 0) return 'granted'
    if (services.some((service) => service.reason === 'granted')) return 'granted'
    return services[0]?.reason ?? 'granted'
  }

  private validityMs(untilMs: number): number {
    const left = Math.min(this.context.settings.validityMs, untilMs - this.request.eventTimeMs)
    return Math.max(1000, Math.floor(left / 1000) * 1000)
  }
}

interface Rated {
  reason: Reason
  start: SegmentStart | null
  untilMs: number
}

function isOpening(request: ChargeRequest): boolean {
  return request.kind === 'start' || request.kind === 'event'
}
