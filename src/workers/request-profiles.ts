/**
 * The profile of a request: the cached one, if it satisfies the fences of its owners, or read from
 * MongoDB or a customer system into the cache.
 */
import { type ChargeOutcome, plainOutcome } from '../domain/charge-outcome.ts'
import { FieldError } from '../domain/fields.ts'
import { CustomerSystemError } from '../external/customers/errors.ts'
import type { Ledger, SessionLocation } from '../ledger/ledger.ts'
import type { PoolCheck } from '../rating/pool-check.ts'
import type { Clock } from '../runtime/clock.ts'
import { StoreDownError } from '../store/redis.ts'
import type { FencedOwners } from './batch-executor.ts'
import type { CachedOwner, OwnerCache } from './owner-cache.ts'
import { type PendingCharge, profileInstantOf, queriesOf } from './pending-charge.ts'
import {
  type CachedProfile,
  type ProfileCache,
  type ProfileQuery,
  type SeenFences,
  satisfies,
} from './profiles.ts'
import type { SessionLocator } from './session-locator.ts'

export interface RequestProfilesOptions {
  ledger: Pick<Ledger, 'raiseFence'>
  profiles: ProfileCache
  owners: OwnerCache
  locator: SessionLocator
  needsPool: PoolCheck
  clock: Clock
  isCatalogueLoaded: () => boolean
  customers: CustomerReads
  /** A document of the subscriber is invalid. */
  onDamaged: () => void
  onDefect: (error: unknown) => void
}

/** Reads that ask a customer system. */
export interface CustomerReads {
  /** Whether reads ask it. */
  readonly isAsked: boolean
  /** How long a request waits; its answer is cached even if it comes later. */
  readonly waitMsMax: number
  /** Requests that wait at one time: beyond that they are answered at once. */
  readonly waitingMax: number
}

/** An interrupted profile write is repaired after this time, ms. */
const DIRTY_FENCE_MS_MAX = 5_000

export class RequestProfiles {
  readonly #options: RequestProfilesOptions
  #queriesPending = 0

  constructor(options: RequestProfilesOptions) {
    this.#options = options
  }

  /** The cached profile of a located item if it satisfies the fences; undefined otherwise. */
  cached(
    item: PendingCharge,
    { subscriber, account }: FencedOwners,
    nowMs: number,
  ): CachedProfile | undefined {
    const { isCatalogueLoaded, locator, needsPool } = this.#options
    if (!isCatalogueLoaded()) return undefined
    if (isAbandoned(subscriber, nowMs) || isAbandoned(account, nowMs)) return undefined
    const cached = item.isOpening
      ? locator.peek(queriesOf(item, nowMs), nowMs)
      : this.#cachedBySid(item, nowMs)
    if (cached === undefined || !isOf(cached, item)) return undefined
    const { profile } = cached
    if (profile?.pool === null && needsPool(profile)) return undefined
    return satisfies(cached, subscriber.fence, account.fence) ? cached : undefined
  }

  /** As the queries of an open session (`queriesOf`), which every one of its requests has. */
  #cachedBySid({ request, sid }: PendingCharge, nowMs: number): CachedProfile | undefined {
    const { profiles } = this.#options
    const { eventTimeMs } = request
    const atMs = profileInstantOf(request, nowMs)
    const cached = profiles.peekSid(sid, atMs, nowMs)
    const mayHaveEnded = cached?.profile === null && atMs !== eventTimeMs
    return mayHaveEnded ? profiles.peekSid(sid, eventTimeMs, nowMs) : cached
  }

  /** Locates an item and reads its profile; sets its outcome if that is not possible. */
  async read(item: PendingCharge): Promise<void> {
    const { isCatalogueLoaded, locator, customers, clock, onDamaged, onDefect } = this.#options
    const nowMs = clock.nowMs()
    if (!isCatalogueLoaded()) {
      item.outcome = plainOutcome('storeDown')
      return
    }
    try {
      await locator.locate([item], false, nowMs)
      if (item.outcome !== null) return
      // The read satisfies the fences that were seen before it.
      const seen = item.isLocated ? await this.#fencesAt(item, nowMs) : null
      const find = () => this.#isFound(queriesOf(item, nowMs), nowMs, seen)
      const isFound = await (customers.isAsked ? this.#limited(find) : find())
      // Usage of an open session is settled without a profile as well.
      if (!isFound && item.isOpening) item.outcome = plainOutcome('unknownSubscriber')
    } catch (error) {
      if (error instanceof FieldError) onDamaged()
      if (!isOutage(error)) onDefect(error)
      item.outcome = outageOf(error)
    }
  }

  /** Reads the profiles of the queries into the cache, until one belongs to a subscriber. */
  async #isFound(
    queries: readonly ProfileQuery[],
    nowMs: number,
    seen: SeenFences | null,
  ): Promise<boolean> {
    for (const query of queries) {
      const { profile } = await this.#options.profiles.lookUp(query, nowMs, seen)
      if (profile !== null) return true
    }
    return false
  }

  /** Within the limits of requests that wait for a customer system. */
  async #limited(find: () => Promise<boolean>): Promise<boolean> {
    const { waitMsMax, waitingMax } = this.#options.customers
    if (this.#queriesPending >= waitingMax) {
      throw new CustomerSystemError('queue full', 'too many requests wait for it')
    }
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_resolve, reject) => {
      const reason = `it has not answered within ${waitMsMax} ms`
      timer = setTimeout(() => reject(new CustomerSystemError('timeout', reason)), waitMsMax)
    })
    this.#queriesPending += 1
    try {
      return await Promise.race([find(), late])
    } finally {
      this.#queriesPending -= 1
      clearTimeout(timer)
    }
  }

  /** The fences that the read has to satisfy; -1 for owners that are not cached. */
  async #fencesAt({ aid, sid }: SessionLocation, nowMs: number): Promise<SeenFences> {
    const { owners } = this.#options
    const [subscriber, account] = await Promise.all([
      this.#fenceOf(owners.get(aid, sid), nowMs),
      this.#fenceOf(owners.get(aid, 0), nowMs),
    ])
    return { aid, sid, subscriber, account }
  }

  /** The number of an owner's fence. A fence that was left dirty is raised first. */
  async #fenceOf(owner: CachedOwner | undefined, nowMs: number): Promise<number> {
    if (owner === undefined) return -1
    const { aid, sid } = owner
    if (isAbandoned(owner, nowMs)) {
      owner.fence = await this.#options.ledger.raiseFence(aid, sid, false, nowMs)
    }
    return owner.fence.number
  }
}

function isAbandoned({ fence }: CachedOwner, nowMs: number): boolean {
  return fence.dirty && nowMs - fence.changedMs > DIRTY_FENCE_MS_MAX
}

/** Whether the profile belongs to the item: an identifier may have been reassigned since. */
function isOf({ profile }: CachedProfile, { aid, sid, isOpening }: PendingCharge): boolean {
  if (profile === null) return true
  return profile.sid === sid && (profile.aid === aid || !isOpening)
}

function outageOf(error: unknown): ChargeOutcome {
  return plainOutcome('storeDown', error instanceof CustomerSystemError ? error.message : '')
}

function isOutage(error: unknown): boolean {
  return (
    error instanceof StoreDownError ||
    error instanceof CustomerSystemError ||
    (error instanceof Error && error.name === 'CatalogUnavailableError')
  )
}
