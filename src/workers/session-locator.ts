/** Locates the requests of a batch, by their sessions or by their subscribers. */
import { type ChargeOutcome, plainOutcome } from '../domain/charge-outcome.ts'
import { type ChargeRequest, opensSession } from '../domain/charge-request.ts'
import { digestOf } from '../domain/digest.ts'
import { sessionKeyOf } from '../ledger/keys.ts'
import type { SessionLocation } from '../ledger/ledger.ts'
import { StoreDownError } from '../store/redis.ts'
import { Item, queriesOf } from './item.ts'
import type { CachedProfile, ProfileCache, ProfileQuery } from './profiles.ts'
import type { RuleBook, RuleSet } from './rule-book.ts'
import type { SessionLocationCache } from './session-location-cache.ts'

export interface SessionLocatorSources {
  readonly profiles: Pick<ProfileCache, 'peek'>
  readonly rules: Pick<RuleBook, 'of'>
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

  /** Creates an item, with its location if that is cached, or with an outcome if it has none. */
  itemOf(request: ChargeRequest, isProfileUnavailable: boolean, nowMs: number): Item {
    const cached = this.#locations.peek(request, nowMs)
    const sessionKey = cached?.sessionKey ?? sessionKeyOf(request.origin, request.sessionId)
    const rules = this.#sources.rules.of(request.rules)
    // Without its rules it is only settled, for which they are not used.
    const isUnavailable = isProfileUnavailable || rules === undefined
    const used = rules ?? (this.#sources.rules.of('') as RuleSet)
    const item = new Item(request, { sessionKey, digest: digestOf(request) }, used, isUnavailable)
    if (!opensSession(request.kind)) {
      if (cached !== undefined) item.setLocation(cached)
      return item
    }
    const location = this.#subscriberLocation(queriesOf(item), nowMs)
    if (location === undefined) return item
    if (isLocation(location)) item.setLocation(location)
    else item.outcome = location
    return item
  }

  /** Looks up the sessions of items that do not open one. */
  async lookUp(items: readonly Item[]): Promise<void> {
    const sessions = new Map<string, Item>()
    for (const item of items)
      if (!sessions.has(item.sessionKey)) sessions.set(item.sessionKey, item)
    const unique = [...sessions.values()]
    const found = new Map<string, SessionLocation | ChargeOutcome>()
    try {
      for (const [index, location] of (await this.#locations.find(unique)).entries()) {
        const isDown = location instanceof StoreDownError
        const nowhere = plainOutcome(isDown ? 'storeDown' : 'unknownSession')
        found.set(unique[index]?.sessionKey ?? '', location === null || isDown ? nowhere : location)
      }
    } catch (error) {
      if (!(error instanceof StoreDownError)) throw error
      for (const { sessionKey } of unique) found.set(sessionKey, plainOutcome('storeDown'))
    }
    for (const item of items) {
      const location = found.get(item.sessionKey)
      if (location === undefined) continue
      if (isLocation(location)) item.setLocation(location)
      else item.outcome = location
    }
  }

  /**
   * Caches the locations of opened sessions, and drops those of closed ones. Returns items whose
   * session is not at the cached location, since it may have been opened again in another account.
   */
  updateLocations(items: readonly Item[], nowMs: number): Item[] | null {
    let lost: Item[] | null = null
    for (const item of items) {
      const { request, outcome, sessionKey } = item
      if (outcome === null) continue
      if (outcome.reason === 'granted') {
        if (request.pretend) continue
        if (request.kind === 'start') this.#locations.remember(request, sessionKey, outcome, nowMs)
        else if (request.kind === 'release') this.#locations.forget(request)
      } else if (
        outcome.reason === 'unknownSession' &&
        !opensSession(request.kind) &&
        item.isLocated
      ) {
        if (this.#locations.peek(request, nowMs) === undefined) continue
        lost ??= []
        lost.push(item)
      }
    }
    return lost
  }

  /** Looks up lost sessions in the directory. Those with another location can be charged now. */
  async retryLost(lost: readonly Item[]): Promise<void> {
    const before = lost.map(({ aid, sid }) => ({ aid, sid }))
    for (const item of lost) {
      this.#locations.forget(item.request)
      item.clearLocation()
    }
    await this.lookUp(lost)
    for (const [index, item] of lost.entries()) {
      const { aid, sid } = before[index] as SessionLocation
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
