/**
 * A bounded cache of subscriber profiles, invalidated by the feed and by fences. Requests on the
 * fast path never wait for a profile that is not cached.
 */
import type { SubscriberProfile } from '../domain/catalogue.ts'
import type { Fence } from '../ledger/ledger.ts'
import { monotonicMs } from '../runtime/clock.ts'
import { GenerationCache } from './generation-cache.ts'
import { type AgeLimits, ProfileAges } from './profile-ages.ts'

/**
 * Changed accounts with the time of their last change, in a count of events: data read before it is
 * stale. Bounded: if too many accounts have changed, all data read before the last change is stale.
 */
export class AccountInvalidations {
  readonly #droppedAt = new Map<number, number>()
  #floor = 0
  readonly #accountsMax: number

  constructor(accountsMax = ACCOUNTS_MAX) {
    this.#accountsMax = accountsMax
  }

  invalidate(aid: number, at: number): void {
    if (this.#droppedAt.size >= this.#accountsMax && !this.#droppedAt.has(aid)) {
      this.#floor = at
      this.#droppedAt.clear()
    }
    this.#droppedAt.set(aid, at)
  }

  /** Whether data is stale whose reading began at this count. */
  isStale(aid: number, begun: number): boolean {
    if (begun <= this.#floor) return true
    return this.#droppedAt.size > 0 && begun <= (this.#droppedAt.get(aid) ?? 0)
  }
}

const ACCOUNTS_MAX = 10_000

export interface ProfileQuery {
  /** Field for the lookup: `sid`, `msisdn`, `imsi` or another one. */
  key: string
  value: string
  /** Event time, epoch ms. */
  atMs: number
}

export interface ReadProfile {
  profile: SubscriberProfile
  validUntilMs: number
  /** Absent for entities of the node, whose changes are followed. */
  ageLimits?: AgeLimits | undefined
}

/**
 * Reads the profile from MongoDB or a customer system; null if it does not exist. Rejects while
 * that is unavailable.
 */
export type ProfileReader = (query: ProfileQuery) => Promise<ReadProfile | null>

export interface ProfileSettings {
  entriesMax: number
  /** How long an unknown subscriber is cached as unknown, ms. */
  unknownTtlMs: number
  /** For profiles with `ageLimits`; the monotonic clock by default. */
  elapsedMs?: () => number
  /** A profile is used beyond its age while it is read again. */
  onStale?: () => void
}

/** A profile with the data to determine whether it is current. */
export interface CachedProfile {
  profile: SubscriberProfile | null
  /** Before the begin of the profile if that was returned for an earlier instant, epoch ms. */
  validSinceMs: number
  validUntilMs: number
  /** When the read began, by the node's clock. */
  readMs: number
  /** As `readMs`, but as a sequence number of this cache's reads and changes. */
  begun: number
  /** The fence that it is known to satisfy; -1 if it was not compared yet. */
  fence: number
  /** The same for its account, whose services, overrides and limits are part of the profile. */
  accountFence: number
  /** The instant of the query: an unknown subscriber is unknown at that time only. */
  atMs: number
}

/**
 * The fences of a subscriber and its account, seen before a read, so that its result satisfies
 * them. -1 if not seen.
 */
export interface SeenFences {
  aid: number
  sid: number
  subscriber: number
  account: number
}

const UNKNOWN_MS_MIN = 100
/** A request whose time has no fraction is looked up at two instants of the second. */
const SECOND_MS = 1000

function nameOf({ key, value }: ProfileQuery): string {
  return `${key}:${value}`
}

/** The sid of a query; 0 if it has another key, or a number in another notation. */
function sidOf({ key, value }: ProfileQuery): number {
  if (key !== 'sid') return 0
  const sid = Number(value)
  return Number.isSafeInteger(sid) && sid > 0 && String(sid) === value ? sid : 0
}

/** Maximum clock difference between nodes, for the age of a fence, ms. */
const CLOCK_SKEW_MS = 10_000

export class ProfileCache {
  /** The newest profile of each subscriber. Entries by other identifiers may be older. */
  readonly #bySid: GenerationCache<number, CachedProfile>
  readonly #byName: GenerationCache<string, CachedProfile>
  readonly #unknown: GenerationCache<string, CachedProfile>
  readonly #underWay = new Map<string, Promise<CachedProfile>>()
  /** Subscribers dropped during each running read, whose result may be older than the drop. */
  readonly #drops = new Set<Set<number | 'all'>>()
  readonly #accounts = new AccountInvalidations()
  readonly #pools = new AccountInvalidations()
  /** Null until a profile has limits, so that entities of the node cost nothing. */
  #ages: ProfileAges<CachedProfile, ProfileQuery> | null = null
  #events = 0
  readonly #read: ProfileReader
  readonly #settings: ProfileSettings

  constructor(read: ProfileReader, settings: ProfileSettings) {
    this.#read = read
    this.#settings = settings
    this.#bySid = new GenerationCache(settings.entriesMax)
    this.#byName = new GenerationCache(settings.entriesMax)
    this.#unknown = new GenerationCache(settings.entriesMax)
  }

  /** The cached profile for the instant; undefined if it is not cached. */
  peek(query: ProfileQuery, nowMs: number): CachedProfile | undefined {
    const cached = this.#entryOf(query)
    if (cached !== undefined) {
      if (this.#holdsAt(cached, query.atMs) || this.#isRevived(cached, query.atMs, nowMs))
        return cached
    }
    return this.#peekUnknown(nameOf(query), query.atMs, nowMs)
  }

  /** As `peek` by `sid`, used by every request of an open session. */
  peekSid(sid: number, atMs: number, nowMs: number): CachedProfile | undefined {
    const cached = this.#bySid.get(sid)
    if (cached !== undefined) {
      if (this.#holdsAt(cached, atMs) || this.#isRevived(cached, atMs, nowMs)) return cached
    }
    return this.#peekUnknown(`sid:${sid}`, atMs, nowMs)
  }

  /** The entry of a query, for any instant. */
  #entryOf(query: ProfileQuery): CachedProfile | undefined {
    const sid = sidOf(query)
    const cached = sid === 0 ? this.#byName.get(nameOf(query)) : this.#bySid.get(sid)
    if (cached === undefined || cached.profile === null) return undefined
    // Other identifiers may have been reassigned since, so the subscriber's own entry decides.
    return sid === 0 && this.#bySid.get(cached.profile.sid) !== cached ? undefined : cached
  }

  #isRevived(cached: CachedProfile, atMs: number, nowMs: number): boolean {
    return this.#ages?.revive(cached, atMs, nowMs) === true && this.#holdsAt(cached, atMs)
  }

  #holdsAt({ profile, begun, validSinceMs, validUntilMs }: CachedProfile, atMs: number): boolean {
    if (profile === null || this.#isOld(profile, begun)) return false
    return atMs >= validSinceMs && atMs < validUntilMs
  }

  #peekUnknown(name: string, atMs: number, nowMs: number): CachedProfile | undefined {
    const cached = this.#unknown.get(name)
    if (cached === undefined || nowMs >= cached.validUntilMs) return undefined
    const atMost = Math.max(SECOND_MS, cached.validUntilMs - cached.readMs)
    return Math.abs(atMs - cached.atMs) <= atMost ? cached : undefined
  }

  /**
   * Reads the profile, cached or not, with one lookup per identifier, instant and fence at a time.
   * `seen`: fences that the result satisfies if they belong to the subscriber found.
   */
  lookUp(query: ProfileQuery, nowMs: number, seen: SeenFences | null): Promise<CachedProfile> {
    const name = nameOf(query)
    // A read that began before the fence was seen is not sufficient.
    const fences = `${seen?.sid}@${seen?.subscriber}@${seen?.account}`
    const reading = `${name}@${query.atMs}@${fences}`
    const known = this.#underWay.get(reading)
    if (known !== undefined) return known
    const started = this.#fetch(name, query, nowMs, seen).finally(() => {
      this.#underWay.delete(reading)
    })
    this.#underWay.set(reading, started)
    return started
  }

  /** Drops a subscriber under all its identifiers, and the entries of the given identifiers. */
  drop(sid: number, identifiers: readonly string[]): void {
    for (const dropped of this.#drops) dropped.add(sid)
    this.#bySid.delete(sid)
    for (const name of [`sid:${sid}`, ...identifiers]) {
      this.#byName.delete(name)
      this.#unknown.delete(name)
    }
  }

  /**
   * Drops the profiles of an account, since its services, overrides and limits are part of them.
   */
  dropAccount(aid: number): void {
    this.#events += 1
    this.#accounts.invalidate(aid, this.#events)
  }

  /** Drops the profiles of an account that contain its pool. */
  dropPool(aid: number): void {
    this.#events += 1
    this.#pools.invalidate(aid, this.#events)
  }

  #isOld({ aid, pool }: SubscriberProfile, begun: number): boolean {
    return this.#accounts.isStale(aid, begun) || (pool !== null && this.#pools.isStale(aid, begun))
  }

  /** Reads profiles with `ageLimits` again before they are used, or while within their limits. */
  expire(): void {
    this.#ages?.expireAll()
  }

  clear(): void {
    this.#ages?.clear()
    this.#bySid.clear()
    this.#byName.clear()
    this.#unknown.clear()
    for (const dropped of this.#drops) dropped.add('all')
  }

  async #fetch(
    name: string,
    query: ProfileQuery,
    nowMs: number,
    seen: SeenFences | null,
  ): Promise<CachedProfile> {
    const { atMs } = query
    this.#events += 1
    const begun = this.#events
    const dropped = new Set<number | 'all'>()
    this.#drops.add(dropped)
    const read = await this.#read(query).finally(() => this.#drops.delete(dropped))
    if (read === null) {
      // A cached profile for this instant is no longer true.
      const known = this.#entryOf(query)
      const isUsed = known !== undefined && (known.validUntilMs === 0 || this.#holdsAt(known, atMs))
      if (isUsed) this.#forget(query)
      // At least long enough for the current request to find it.
      const validUntilMs = nowMs + Math.max(this.#settings.unknownTtlMs, UNKNOWN_MS_MIN)
      const { subscriber: fence = -1, account: accountFence = -1 } = seen ?? {}
      const read = { readMs: nowMs, begun, fence, accountFence, atMs }
      const unknown: CachedProfile = { profile: null, validSinceMs: 0, validUntilMs, ...read }
      if (dropped.size === 0) this.#unknown.set(name, unknown)
      return unknown
    }
    const { profile, validUntilMs } = read
    const validSinceMs = Math.min(profile.fromMs, atMs)
    const isDropped = dropped.has('all') || dropped.has(profile.sid)
    if (isDropped || this.#isOld(profile, begun)) {
      const unbound = { fence: -1, accountFence: -1 }
      return { profile, validSinceMs, validUntilMs: 0, readMs: nowMs, begun, ...unbound, atMs }
    }
    const known = this.#bySid.get(profile.sid)
    const fences = {
      fence: seen?.sid === profile.sid ? seen.subscriber : -1,
      accountFence: seen?.aid === profile.aid ? seen.account : -1,
    }
    const valid = { validSinceMs, validUntilMs }
    const fresh: CachedProfile = { profile, ...valid, readMs: nowMs, begun, ...fences, atMs }
    // One revision under several identifiers is one entry.
    const cached = known?.profile?.id === profile.id ? Object.assign(known, fresh) : fresh
    if (sidOf(query) === 0) this.#byName.set(name, cached)
    this.#bySid.set(profile.sid, cached)
    if (read.ageLimits !== undefined) this.#limitAge(cached, query, read.ageLimits)
    return cached
  }

  #limitAge(cached: CachedProfile, query: ProfileQuery, limits: AgeLimits): void {
    this.#ages ??= new ProfileAges({
      elapsedMs: this.#settings.elapsedMs ?? monotonicMs,
      refresh: (stale, queries, nowMs) => this.#refresh(stale, queries, nowMs),
    })
    this.#ages.limit(cached, query, limits)
  }

  /** Errors are reported by the reader; the profile is used within its limits. */
  #refresh(stale: CachedProfile, query: ProfileQuery, nowMs: number): void {
    this.#settings.onStale?.()
    const { profile, fence, accountFence } = stale
    if (profile === null) return
    const { aid, sid } = profile
    const seen = { aid, sid, subscriber: fence, account: accountFence }
    this.lookUp(query, nowMs, seen).then(
      (found) => {
        // The identifier belongs to no subscriber any more, or to another one.
        if (found.profile?.sid !== sid && this.#bySid.get(sid) === stale) this.drop(sid, [])
      },
      () => undefined,
    )
  }

  #forget(query: ProfileQuery): void {
    const sid = sidOf(query)
    if (sid === 0) this.#byName.delete(nameOf(query))
    else this.#bySid.delete(sid)
  }
}

/**
 * Compares a profile with the fences of its subscriber and account. Returns false if it may be
 * older than the last write and has to be read again. A profile read well after the last change
 * satisfies them.
 */
export function satisfies(cached: CachedProfile, subscriber: Fence, account: Fence): boolean {
  const { readMs } = cached
  if (!isBehind(cached.fence, subscriber, readMs)) return false
  if (!isBehind(cached.accountFence, account, readMs)) return false
  cached.fence = subscriber.number
  cached.accountFence = account.number
  return true
}

/** `known`: the fence satisfied before; -1 if there was no comparison yet. */
function isBehind(known: number, fence: Fence, readMs: number): boolean {
  if (known >= 0) return known === fence.number
  return fence.number === 0 || fence.changedMs + CLOCK_SKEW_MS < readMs
}
