/**
 * A cache of rated services. Between two time boundaries most requests are rated alike; then the
 * same object is returned, with the same segment start.
 */
import type { Catalogue, RateRevision, SubscriberProfile } from '../domain/catalogue.ts'
import type { ServiceRequest } from '../domain/charge-request.ts'
import type { OpenCycle } from '../domain/cycle.ts'
import type { SegmentStart } from '../domain/session.ts'
import type { FundingCounters } from './funding-sources.ts'
import type { TaxMapping } from './tax-mapping.ts'

/**
 * The terms of pricing, and until when they are valid (epoch ms): before the end of `start` if the
 * profile ends. `fundingSources` are not opened yet.
 */
export interface RatedService {
  start: SegmentStart
  funding: FundingCounters
  untilMs: number
}

/** The input of rating, without products and rate, which belong to the same catalogue. */
export interface RatingTerms {
  catalogue: Catalogue
  mapTax: TaxMapping
  defaultTax: string | null
  zone: string
  profile: SubscriberProfile
  service: ServiceRequest
  open: OpenCycle
  atMs: number
}

interface CachedRatedService {
  readonly mapTax: TaxMapping
  readonly defaultTax: string | null
  readonly zone: string
  readonly usaget: string
  readonly untaxed: boolean
  readonly cycleKey: string
  readonly cycleFromMs: number
  readonly oldestMs: number
  /** Valid in [sinceMs, untilMs), epoch ms. */
  readonly sinceMs: number
  readonly untilMs: number
  readonly rated: RatedService
}

/** Maximum number of cached rates per products. */
const RATES_MAX = 10_000
/** Maximum number of combinations of usage type, zone and cycle per rate. */
const PER_RATE_MAX = 4

export class RatedServiceCache {
  readonly #byRate = new Map<RateRevision, CachedRatedService[]>()

  find(rate: RateRevision, terms: RatingTerms): RatedService | null {
    const list = this.#byRate.get(rate)
    if (list === undefined) return null
    for (const cached of list) if (isSame(cached, terms)) return cached.rated
    return null
  }

  /** Adds a result that is valid in [sinceMs, untilMs). */
  add(
    rate: RateRevision,
    terms: RatingTerms,
    rated: RatedService,
    sinceMs: number,
    untilMs: number,
  ): void {
    const { mapTax, defaultTax, zone, service, open } = terms
    const { usaget, untaxed } = service
    const { key: cycleKey, fromMs: cycleFromMs } = open.cycle
    const cached: CachedRatedService = {
      mapTax,
      defaultTax,
      zone,
      usaget,
      untaxed,
      cycleKey,
      cycleFromMs,
      oldestMs: open.oldestMs,
      sinceMs,
      untilMs,
      rated,
    }
    if (this.#byRate.size >= RATES_MAX) this.#byRate.clear()
    const others = this.#byRate.get(rate) ?? []
    this.#byRate.set(rate, [cached, ...others.slice(0, PER_RATE_MAX - 1)])
  }
}

function isSame(cached: CachedRatedService, terms: RatingTerms): boolean {
  const { atMs, service, open } = terms
  return (
    atMs >= cached.sinceMs &&
    atMs < cached.untilMs &&
    cached.mapTax === terms.mapTax &&
    cached.defaultTax === terms.defaultTax &&
    cached.zone === terms.zone &&
    cached.usaget === service.usaget &&
    cached.untaxed === service.untaxed &&
    cached.cycleFromMs === open.cycle.fromMs &&
    cached.cycleKey === open.cycle.key &&
    cached.oldestMs === open.oldestMs
  )
}
