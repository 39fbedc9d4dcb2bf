/**
 * The profile of a request: the cached one, if it satisfies the fences of its owners, or read from
 * MongoDB into the cache.
 */
import { plainOutcome } from '../domain/charge-outcome.ts'
import { FieldError } from '../domain/fields.ts'
import type { Ledger, SessionLocation } from '../ledger/ledger.ts'
import type { Clock } from '../runtime/clock.ts'
import { StoreDownError } from '../store/redis.ts'
import type { FencedOwners } from './batch-executor.ts'
import { type Item, queriesOf } from './item.ts'
import type { CachedOwner, OwnerCache } from './owner-cache.ts'
import type { PoolCheck } from './pools.ts'
import { type CachedProfile, type ProfileCache, type SeenFences, satisfies } from './profiles.ts'
import type { SessionLocator } from './session-locator.ts'

export interface RequestProfilesOptions {
  ledger: Pick<Ledger, 'raiseFence'>
  profiles: ProfileCache
  owners: OwnerCache
  locator: SessionLocator
  needsPool: PoolCheck
  clock: Clock
  isCatalogueLoaded: () => boolean
  /** A document of the subscriber is invalid. */
  onDamaged: () => void
  onDefect: (error: unknown) => void
}

/** An interrupted profile write is repaired after this time, ms. */
const DIRTY_FENCE_MS_MAX = 5_000

export class RequestProfiles {
  readonly #options: RequestProfilesOptions

  constructor(options: RequestProfilesOptions) {
    this.#options = options
  }

  /** The cached profile of a located item if it satisfies the fences; undefined otherwise. */
  cached(
    item: Item,
    { subscriber, account }: FencedOwners,
    nowMs: number,
  ): CachedProfile | undefined {
    const { isCatalogueLoaded, locator, profiles, needsPool } = this.#options
    if (!isCatalogueLoaded()) return undefined
    if (isAbandoned(subscriber, nowMs) || isAbandoned(account, nowMs)) return undefined
    const cached = item.isOpening
      ? locator.peek(queriesOf(item), nowMs)
      : profiles.peekSid(item.sid, item.request.eventTimeMs, nowMs)
    if (cached === undefined || !isOf(cached, item)) return undefined
    const { profile } = cached
    if (profile?.pool === null && needsPool(profile)) return undefined
    return satisfies(cached, subscriber.fence, account.fence) ? cached : undefined
  }

  /** Locates an item and reads its profile; sets its outcome if that is not possible. */
  async read(item: Item): Promise<void> {
    const { isCatalogueLoaded, locator, profiles, clock, onDamaged, onDefect } = this.#options
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
      for (const query of queriesOf(item)) {
        const { profile } = await profiles.lookUp(query, nowMs, seen)
        if (profile !== null) return
      }
      // Usage of an open session is settled without a profile as well.
      if (item.isOpening) item.outcome = plainOutcome('unknownSubscriber')
    } catch (error) {
      if (error instanceof FieldError) onDamaged()
      if (!isOutage(error)) onDefect(error)
      item.outcome = plainOutcome('storeDown')
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
    const { aid, sid } = owner.state
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
function isOf({ profile }: CachedProfile, { aid, sid, isOpening }: Item): boolean {
  if (profile === null) return true
  return profile.sid === sid && (profile.aid === aid || !isOpening)
}

function isOutage(error: unknown): boolean {
  return (
    error instanceof StoreDownError ||
    (error instanceof Error && error.name === 'CatalogUnavailableError')
  )
}
