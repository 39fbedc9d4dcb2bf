/**
 * The processing of a batch. Each request is a `PendingCharge`, which carries what the stages find:
 *
 *   refuse    while the store is too full for new sessions and events
 *   locate    account and subscriber, by session or identifier (session-locator.ts)
 *   look up   on the lookup queue only: rules and profile, from MongoDB (request-profiles.ts); on
 *             the customer queue only: from a customer system
 *   charge    rate, settle, commit (batch-executor.ts)
 */
import { plainOutcome } from '../domain/charge-outcome.ts'
import type { WorkerResult, WorkerTask } from '../domain/worker-task.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { ChargeContext } from '../rating/decision.ts'
import type { PoolCheck } from '../rating/pool-check.ts'
import type { Clock } from '../runtime/clock.ts'
import { BatchExecutor, type CountName } from './batch-executor.ts'
import type { EventOptions } from './commit-events.ts'
import { OwnerCache } from './owner-cache.ts'
import { PendingCharge } from './pending-charge.ts'
import type { ProfileCache } from './profiles.ts'
import { type CustomerReads, RequestProfiles } from './request-profiles.ts'
import type { RuleBook } from './rule-book.ts'
import { SessionLocationCache } from './session-location-cache.ts'
import { SessionLocator } from './session-locator.ts'
import { type WarmUpOptions, warmUp } from './warm-up.ts'

export interface ProcessorOptions extends EventOptions {
  ledger: Ledger
  profiles: ProfileCache
  rules: Pick<RuleBook, 'of' | 'own'>
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
  customers: CustomerReads
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
  readonly #profiles: RequestProfiles
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
    const count = (name: keyof Counts, by: number) => {
      this.#counts[name] += by
    }
    const locations = new SessionLocationCache(ledger, directoryTtlMs, options.ownersCachedMax)
    this.#locator = new SessionLocator(locations, options)
    this.#profiles = new RequestProfiles({
      ...options,
      owners: this.#owners,
      locator: this.#locator,
      onDamaged: () => count('damaged', 1),
    })
    this.#executor = new BatchExecutor({
      ledger,
      owners: this.#owners,
      clock,
      elapsedMs,
      context,
      profileOf: (item, owners, nowMs) => this.#profiles.cached(item, owners, nowMs),
      eventRules: options.eventRules,
      reauthorize: options.reauthorize,
      commitAttemptsMax,
      directoryTtl: { openMs: directoryTtlMs, closedMs: options.replayMs * 2 },
      count,
      onDefect,
    })
  }

  warmUp(options: WarmUpOptions): Promise<number> {
    const { ledger, profiles, clock } = this.#options
    return warmUp({ ledger, owners: this.#owners, profiles, clock }, options)
  }

  async process(task: WorkerTask): Promise<WorkerResult> {
    const { requests, mayLookUp, mayAsk = false, deadlineMs } = task
    const { own } = this.#options.rules
    const items = requests.map((request) => new PendingCharge(request, own))
    this.#refuse(items)
    const admitted = items.filter(isUnanswered)
    if (mayLookUp) await this.#chargeWithLookups(admitted, deadlineMs, mayAsk)
    else await this.#charge(admitted.filter(this.#hasRules), deadlineMs)
    const outcomes = items.map(({ outcome }) => outcome)
    const stats = this.#counts
    this.#counts = noCounts()
    return { outcomes, stats }
  }

  /**
   * Answers starts and events while they are refused. One whose session is cached is a
   * retransmission, which already has its answer; for others only the store could tell.
   */
  #refuse(items: readonly PendingCharge[]): void {
    const refusal = this.#options.refusal()
    if (refusal === null) return
    const nowMs = this.#options.clock.nowMs()
    for (const item of items) {
      const { request, isOpening } = item
      if (!isOpening || request.pretend || this.#locator.isSessionCached(request, nowMs)) continue
      item.outcome = plainOutcome('overloaded', refusal)
    }
  }

  /** Whether this thread has the rules for which the request was decoded. */
  readonly #hasRules = ({ request }: PendingCharge): boolean =>
    this.#options.rules.of(request.rules) !== undefined

  /**
   * Charges from the caches and Redis only. Requests that need MongoDB remain without an outcome.
   * `isProfileUnavailable`: see `PendingCharge`.
   */
  async #charge(
    items: readonly PendingCharge[],
    deadlineMs: number,
    isProfileUnavailable = false,
  ): Promise<void> {
    const nowMs = this.#options.clock.nowMs()
    const lookup = this.#locator.locate(items, isProfileUnavailable, nowMs)
    // Otherwise the items are queued at once: each turn of waiting costs the whole batch.
    if (lookup !== undefined) await lookup
    await this.#execute(items, deadlineMs)
    const lost = this.#locator.updateLocations(items, nowMs)
    if (lost === null) return
    await this.#locator.retryLost(lost)
    await this.#execute(lost, deadlineMs)
  }

  /** Rates, settles and commits. Resolves when each located item is resolved. */
  #execute(items: readonly PendingCharge[], deadlineMs: number): Promise<void> | undefined {
    const located = items.filter(({ isLocated }) => isLocated)
    if (located.length === 0) return undefined
    return new Promise((done) => {
      const batch = { left: located.length, deadlineMs, done }
      for (const item of located) item.join(batch)
      this.#executor.enqueue(located)
    })
  }

  /**
   * As `#charge`, but reads missing rules and profiles from MongoDB first. If profiles are those of
   * a customer system, requests without one remain without an outcome unless `mayAsk`.
   */
  async #chargeWithLookups(
    items: readonly PendingCharge[],
    deadlineMs: number,
    mayAsk: boolean,
  ): Promise<void> {
    if (!items.every(this.#hasRules)) await this.#options.findRules()
    let left = items.filter(this.#hasRules)
    const unruled = items.filter((item) => !left.includes(item))
    if (this.#options.customers.isAsked && !mayAsk) {
      await Promise.all([
        this.#charge(left, deadlineMs),
        this.#settleOnly(unruled, deadlineMs, UNKNOWN_RULES),
      ])
      return
    }
    for (let read = 0; read < PROFILE_READS_MAX && left.length > 0; read += 1) {
      await Promise.all(left.map((item) => this.#profiles.read(item)))
      const isDown = ({ outcome }: PendingCharge) => outcome?.reason === 'storeDown'
      await this.#settleOnly(left.filter(isDown), deadlineMs)
      left = left.filter(isUnanswered)
      await this.#charge(left, deadlineMs)
      left = left.filter(isUnanswered)
    }
    for (const item of left) item.outcome = plainOutcome('contention', 'profile keeps changing')
    await this.#settleOnly(unruled, deadlineMs, UNKNOWN_RULES)
  }

  /**
   * Settles granted units although the profile cannot be read, or the rules for further grants are
   * unknown. All else fails.
   */
  async #settleOnly(
    items: readonly PendingCharge[],
    deadlineMs: number,
    detail = '',
  ): Promise<void> {
    const granted = items.filter(({ isOpening }) => !isOpening)
    if (granted.length > 0) await this.#charge(granted, deadlineMs, true)
    for (const item of items) item.outcome ??= plainOutcome('storeDown', detail)
  }
}

function isUnanswered({ outcome }: PendingCharge): boolean {
  return outcome === null
}
