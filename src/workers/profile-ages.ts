/**
 * Limits the age of profiles whose changes are not followed. An old profile is marked
 * by a timer, so that using a young one costs nothing: its `validUntilMs` is set to 0, and the next
 * request finds it invalid. Within a bound it is then used once more while it is read again.
 */

/** A profile in a cache. */
interface Aging {
  validUntilMs: number
}

export interface AgeLimits {
  /** Age up to which a profile is used, ms. */
  readonly ttlMs: number
  /** How much longer it may be used while it is read again. */
  readonly staleMs: number
}

export interface ProfileAgesOptions<Cached, Query> {
  /** Monotonic. */
  readonly elapsedMs: () => number
  /** Starts to read a profile again; `nowMs` is the node's clock. Must not throw. */
  readonly refresh: (cached: Cached, query: Query, nowMs: number) => void
}

interface Age<Cached, Query> {
  readonly cached: Cached
  /** By which it was found. */
  readonly query: Query
  readonly limits: AgeLimits
  readonly readMs: number
  readonly validUntilMs: number
  dueMs: number
}

/** How long a revived profile is used before another attempt to read it again. */
const RETRY_MS = 5_000
/** At least long enough for the requests that wait for it. */
const TTL_MS_MIN = 100
const SWEEP_MS_MIN = 50

export class ProfileAges<Cached extends Aging, Query extends { readonly atMs: number }> {
  readonly #options: ProfileAgesOptions<Cached, Query>
  /** In the order of their due times: since they were read, and since they were revived. */
  readonly #young = new Map<Cached, Age<Cached, Query>>()
  readonly #revived = new Map<Cached, Age<Cached, Query>>()
  /** Marked profiles, as long as a cache has them. */
  #old = new WeakMap<Cached, Age<Cached, Query>>()
  #timer: NodeJS.Timeout | null = null

  constructor(options: ProfileAgesOptions<Cached, Query>) {
    this.#options = options
  }

  /** Called with each profile that was read, also if it is known. */
  limit(cached: Cached, query: Query, limits: AgeLimits): void {
    const readMs = this.#options.elapsedMs()
    const { validUntilMs } = cached
    const dueMs = readMs + Math.max(limits.ttlMs, TTL_MS_MIN)
    this.#forget(cached)
    this.#young.set(cached, { cached, query, limits, readMs, validUntilMs, dueMs })
    this.#sweepLater()
  }

  /**
   * Makes an old profile valid again and starts to read it as of `atMs`; false if it is too old for
   * that. `nowMs` is the node's clock.
   */
  revive(cached: Cached, atMs: number, nowMs: number): boolean {
    const age = this.#old.get(cached)
    if (age === undefined) return false
    this.#old.delete(cached)
    const { elapsedMs, refresh } = this.#options
    const atElapsedMs = elapsedMs()
    const { limits, readMs, validUntilMs, query } = age
    const endMs = readMs + Math.max(limits.ttlMs, TTL_MS_MIN) + limits.staleMs
    if (atElapsedMs >= endMs) return false
    cached.validUntilMs = validUntilMs
    age.dueMs = Math.min(atElapsedMs + RETRY_MS, endMs)
    this.#revived.set(cached, age)
    this.#sweepLater()
    refresh(cached, { ...query, atMs }, nowMs)
    return true
  }

  /** Makes all profiles old. */
  expireAll(): void {
    for (const ages of [this.#young, this.#revived]) {
      for (const age of ages.values()) this.#mark(age)
      ages.clear()
    }
  }

  clear(): void {
    this.#young.clear()
    this.#revived.clear()
    this.#old = new WeakMap()
  }

  #forget(cached: Cached): void {
    this.#young.delete(cached)
    this.#revived.delete(cached)
    this.#old.delete(cached)
  }

  #mark(age: Age<Cached, Query>): void {
    age.cached.validUntilMs = 0
    this.#old.set(age.cached, age)
  }

  #sweepLater(): void {
    if (this.#timer !== null) return
    const [young] = this.#young.values()
    const [revived] = this.#revived.values()
    const nextMs = Math.min(young?.dueMs ?? Infinity, revived?.dueMs ?? Infinity)
    if (nextMs === Infinity) return
    const waitMs = Math.max(SWEEP_MS_MIN, nextMs - this.#options.elapsedMs())
    this.#timer = setTimeout(() => this.#sweep(), waitMs)
    this.#timer.unref()
  }

  #sweep(): void {
    this.#timer = null
    const nowMs = this.#options.elapsedMs()
    for (const ages of [this.#young, this.#revived]) {
      for (const [cached, age] of ages) {
        if (age.dueMs > nowMs) break
        ages.delete(cached)
        this.#mark(age)
      }
    }
    this.#sweepLater()
  }
}
