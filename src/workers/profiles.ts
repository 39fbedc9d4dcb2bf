/**
 * Subscriber profiles of one worker: bounded, dropped by the feed and by the fence. A profile that
 * is not in memory is never waited for on the fast path.
 */
import type { SubscriberProfile } from '../domain/catalogue.ts'
import type { Fence } from '../ledger/ledger.ts'
import { AccountInvalidations } from './account-invalidations.ts'
import { GenerationCache } from './generation-cache.ts'

export interface ProfileQuery {
  /** Field that subscribers are found by: `sid`, `msisdn`, `imsi` or another one. */
  key: string
  value: string
  /** Event time, epoch ms. */
  atMs: number
}

/** Reads the profile from its home; null if there is none. Rejects while that is away. */
export type ProfileReader = (
  query: ProfileQuery,
) => Promise<{ profile: SubscriberProfile; validUntilMs: number } | null>

export interface ProfileSettings {
  entriesMax: number
  /** How long an unknown subscriber stays unknown without another look, ms. */
  unknownTtlMs: number
}

/** A profile with what tells whether it is still the newest. */
export interface CachedProfile {
  profile: SubscriberProfile | null
  validUntilMs: number
  /** When reading it began, by the node's clock. */
  readMs: number
  /** When that was, in the count of readings and changes of this memory. */
  begun: number
  /** The fence that it is known to satisfy; -1 before it was held against one. */
  fence: number
  /** The same of its account, whose services, overrides and limits are part of it. */
  accountFence: number
  /** The instant that was asked for: an unknown subscriber is unknown then, not at all times. */
  atMs: number
}

/**
 * The fences of a subscriber and its account as they were seen before a read began, so that what is
 * read satisfies them. -1: not seen.
 */
export interface SeenFences {
  aid: number
  sid: number
  subscriber: number
  account: number
}

const UNKNOWN_MS_MIN = 100

function nameOf({ key, value }: ProfileQuery): string {
  return `${key}:${value}`
}

/** 0 if it asks for something else, or by a number that is written in another way. */
function sidOf({ key, value }: ProfileQuery): number {
  if (key !== 'sid') return 0
  const sid = Number(value)
  return Number.isSafeInteger(sid) && sid > 0 && String(sid) === value ? sid : 0
}

/** Two nodes' clocks may differ by this much when a fence's age is judged, ms. */
const CLOCK_SKEW_MS = 10_000

export class ProfileCache {
  /** Of each subscriber the newest; the other identifiers lead to one that may be older. */
  readonly #bySid: GenerationCache<number, CachedProfile>
  readonly #byName: GenerationCache<string, CachedProfile>
  readonly #unknown: GenerationCache<string, CachedProfile>
  readonly #underWay = new Map<string, Promise<CachedProfile>>()
  /** What was dropped while each read is under way: its result may be older than the drop. */
  readonly #drops = new Set<Set<number | 'all'>>()
  readonly #accounts = new AccountInvalidations()
  readonly #pools = new AccountInvalidations()
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

  /** What memory holds for the instant; undefined if it holds nothing. */
  peek(query: ProfileQuery, nowMs: number): CachedProfile | undefined {
    return this.#peekKnown(query) ?? this.#peekUnknown(nameOf(query), query.atMs, nowMs)
  }

  /** As `peek` by `sid`: the way of every request of an open session. */
  peekSid(sid: number, atMs: number, nowMs: number): CachedProfile | undefined {
    const held = this.#bySid.get(sid)
    if (held !== undefined && this.#holdsAt(held, atMs)) return held
    return this.#peekUnknown(`sid:${sid}`, atMs, nowMs)
  }

  #peekKnown(query: ProfileQuery): CachedProfile | undefined {
    const sid = sidOf(query)
    const held = sid === 0 ? this.#byName.get(nameOf(query)) : this.#bySid.get(sid)
    if (held === undefined || held.profile === null) return undefined
    // Another identifier may have gone to somebody else since: its subscriber's entry decides.
    if (sid === 0 && this.#bySid.get(held.profile.sid) !== held) return undefined
    return this.#holdsAt(held, query.atMs) ? held : undefined
  }

  #holdsAt({ profile, begun, validUntilMs }: CachedProfile, atMs: number): boolean {
    if (profile === null || this.#isOld(profile, begun)) return false
    return atMs >= profile.fromMs && atMs < validUntilMs
  }

  #peekUnknown(name: string, atMs: number, nowMs: number): CachedProfile | undefined {
    const held = this.#unknown.get(name)
    if (held === undefined || nowMs >= held.validUntilMs) return undefined
    return Math.abs(atMs - held.atMs) <= held.validUntilMs - held.readMs ? held : undefined
  }

  /**
   * Reads it, whatever memory holds; one look-up per identifier, instant and fence at a time.
   * `seen`: fences that what is read now satisfies, if they are of the subscriber that is found.
   */
  lookUp(query: ProfileQuery, nowMs: number, seen: SeenFences | null): Promise<CachedProfile> {
    const name = nameOf(query)
    // A read that began before the fence was seen would not do.
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

  /** Forgets a subscriber under all its identifiers, and what is known of the ones named. */
  drop(sid: number, identifiers: readonly string[]): void {
    for (const dropped of this.#drops) dropped.add(sid)
    this.#bySid.delete(sid)
    for (const name of [`sid:${sid}`, ...identifiers]) {
      this.#byName.delete(name)
      this.#unknown.delete(name)
    }
  }

  /** Forgets the profiles of an account: its services, overrides and limits are part of them. */
  dropAccount(aid: number): void {
    this.#events += 1
    this.#accounts.invalidate(aid, this.#events)
  }

  /** Forgets those profiles of an account that hold what its subscribers share. */
  dropPool(aid: number): void {
    this.#events += 1
    this.#pools.invalidate(aid, this.#events)
  }

  #isOld({ aid, pool }: SubscriberProfile, begun: number): boolean {
    return this.#accounts.isStale(aid, begun) || (pool !== null && this.#pools.isStale(aid, begun))
  }

  clear(): void {
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
      // What memory has for this instant is not so any more.
      if (this.#peekKnown(query) !== undefined) this.#forget(query)
      // Long enough for the request that has asked to find it.
      const validUntilMs = nowMs + Math.max(this.#settings.unknownTtlMs, UNKNOWN_MS_MIN)
      const { subscriber: fence = -1, account: accountFence = -1 } = seen ?? {}
      const read = { readMs: nowMs, begun, fence, accountFence, atMs }
      const unknown: CachedProfile = { profile: null, validUntilMs, ...read }
      if (dropped.size === 0) this.#unknown.set(name, unknown)
      return unknown
    }
    const { profile, validUntilMs } = read
    const isDropped = dropped.has('all') || dropped.has(profile.sid)
    if (isDropped || this.#isOld(profile, begun)) {
      const unbound = { fence: -1, accountFence: -1 }
      return { profile, validUntilMs: 0, readMs: nowMs, begun, ...unbound, atMs }
    }
    const known = this.#bySid.get(profile.sid)
    const fences = {
      fence: seen?.sid === profile.sid ? seen.subscriber : -1,
      accountFence: seen?.aid === profile.aid ? seen.account : -1,
    }
    const fresh: CachedProfile = { profile, validUntilMs, readMs: nowMs, begun, ...fences, atMs }
    // The same revision under one more identifier stays one entry.
    const held = known?.profile?.id === profile.id ? Object.assign(known, fresh) : fresh
    if (sidOf(query) === 0) this.#byName.set(name, held)
    this.#bySid.set(profile.sid, held)
    return held
  }

  #forget(query: ProfileQuery): void {
    const sid = sidOf(query)
    if (sid === 0) this.#byName.delete(nameOf(query))
    else this.#bySid.delete(sid)
  }
}

/**
 * Holds a profile against the fences of its subscriber and account; false if it may be older than
 * the last write, so that it has to be read again. One that was read well after the last change
 * satisfies them.
 */
export function satisfies(held: CachedProfile, subscriber: Fence, account: Fence): boolean {
  const { readMs } = held
  if (!isBehind(held.fence, subscriber, readMs)) return false
  if (!isBehind(held.accountFence, account, readMs)) return false
  held.fence = subscriber.number
  held.accountFence = account.number
  return true
}

/** `known`: the number that was satisfied before; -1 if none was seen yet. */
function isBehind(known: number, fence: Fence, readMs: number): boolean {
  if (known >= 0) return known === fence.number
  return fence.number === 0 || fence.changedMs + CLOCK_SKEW_MS < readMs
}
