/**
 * The processing of a batch: find session and subscriber, rate, settle, commit. Returns an outcome
 * for each request.
 */
import { type ChargeOutcome, plainOutcome } from '../domain/charge-outcome.ts'
import { type ChargeRequest, opensSession } from '../domain/charge-request.ts'
import { FieldError } from '../domain/fields.ts'
import type { WorkerResult, WorkerTask } from '../domain/worker-task.ts'
import type { Ledger, SessionLocation } from '../ledger/ledger.ts'
import type { ChargeContext } from '../rating/decision.ts'
import type { Clock } from '../runtime/clock.ts'
import { StoreDownError } from '../store/redis.ts'
import { BatchExecutor, type CountName, type FencedOwners } from './batch-executor.ts'
import { type Item, queriesOf } from './item.ts'
import { type CachedOwner, OwnerCache } from './owner-cache.ts'
import type { PoolCheck } from './pools.ts'
import { type CachedProfile, type ProfileCache, type SeenFences, satisfies } from './profiles.ts'
import type { RuleBook } from './rule-book.ts'
import { SessionLocationCache } from './session-location-cache.ts'
import { SessionLocator } from './session-locator.ts'
import { type WarmUpOptions, warmUp } from './warm-up.ts'

export interface ProcessorOptions {
  ledger: Ledger
  profiles: ProfileCache
  rules: Pick<RuleBook, 'of'>
  /** Loads rules that are not cached. */
  findRules: () => Promise<void>
  /** Whether a profile needs the pool of its account. */
  needsPool: PoolCheck
  clock: Clock
  /** The clock of batch deadlines, `processMs`. */
  elapsedMs: () => number
  /** The context of an attempt, without profile and finder of its requests. */
  context: (nowMs: number) => ChargeContext
  /** False until the catalogue has been read once: an empty one would deny paid usage. */
  isCatalogueLoaded: () => boolean
  /** Why new sessions and events are rejected now; null if they are not. */
  refusal: () => string | null
  ownersCachedMax: number
  commitAttemptsMax: number
  directoryTtlMs: number
  replayMs: number
  onDefect: (error: unknown) => void
}

export interface Processor {
  process(task: WorkerTask): Promise<WorkerResult>
  /** See `warmUp`. */
  warmUp(options: WarmUpOptions): Promise<number>
}

/** An interrupted profile write is repaired after this time, ms. */
const DIRTY_FENCE_MS_MAX = 5_000
/** How often the lookup queue reads a profile again while its fence changes. */
const PROFILE_READS_MAX = 5

/** MongoDB is unavailable, or has other file types than the thread that decoded the request. */
const UNKNOWN_RULES = 'the rules of its file type are not known'

type Counts = Record<CountName | 'damaged', number>

const noCounts = (): Counts => ({
  commits: 0,
  conflicts: 0,
  loads: 0,
  busy: 0,
  reservations: 0,
  late: 0,
  damaged: 0,
})

export function createProcessor(options: ProcessorOptions): Processor {
  return new BatchProcessor(options)
}

class BatchProcessor implements Processor {
  readonly #options: ProcessorOptions
  readonly #owners: OwnerCache
  readonly #locator: SessionLocator
  readonly #executor: BatchExecutor
  #counts: Counts = noCounts()

  constructor(options: ProcessorOptions) {
    const { ledger, clock, elapsedMs, context, commitAttemptsMax, directoryTtlMs, onDefect } =
      options
    this.#options = options
    this.#owners = new OwnerCache(options.ownersCachedMax)
    ledger.onDataChanged((isAnother) => {
      this.#owners.clear()
      // In another epoch fences restart, so that an old profile might satisfy them.
      if (isAnother) options.profiles.clear()
    })
    const locations = new SessionLocationCache(ledger, directoryTtlMs, options.ownersCachedMax)
    this.#locator = new SessionLocator(locations, options)
    this.#executor = new BatchExecutor({
      ledger,
      owners: this.#owners,
      clock,
      elapsedMs,
      context,
      profileOf: (item, owners, nowMs) => this.#profileOf(item, owners, nowMs),
      commitAttemptsMax,
      directoryTtl: { openMs: directoryTtlMs, closedMs: options.replayMs * 2 },
      count: (name, by) => {
        this.#counts[name] += by
      },
      onDefect,
    })
  }

  async process(task: WorkerTask): Promise<WorkerResult> {
    const { requests, mayLookUp } = task
    const refused = this.#refuse(requests)
    let unruled = this.#withUnknownRules(requests)
    if (mayLookUp && unruled !== null) {
      await this.#options.findRules()
      unruled = this.#withUnknownRules(requests)
    }
    const outcomes =
      refused === null && unruled === null
        ? await this.#charge(requests, task)
        : await this.#chargeSome(task, refused ?? [], unruled)
    const stats = this.#counts
    this.#counts = noCounts()
    return { outcomes, stats }
  }

  warmUp(options: WarmUpOptions): Promise<number> {
    const { ledger, profiles, clock } = this.#options
    return warmUp({ ledger, owners: this.#owners, profiles, clock }, options)
  }

  #charge(
    requests: readonly ChargeRequest[],
    { mayLookUp, deadlineMs }: WorkerTask,
  ): Promise<(ChargeOutcome | null)[]> {
    return mayLookUp
      ? this.#chargeWithLookups(requests, deadlineMs)
      : this.#chargeFromMemory(requests, deadlineMs)
  }

  /**
   * Charges the requests that are not rejected. Those with unknown rules are at least settled, once
   * everything was looked up.
   */
  async #chargeSome(
    task: WorkerTask,
    refused: readonly (ChargeOutcome | null)[],
    unruled: ReadonlySet<number> | null,
  ): Promise<(ChargeOutcome | null)[]> {
    const { requests, mayLookUp, deadlineMs } = task
    const isCharged = (index: number) => !refused[index] && !unruled?.has(index)
    const admitted = requests.filter((_, index) => isCharged(index))
    const charged = await this.#charge(admitted, task)
    const outcomes: (ChargeOutcome | null)[] = []
    for (const index of requests.keys()) {
      if (isCharged(index)) outcomes.push(charged.shift() ?? null)
      else if (refused[index]) outcomes.push(refused[index])
      else outcomes.push(mayLookUp ? plainOutcome('storeDown', UNKNOWN_RULES) : null)
    }
    if (mayLookUp && unruled !== null) {
      await this.#settleWithout(requests, deadlineMs, outcomes, [...unruled])
    }
    return outcomes
  }

  /** Indexes of requests whose rules are unknown; null if there are no such requests. */
  #withUnknownRules(requests: readonly ChargeRequest[]): ReadonlySet<number> | null {
    let unruled: Set<number> | null = null
    for (let index = 0; index < requests.length; index += 1) {
      const { rules } = requests[index] as ChargeRequest
      if (rules === '' || this.#options.rules.of(rules) !== undefined) continue
      unruled ??= new Set()
      unruled.add(index)
    }
    return unruled
  }

  /**
   * Null if all requests are admitted. A start whose session is cached is a retransmission, which
   * already has its answer; for other starts and events only the store could tell.
   */
  #refuse(requests: readonly ChargeRequest[]): (ChargeOutcome | null)[] | null {
    const refusal = this.#options.refusal()
    if (refusal === null) return null
    const nowMs = this.#options.clock.nowMs()
    return requests.map((request) => {
      if (!opensSession(request.kind) || request.pretend) return null
      const isKnown = this.#locator.isSessionCached(request, nowMs)
      return isKnown ? null : plainOutcome('overloaded', refusal)
    })
  }

  /** Charges from the caches and Redis only. Outcomes are null for requests that need MongoDB. */
  async #chargeFromMemory(
    requests: readonly ChargeRequest[],
    deadlineMs: number,
    isProfileUnavailable = false,
  ): Promise<(ChargeOutcome | null)[]> {
    const nowMs = this.#options.clock.nowMs()
    const items: Item[] = []
    let unknown: Item[] | null = null
    for (const request of requests) {
      const item = this.#locator.itemOf(request, isProfileUnavailable, nowMs)
      items.push(item)
      if (item.isLocated || item.outcome !== null || opensSession(request.kind)) continue
      unknown ??= []
      unknown.push(item)
    }
    if (unknown !== null) await this.#locator.lookUp(unknown)
    await this.#run(items, deadlineMs)
    const lost = this.#locator.updateLocations(items, nowMs)
    if (lost !== null) await this.#seekAgain(lost, deadlineMs)
    return items.map(({ outcome }) => outcome)
  }

  /** Resolves when all located items have an outcome. */
  #run(items: readonly Item[], deadlineMs: number): Promise<void> | undefined {
    const placed = items.filter(({ isLocated }) => isLocated)
    if (placed.length === 0) return undefined
    return new Promise((done) => {
      const batch = { left: placed.length, deadlineMs, done }
      for (const item of placed) item.join(batch)
      this.#executor.enqueue(placed)
    })
  }

  async #seekAgain(lost: readonly Item[], deadlineMs: number): Promise<void> {
    await this.#locator.retryLost(lost)
    await this.#run(lost, deadlineMs)
  }

  #profileOf(
    item: Item,
    { subscriber, account }: FencedOwners,
    nowMs: number,
  ): CachedProfile | undefined {
    if (!this.#options.isCatalogueLoaded()) return undefined
    if (isAbandoned(subscriber, nowMs) || isAbandoned(account, nowMs)) return undefined
    const { request } = item
    const isOpening = opensSession(request.kind)
    const cached = isOpening
      ? this.#locator.peek(queriesOf(item), nowMs)
      : this.#options.profiles.peekSid(item.sid, request.eventTimeMs, nowMs)
    if (cached === undefined || !isOf(cached, item, isOpening)) return undefined
    const { profile } = cached
    if (profile?.pool === null && this.#options.needsPool(profile)) return undefined
    return satisfies(cached, subscriber.fence, account.fence) ? cached : undefined
  }

  /** As `#chargeFromMemory`, but reads missing profiles from MongoDB first. */
  async #chargeWithLookups(
    requests: readonly ChargeRequest[],
    deadlineMs: number,
  ): Promise<ChargeOutcome[]> {
    const outcomes: ChargeOutcome[] = new Array(requests.length)
    let left = requests.map((_, index) => index)
    for (let read = 0; read < PROFILE_READS_MAX && left.length > 0; read += 1) {
      const failed = await Promise.all(
        left.map((index) => this.#readProfile(requests[index] as ChargeRequest)),
      )
      const readable = left.filter((index, position) => {
        const failure = failed[position]
        if (failure === undefined || failure === null) return true
        outcomes[index] = failure
        return false
      })
      await this.#settleWithout(requests, deadlineMs, outcomes, left)
      const again = await this.#chargeFromMemory(
        readable.map((index) => requests[index] as ChargeRequest),
        deadlineMs,
      )
      for (const [position, outcome] of again.entries()) {
        if (outcome !== null) outcomes[readable[position] as number] = outcome
      }
      left = readable.filter((_, position) => again[position] === null)
    }
    for (const index of left) outcomes[index] = plainOutcome('contention', 'profile keeps changing')
    return outcomes
  }

  /**
   * Settles granted units although the profile cannot be read, or the rules for further grants are
   * unknown.
   */
  async #settleWithout(
    requests: readonly ChargeRequest[],
    deadlineMs: number,
    outcomes: (ChargeOutcome | null)[],
    tried: readonly number[],
  ): Promise<void> {
    const indexes = tried.filter((index) => {
      const isDown = outcomes[index]?.reason === 'storeDown'
      return isDown && !opensSession((requests[index] as ChargeRequest).kind)
    })
    if (indexes.length === 0) return
    const settled = await this.#chargeFromMemory(
      indexes.map((index) => requests[index] as ChargeRequest),
      deadlineMs,
      true,
    )
    for (const [position, outcome] of settled.entries()) {
      if (outcome !== null) outcomes[indexes[position] as number] = outcome
    }
  }

  /** Loads the profile of a request into the cache. Returns an outcome if that is not possible. */
  async #readProfile(request: ChargeRequest): Promise<ChargeOutcome | null> {
    const nowMs = this.#options.clock.nowMs()
    if (!this.#options.isCatalogueLoaded()) return plainOutcome('storeDown')
    try {
      const item = this.#locator.itemOf(request, false, nowMs)
      if (item.outcome === null && !item.isLocated && !opensSession(request.kind)) {
        await this.#locator.lookUp([item])
      }
      if (item.outcome !== null) return item.outcome
      // The read satisfies the fences that were seen before it.
      const seen = item.isLocated ? await this.#fencesAt(item, nowMs) : null
      const queries = queriesOf(item)
      for (const query of queries) {
        const { profile } = await this.#options.profiles.lookUp(query, nowMs, seen)
        if (profile !== null) return null
      }
      // Usage of an open session is settled without a profile as well.
      return opensSession(request.kind) ? plainOutcome('unknownSubscriber') : null
    } catch (error) {
      if (error instanceof FieldError) this.#counts.damaged += 1
      if (!isOutage(error)) this.#options.onDefect(error)
      return plainOutcome('storeDown')
    }
  }

  /** The fences that the read has to satisfy; -1 for owners that are not cached. */
  async #fencesAt({ aid, sid }: SessionLocation, nowMs: number): Promise<SeenFences> {
    const [subscriber, account] = await Promise.all(
      [sid, 0].map((owner) => this.#repair(this.#owners.get(aid, owner), nowMs)),
    )
    return { aid, sid, subscriber: subscriber ?? -1, account: account ?? -1 }
  }

  /** The fence of an owner. A fence that was left dirty is raised first. */
  async #repair(owner: CachedOwner | undefined, nowMs: number): Promise<number> {
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
function isOf(
  { profile }: CachedProfile,
  { aid, sid }: SessionLocation,
  isOpening: boolean,
): boolean {
  if (profile === null) return true
  return profile.sid === sid && (profile.aid === aid || !isOpening)
}

function isOutage(error: unknown): boolean {
  return (
    error instanceof StoreDownError ||
    (error instanceof Error && error.name === 'CatalogUnavailableError')
  )
}
