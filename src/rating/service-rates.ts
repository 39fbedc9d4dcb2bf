/** Rates the services of one request at any instant. */
import type { Reason } from '../domain/charge-outcome.ts'
import type { ChargeRequest, ServiceRequest } from '../domain/charge-request.ts'
import { beginOfUse, usedAt } from '../domain/segment.ts'
import { RECORD_PRICE, withTariffs } from '../domain/segment-parts.ts'
import type { ServiceSession, Session } from '../domain/session.ts'
import type { ChargeContext } from './decision.ts'
import { isBarred, rateService } from './program.ts'
import type { RatedService } from './rated-service-cache.ts'

export class ServiceRates {
  readonly request: ChargeRequest
  readonly context: ChargeContext
  /** The last result: usage is rated when its boundaries are searched, and when it is settled. */
  #lastService: ServiceRequest | null = null
  #lastMs = 0
  #last: RatedService | Reason = 'noRate'

  constructor(request: ChargeRequest, context: ChargeContext) {
    this.request = request
    this.context = context
  }

  /** Rates the service at an instant. Returns the reason if it cannot be rated. */
  at(service: ServiceRequest, atMs: number): RatedService | Reason {
    if (this.#lastService === service && this.#isLast(atMs)) return this.#last
    this.#last = this.#rate(service, atMs)
    this.#lastService = service
    this.#lastMs = atMs
    return this.#last
  }

  /** Whether the last result applies: mostly a grant is rated right after the usage before it. */
  #isLast(atMs: number): boolean {
    if (atMs === this.#lastMs) return true
    const last = this.#last
    const { profile, finder } = this.context
    if (profile === null || typeof last === 'string' || finder.readsTime) return false
    return atMs > this.#lastMs && atMs < last.untilMs && !isBarred(profile, atMs)
  }

  #rate(service: ServiceRequest, atMs: number): RatedService | Reason {
    const context = this.context
    const request = this.request
    const { profile } = context
    if (profile === null) return 'unknownSubscriber'
    const usage = { service, fields: request.fields, atMs, nowMs: context.nowMs }
    return rateService(context, profile, usage)
  }

  /** As `at`, but returns null if the service cannot be rated. */
  find(service: ServiceRequest, atMs: number): RatedService | null {
    const rated = this.at(service, atMs)
    return typeof rated === 'string' ? null : rated
  }

  /**
   * Rates reported usage: by the terms before the report, or by those that begin then if nothing
   * was in force.
   */
  ofUse(
    service: ServiceRequest,
    previous: ServiceSession,
    session: Session,
  ): RatedService | Reason {
    const { kind, eventTimeMs } = this.request
    // An event is used at its time.
    if (kind === 'event') return this.#ofEvent(service, eventTimeMs)
    const usedMs = usedAt(eventTimeMs, beginOfUse(previous, session))
    const { profile } = this.context
    // Before it there was another profile, whose terms the segment has.
    const isBefore = profile !== null && usedMs < profile.fromMs
    const rated = isBefore ? 'unknownSubscriber' : this.at(service, usedMs)
    return typeof rated === 'string' && previous.segment === null
      ? this.at(service, eventTimeMs)
      : rated
  }

  #ofEvent(service: ServiceRequest, atMs: number): RatedService | Reason {
    const rated = this.at(service, atMs)
    const { priceMicros, calledNumber } = service
    if (priceMicros === undefined || typeof rated === 'string') return rated
    return this.context.isFreeNumber(calledNumber) ? rated : prepriced(rated, priceMicros)
  }

  hasPrice(service: ServiceRequest): boolean {
    if (this.context.profile === null) return false
    return this.at(service, this.request.eventTimeMs) !== 'noRate'
  }
}

/**
 * The terms of usage that has its price: it is in no group, and prices of other categories are not
 * added.
 */
function prepriced({ start, funding, untilMs }: RatedService, micros: number): RatedService {
  // An access price is due once for any number of units; without tiers these are free.
  const tariff = { tiers: [], access: micros, extraDigits: 0, terms: null }
  const others = start.pricing.others.map((other) => ({ ...other, isAdded: false }))
  const pricing = { ...withTariffs(start.pricing, tariff, others), band: '', priceOf: RECORD_PRICE }
  const key = `${start.key}|${RECORD_PRICE} ${micros}`
  return {
    start: { ...start, key, pricing, hasGroups: false },
    funding: { ...funding, groups: [] },
    untilMs,
  }
}
