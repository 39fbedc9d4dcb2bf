/** Locates the requests of a batch, by their sessions or by their subscribers. */
import { type ChargeOutcome, plainOutcome } from '../domain/charge-outcome.ts'
import type { ChargeRequest } from '../domain/charge-request.ts'
import { sessionKeyOf } from '../ledger/keys.ts'
import type { SessionLocation } from '../ledger/ledger.ts'
import { StoreDownError } from '../store/redis.ts'
import { type PendingCharge, queriesOf } from './pending-charge.ts'
import type { CachedProfile, ProfileCache, ProfileQuery } from './profiles.ts'
import type { RuleBook } from './rule-book.ts'
import type { SessionLocationCache } from './session-location-cache.ts'

export interface SessionLocatorSources {
  readonly profiles: Pick<ProfileCache, 'peek'>
  readonly rules: Pick<RuleBook, 'of' | 'own'>
  readonly isCatalogueLoaded: () => boolean
}

export class SessionLocator {
  readonly #locations: SessionLocationCache
  readonly #sources: SessionLocatorSources

  constructor(locations: SessionLocationCache, sources: SessionLocatorSources) {
    this.#locations = locations
    this.#sources = sources
  }

  /** Whether its session is cached. */
  isSessionCached(request: ChargeRequest, nowMs: number): boolean {
    return this.#locations.peek(request, nowMs) !== undefined
  }

  /**
   * Locates items, and gives each its current rules: by the caches, and sessions that these lack by
   * the directory. An item without a location then has an outcome, or needs data from MongoDB.
   */
  locate(
    items: readonly PendingCharge[],
    isProfileUnavailable: boolean,
    nowMs: number,
  ): Promise<void> | undefined {
    let unknown: PendingCharge[] | null = null
    for (const item of items) {
      this.#locateCached(item, isProfileUnavailable, nowMs)
      if (item.isLocated || item.outcome !== null || item.isOpening) continue
      unknown ??= []
      unknown.push(item)
    }
    return unknown === null ? undefined : this.#lookUp(unknown)
  }

  #locateCached(item: PendingCharge, isProfileUnavailable: boolean, nowMs: number): void {
    const { request } = item
    const cached = this.#locations.peek(request, nowMs)
    if (item.sessionKey === '') {
      item.sessionKey = cached?.sessionKey ?? sessionKeyOf(request.origin, request.sessionId)
    }
    const rules = this.#sources.rules.of(request.rules)
    item.rules = rules ?? this.#sources.rules.own
    // Without its rules it is only settled, for which they are not used.
    item.isProfileUnavailable = isProfileUnavailable || rules === undefined
    item.clearLocation()
    item.outcome = null
    if (item.isOpening) this.#place(item, this.#subscriberLocation(queriesOf(item, nowMs), nowMs))
    else if (cached !== undefined) item.setLocation(cached)
  }

  #place(item: PendingCharge, found: SessionLocation | ChargeOutcome | undefined): void {
    if (found === undefined) return
    if (isLocation(found)) item.setLocation(found)
    else item.outcome = found
  }

  /** Looks up the sessions of items that do not open one. */
  async #lookUp(items: readonly PendingCharge[]): Promise<void> {
    const sessions = new Map<string, PendingCharge[]>()
    for (const item of items) {
      const ofSession = sessions.get(item.sessionKey)
      if (ofSession === undefined) sessions.set(item.sessionKey, [item])
      else ofSession.push(item)
    }
    const locations = await this.#find(
      [...sessions.values()].map(([first]) => first as PendingCharge),
    )
    for (const ofSession of sessions.values()) {
      const found = locations.shift()
      for (const item of ofSession) this.#place(item, found)
    }
  }

  /** The location of each session, or the outcome of its requests. */
  async #find(sessions: readonly PendingCharge[]): Promise<(SessionLocation | ChargeOutcome)[]> {
    try {
      const locations = await this.#locations.find(sessions)
      return locations.map((location) => {
        if (location instanceof StoreDownError) return plainOutcome('storeDown')
        return location ?? plainOutcome('unknownSession')
      })
    } catch (error) {
      if (!(error instanceof StoreDownError)) throw error
      return sessions.map(() => plainOutcome('storeDown'))
    }
  }

  /**
   * Caches the locations of opened sessions, and drops those of closed ones. Returns items whose
   * session is not at the cached location, since it may have been opened again in another account.
   */
  updateLocations(items: readonly PendingCharge[], nowMs: number): PendingCharge[] | null {
    let lost: PendingCharge[] | null = null
    for (const item of items) {
      const { request, outcome, sessionKey } = item
      if (outcome === null) continue
      if (outcome.reason === 'granted') {
        if (request.pretend) continue
        if (request.kind === 'start') this.#locations.remember(request, sessionKey, outcome, nowMs)
        else if (request.kind === 'release') this.#locations.forget(request)
      } else if (outcome.reason === 'unknownSession' && !item.isOpening && item.isLocated) {
        if (this.#locations.peek(request, nowMs) === undefined) continue
        lost ??= []
        lost.push(item)
      }
    }
    return lost
  }

  /** Looks up lost sessions in the directory. Sessions with another location can be charged now. */
  async retryLost(lost: readonly PendingCharge[]): Promise<void> {
    const tried = lost.map((item) => ({ item, aid: item.aid, sid: item.sid }))
    for (const item of lost) {
      this.#locations.forget(item.request)
      item.clearLocation()
    }
    await this.#lookUp(lost)
    for (const { item, aid, sid } of tried) {
      if (item.aid !== aid || item.sid !== sid) continue
      item.clearLocation()
      item.outcome = plainOutcome('unknownSession')
    }
  }

  /**
   * The first profile that belongs to a subscriber; undefined if that of an earlier query is not
   * cached.
   */
  peek(queries: readonly ProfileQuery[], nowMs: number): CachedProfile | undefined {
    let unknown: CachedProfile | undefined
    for (const query of queries) {
      const cached = this.#sources.profiles.peek(query, nowMs)
      if (cached === undefined || cached.profile !== null) return cached
      unknown ??= cached
    }
    return unknown
  }

  #subscriberLocation(
    queries: readonly ProfileQuery[],
    nowMs: number,
  ): SessionLocation | ChargeOutcome | undefined {
    if (!this.#sources.isCatalogueLoaded()) return plainOutcome('storeDown')
    if (queries.length === 0) return plainOutcome('unknownSubscriber')
    const cached = this.peek(queries, nowMs)
    if (cached === undefined) return undefined
    return cached.profile ?? plainOutcome('unknownSubscriber')
  }
}

function isLocation(value: SessionLocation | ChargeOutcome): value is SessionLocation {
  return !('reason' in value)
}
