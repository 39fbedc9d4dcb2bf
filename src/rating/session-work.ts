/** Decides one request on a session: settles its services one after the other. */
import type { ChargeOutcome, Quote, Reason, ServiceOutcome } from '../domain/charge-outcome.ts'
import type { Settlement } from '../domain/charge-program.ts'
import {
  type ChargeRequest,
  opensSession,
  type ServiceRequest,
  serviceRequest,
  withVolumes,
} from '../domain/charge-request.ts'
import { transactionIdOf } from '../domain/lines.ts'
import { costOf, EMPTY_RESERVATION, hasNoUsage, reopened } from '../domain/segment.ts'
import type { Reservation, SegmentStart, ServiceSession, Session } from '../domain/session.ts'
import { findService, newlyUsed, serviceOf } from '../domain/session-services.ts'
import { PriceRangeError } from '../domain/tariff.ts'
import { actionsOn, applyAction, grantsNothing, openWithoutCredit } from './actions.ts'
import {
  balanceReports,
  denied,
  detailOf,
  mustBeStored,
  overallReason,
  settledOnly,
} from './answers.ts'
import { type GrantTerms, termsOfGrant } from './boundaries.ts'
import type { ChargeContext, ChargeDecision, ChargeView, IdentifiedRequest } from './decision.ts'
import { settleEarlier } from './earlier-usage.ts'
import { effectiveRequest } from './effective-request.ts'
import { finishSession, tariffChangeOf, validityOf } from './finish.ts'
import { needsNoCounters } from './funding-sources.ts'
import { finalCharge } from './line-tax.ts'
import { endsUnused, needsRating } from './program.ts'
import { refundSession } from './refund.ts'
import { RequestStates } from './request-states.ts'
import { ServiceRates } from './service-rates.ts'
import { settleUnits, type UnitWork, type WorkState } from './service-units.ts'

/** The terms of a service from now on. */
interface Rated {
  start: SegmentStart | null
  untilMs: number
}

const UNRATED: Rated = { start: null, untilMs: 0 }

export class SessionWork implements UnitWork<WorkState> {
  readonly session: Session
  readonly #states: RequestStates
  readonly #request: ChargeRequest
  readonly #identified: IdentifiedRequest
  readonly #context: ChargeContext
  readonly #rates: ServiceRates
  /** Whether the session has expired: reported usage is settled, and nothing is granted. */
  readonly #hasExpired: boolean
  readonly #view: ChargeView
  /** Whether an action of an event rule prevents grants of the current service. */
  #isStopped = false
  /** The event rule that bars a service; empty if none does. */
  #barredBy = ''

  constructor(
    view: ChargeView,
    session: Session,
    identified: IdentifiedRequest,
    context: ChargeContext,
  ) {
    this.#view = view
    this.#states = new RequestStates(view, session, identified, context)
    this.session = this.#states.session
    this.#identified = identified
    this.#request = identified.request
    this.#context = context
    this.#rates = new ServiceRates(identified.request, context)
    this.#hasExpired = session.state === 'expired'
  }

  run(): ChargeDecision {
    const { session } = this
    const request = this.#request
    const identified = this.#identified
    const services = request.refund ? this.#refund() : this.#charge()
    if (request.kind === 'start') openWithoutCredit(services, request, this.#context)
    if (request.kind === 'release' && !this.#hasExpired) this.#closeOthers()
    const reason = overallReason(request, services)
    const refused = opensSession(request.kind) && reason !== 'granted'
    let cost = 0
    for (const service of session.services) cost += costOf(service)
    const outcome: ChargeOutcome = {
      reason,
      detail:
        reason === 'capReached'
          ? this.#barredBy
          : detailOf(reason, services, request, this.#context.profile, this.#hasExpired),
      aid: session.identity.aid,
      sid: session.identity.sid,
      transactionId: request.pretend
        ? ''
        : transactionIdOf(identified.sessionKey, session, session.processed + 1),
      services,
      cost,
      balances: request.wantBalances
        ? balanceReports(this.#states.owners, request, this.#context)
        : null,
    }
    if (request.pretend || !this.#mustCommit(services)) return { outcome, commit: null }
    finishSession(session, identified, outcome, refused, this.#context)
    const { subscriber, account } = this.#states.owners
    const { lines } = this.#states
    return { outcome, commit: { subscriber, account, session, lines } }
  }

  /** A start without services opens the session as well, since its updates have services. */
  #mustCommit(services: readonly ServiceOutcome[]): boolean {
    const { kind, refund, isRecord = false } = this.#request
    if (refund) return services.some(({ reason }) => reason === 'granted')
    if (!opensSession(kind) || (kind === 'start' && services.length === 0)) return true
    // A record is charged as a whole, so that the whole record can be submitted again.
    if (isRecord) return services.every(({ reason }) => reason === 'granted')
    return services.some(mustBeStored)
  }

  /**
   * Settles the services. If actions of event rules are in force afterwards, services that they
   * stop are settled again without grants: reservations do not change what is in force.
   */
  #charge(): ServiceOutcome[] {
    const { services } = this.#request
    if (this.#context.actionRules === null || this.#hasExpired) {
      return services.map((service) => this.#service(service))
    }
    const before = this.state()
    let outcomes = services.map((service) => this.#service(service))
    const actions = this.#actionsOn(outcomes)
    if (actions === null) return outcomes
    if (actions.some(grantsNothing)) {
      this.restore(before)
      outcomes = services.map((service, index) => {
        this.#isStopped = grantsNothing(actions[index] ?? null)
        return this.#service(service)
      })
    }
    for (const [index, action] of actions.entries()) {
      const outcome = outcomes[index]
      if (action === null || outcome === undefined) continue
      applyAction(outcome, action, this.#request, this.#context)
      if (outcome.reason === 'capReached') this.#barredBy ||= action.rule.document.event_code
    }
    return outcomes
  }

  #actionsOn(outcomes: readonly ServiceOutcome[]) {
    const { session } = this
    const { owners, lines } = this.#states
    return actionsOn(this.#view, { ...owners, session, lines }, outcomes, {
      identified: this.#identified,
      context: this.#context,
    })
  }

  /**
   * Settles one service and makes the next grant. A service that cannot be priced is left
   * unchanged.
   */
  #service(request: ServiceRequest): ServiceOutcome {
    if (request.parts !== null) return settleUnits(this, request, this.#request.kind === 'event')
    return this.settle(request)
  }

  settle(request: ServiceRequest): ServiceOutcome {
    const { services } = this.session
    const previous = serviceOf(this.session, request)
    const used = newlyUsed(request, previous)
    // An event reserves nothing, which would have to be released.
    if (this.#isStopped && used === 0 && this.#request.kind === 'event') return settledOnly(request)
    const isSilent = this.#hasExpired || this.#isStopped
    const outcome =
      used < 0
        ? denied(request, 'totalBelow')
        : this.#settleReport(
            effectiveRequest(this.#request, request, used, previous, isSilent),
            previous,
          )
    // A service without any grant or usage is not added to the session.
    const isNothing = outcome.reason !== 'granted' || this.#isStopped
    if (isNothing && used === 0 && !services.includes(previous)) this.session.services = services
    if (request.checksCredit && request.requested === 0) this.#checkCredit(request, outcome)
    const left = findService(this.session, request)
    outcome.cost = left === undefined ? 0 : costOf(left)
    return outcome
  }

  /** Determines whether one unit could be granted, without granting it. */
  #checkCredit(request: ServiceRequest, outcome: ServiceOutcome): void {
    const isWithoutGrant = this.#hasExpired || this.#isStopped || this.#request.kind === 'release'
    if (outcome.reason !== 'granted' || isWithoutGrant) return
    const before = this.state()
    const effective = withVolumes(request, 1, 0, -1, request.calledNumber)
    const { reason, validityMs, finalUnit } = this.#settleReport(
      effective,
      serviceOf(this.session, request),
    )
    this.restore(before)
    outcome.reason = reason
    outcome.validityMs = validityMs
    if (reason !== 'granted') outcome.finalUnit = finalUnit
  }

  hasPrice(service: ServiceRequest): boolean {
    return this.#rates.hasPrice(service)
  }

  state(): WorkState {
    return this.#states.snapshot()
  }

  restore(state: WorkState): void {
    this.#states.restore(state)
  }

  #settleReport(effective: ServiceRequest, previous: ServiceSession): ServiceOutcome {
    if (this.#hasExpired && effective.used === 0) return this.#settledOnly(effective)
    const before = this.state()
    try {
      return this.#settleService(effective, previous)
    } catch (error) {
      if (!(error instanceof PriceRangeError)) throw error
      this.restore(before)
      return denied(effective, 'pricing')
    }
  }

  #settleService(effective: ServiceRequest, previous: ServiceSession): ServiceOutcome {
    const { owners } = this.#states
    const {
      service,
      remaining,
      carried: carriedReservation,
    } = settleEarlier(this.#states, this.#rates, effective, previous)
    const rated = this.#rate(remaining, service)
    if (typeof rated !== 'string')
      return this.#settleRated(service, remaining, rated, carriedReservation)
    // Without a price only granted units can be settled.
    if (effective.used > 0 && service.segment === null && previous.segment === null) {
      this.#states.owners = owners
      return denied(effective, rated)
    }
    this.#states.settle(service, remaining.used, 0, null, 'none', { carriedReservation })
    const isSettled = effective.requested === 0 && this.#request.kind !== 'event'
    return isSettled ? this.#settledOnly(effective) : denied(effective, rated)
  }

  #settleRated(
    service: ServiceSession,
    effective: ServiceRequest,
    rated: Rated,
    carriedReservation: Reservation,
  ): ServiceOutcome {
    const { kind, pretend } = this.#request
    const { used, requested } = effective
    const isUnused = !this.#hasExpired && endsUnused(kind, requested, used, service)
    // Usage of an event that requests nothing is complete: no later report continues its segment.
    const isComplete = kind === 'event' && used > 0 && requested === 0
    const ends = kind === 'release' || isUnused || isComplete
    const end = this.#hasExpired ? 'expired' : ends ? 'closed' : 'none'
    const { granting, after } = this.#termsOf(effective, rated.start)
    const more = { carriedReservation, after, isUnused }
    const settled = this.#states.settle(service, used, requested, granting, end, more)
    if (ends && kind === 'event') this.#states.store(reopened(settled))
    if (effective.requested === 0) return this.#settledOnly(effective)
    if (settled.granted === 0) {
      const nothing = denied(effective, 'noCredit')
      nothing.finalUnit = true
      return nothing
    }
    const quote = pretend ? this.#quoteOf(settled, rated.start) : null
    if (kind === 'event') {
      const closed = this.#useUp(settled, rated.start)
      // A later refund needs the segment of the event.
      this.#states.store(reopened(closed))
    }
    const untilMs = Math.min(rated.untilMs, settled.bucketsEndMs)
    return {
      ratingGroup: effective.ratingGroup,
      serviceIdentifier: effective.serviceIdentifier,
      usaget: effective.usaget,
      reason: 'granted',
      granted: settled.granted,
      parts: null,
      validityMs: kind === 'event' ? 0 : validityOf(untilMs, this.#request, this.#context),
      tariffChangeMs: kind === 'event' ? 0 : tariffChangeOf(after, this.#request, this.#context),
      finalUnit: settled.finalUnit,
      action: null,
      cost: 0,
      quote,
    }
  }

  /** Terms of the grant. No boundaries for events (used immediately) or if nothing is granted. */
  #termsOf(
    effective: ServiceRequest,
    granting: SegmentStart | null,
  ): GrantTerms | { granting: null; after: null } {
    const { kind, eventTimeMs } = this.#request
    if (granting === null) return { granting, after: null }
    if (kind === 'event' || effective.requested === 0) return { granting, after: null }
    const rateAt = (atMs: number) => this.#rates.find(effective, atMs)
    return termsOfGrant(this.#context, this.#states.owners, granting, eventTimeMs, rateAt)
  }

  #useUp({ service, granted }: Settlement, next: SegmentStart | null): Settlement {
    return this.#states.settle(service, granted, 0, next, 'closed')
  }

  /** The line of the grant if it is used up. The states are not changed. */
  #quoteOf(granted: Settlement, next: SegmentStart | null): Quote | null {
    const before = this.state()
    this.#useUp(granted, next)
    const { lines } = this.#states
    const line = lines.length > before.lines.length ? lines.at(-1) : undefined
    this.restore(before)
    if (line === undefined) return null
    const { taxes, rounding } = line.pricing
    return { line, charge: finalCharge(line.counts.charged, taxes, rounding) }
  }

  /** An update after expiry has no further units. */
  #settledOnly(request: ServiceRequest): ServiceOutcome {
    const outcome = settledOnly(request)
    outcome.finalUnit = this.#hasExpired && this.#request.kind === 'update'
    return outcome
  }

  #rate(effective: ServiceRequest, previous: ServiceSession): Rated | Reason {
    const { kind, eventTimeMs } = this.#request
    if (!needsRating(kind, effective, previous, this.#hasExpired, eventTimeMs)) return UNRATED
    const rated =
      effective.requested > 0
        ? this.#rates.at(effective, eventTimeMs)
        : this.#rates.ofUse(effective, previous, this.session)
    if (typeof rated === 'string') return rated
    if (needsNoCounters(rated.funding)) return rated
    return { start: this.#states.open(rated), untilMs: rated.untilMs }
  }

  /** A release ends every service of the session, including those that it does not name. */
  #closeOthers(): void {
    for (const service of this.session.services) {
      if (service.segment !== null) this.#states.settle(service, 0, 0, null, 'closed')
      else if (hasNoUsage(service)) this.#closeUnused(service)
    }
  }

  /** Closes a service without usage. It has a line unless it cannot be rated. */
  #closeUnused(service: ServiceSession): void {
    const effective = serviceRequest({ ...service.identity, requested: 0 })
    const rated = this.#rate(effective, service)
    if (typeof rated !== 'string') this.#settleRated(service, effective, rated, EMPTY_RESERVATION)
  }

  #refund(): ServiceOutcome[] {
    const { session } = this
    session.services = session.services.slice()
    const { subscriber, account } = this.#states.owners
    const state = { subscriber, account, session }
    const hasPrice = (service: ServiceRequest) => this.hasPrice(service)
    const refund = refundSession(state, this.#identified, this.#context, hasPrice)
    this.#states.refunded(refund)
    return refund.services
  }
}
