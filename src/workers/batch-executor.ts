/**
 * Settles and commits batches of accounts. A run takes the waiting requests of all idle accounts
 * and needs one script call; a second one loads owners that are not cached, and each conflict costs
 * another. Requests of one account never overtake each other.
 */
import { present } from '../domain/assert.ts'
import { plainOutcome, type Reason } from '../domain/charge-outcome.ts'
import { type AccountCommit, backoffHintMs } from '../ledger/commit-layout.ts'
import type { CommitReply, Ledger, RegisteredSession } from '../ledger/ledger.ts'
import { chargeSession, needsProfile } from '../rating/charge-session.ts'
import type { ChargeContext } from '../rating/decision.ts'
import type { Clock } from '../runtime/clock.ts'
import { StoreDownError } from '../store/redis.ts'
import { AccountAttempt, type DirectoryTtl } from './account-attempt.ts'
import type { AccountBatch, AccountQueue, DecidedBatch } from './account-batch.ts'
import { CommitEvents, type EventOptions } from './commit-events.ts'
import type { CachedOwner, OwnerCache } from './owner-cache.ts'
import { OwnerLoader } from './owner-loader.ts'
import { dropPastDeadline } from './past-deadline.ts'
import { type PendingCharge, withinProfile } from './pending-charge.ts'
import type { CachedProfile } from './profiles.ts'
import { createRegistrationResolver, type RegistrationResolver } from './session-registrations.ts'

/**
 * `reservations`: committed grants, one per service. `late`: requests that were not decided because
 * they, or an earlier one of their session, were past the deadline.
 */
export type CountName = 'commits' | 'conflicts' | 'loads' | 'busy' | 'reservations' | 'late'

/** The owners whose fences a profile has to satisfy. */
export interface FencedOwners {
  subscriber: CachedOwner
  account: CachedOwner
}

export interface BatchExecutorOptions extends EventOptions {
  ledger: Ledger
  owners: OwnerCache
  clock: Clock
  /** The clock of batch deadlines, `processMs`. */
  elapsedMs: () => number
  /** The context of an attempt. Each request sets its profile and finder. */
  context: (nowMs: number) => ChargeContext
  /** The cached profile of an item if it satisfies its fences; undefined otherwise. */
  profileOf: (item: PendingCharge, owners: FencedOwners, nowMs: number) => CachedProfile | undefined
  commitAttemptsMax: number
  directoryTtl: DirectoryTtl
  count: (name: CountName, by: number) => void
  onDefect: (error: unknown) => void
}

/** Pauses for back-off hints begin with 1 ms and grow by 1 ms after so many of them. */
const BUSY_ROUNDS = 20
const BUSY_PAUSE_MS_MAX = 20
/**
 * Maximum number of requests of one account per commit, since scripts accept a limited number of
 * values.
 */
const ITEMS_PER_BATCH_MAX = 500
/** Maximum number of pauses for back-off hints of other workers before a run gives up. */
const BUSY_MAX = 1000

/**
 * Life cycle of an item: waiting (`enqueue`), in a batch (`#startReady`), decided again by each
 * attempt (`#decide`), resolved once, with the committed outcome or with a failure.
 */
export class BatchExecutor {
  readonly #accounts = new Map<number, AccountQueue>()
  #ready: AccountQueue[] = []
  readonly #options: BatchExecutorOptions
  readonly #registrations: RegistrationResolver
  readonly #loader: OwnerLoader

  constructor(options: BatchExecutorOptions) {
    const { ledger, owners, count } = options
    this.#options = options
    this.#registrations = createRegistrationResolver(ledger)
    this.#loader = new OwnerLoader({
      ledger,
      owners,
      onLoads: (loads) => count('loads', loads),
      onDown: (batch, error) => this.#fail([batch], error),
      onNothingLeft: (batch) => this.#release(batch),
    })
  }

  /** Queues items; each is resolved once. Starts a run for all idle accounts. */
  enqueue(items: readonly PendingCharge[]): void {
    for (const item of items) {
      let account = this.#accounts.get(item.aid)
      if (account === undefined) {
        account = { aid: item.aid, waiting: [item], isBusy: false }
        this.#accounts.set(item.aid, account)
      } else account.waiting.push(item)
      if (account.isBusy) continue
      account.isBusy = true
      this.#ready.push(account)
    }
    this.#startReady()
  }

  #startReady(): void {
    const ready = this.#ready
    if (ready.length === 0) return
    this.#ready = []
    const { count, elapsedMs } = this.#options
    const nowMs = elapsedMs()
    const batches: AccountBatch[] = []
    for (const account of ready) {
      const { waiting } = account
      const isAll = waiting.length <= ITEMS_PER_BATCH_MAX
      const items = isAll ? waiting : waiting.splice(0, ITEMS_PER_BATCH_MAX)
      if (isAll) account.waiting = []
      const batch: AccountBatch = {
        account,
        items,
        attempt: 1,
        isEnded: false,
        isFresh: false,
        shared: null,
      }
      count('late', dropPastDeadline(batch, nowMs))
      if (batch.items.length > 0) batches.push(batch)
      else this.#release(batch)
    }
    if (batches.length === 0) return
    this.#run(batches).catch((error: unknown) => {
      this.#options.onDefect(error)
      for (const batch of batches) this.#finish(batch, 'corrupt', 'defect')
    })
  }

  /** Attempts the batches until each is committed, rejected or given up. */
  async #run(batches: AccountBatch[]): Promise<void> {
    let left = batches
    let busy = 0
    while (left.length > 0) {
      const { again, isBusy } = await this.#attempt(left)
      left = again
      if (!isBusy) continue
      busy += 1
      this.#options.count('busy', 1)
      if (busy >= BUSY_MAX) for (const batch of left.splice(0)) this.#finish(batch, 'contention')
      const pauseMs = Math.min(1 + busy / BUSY_ROUNDS, BUSY_PAUSE_MS_MAX)
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
    }
  }

  async #attempt(batches: AccountBatch[]): Promise<{ again: AccountBatch[]; isBusy: boolean }> {
    try {
      const again: AccountBatch[] = []
      const writing: DecidedBatch[] = []
      const read: DecidedBatch[] = []
      const loaded = await this.#loaded(batches)
      const context = this.#options.context(this.#options.clock.nowMs())
      for (const batch of loaded) {
        const decided = this.#decideAlone(batch, context, again)
        if (decided === null) continue
        if (!batch.isFresh && decided.attempt.hasSequenceError) again.push(this.#refresh(batch))
        else if (decided.commit === null) read.push(decided)
        else writing.push(decided)
      }
      if (read.length > 0) await this.#answer(read)
      if (writing.length === 0) return { again, isBusy: false }
      const commits = writing.map(({ commit }) => commit as AccountCommit)
      const replies = await this.#options.ledger.commit(commits, this.#options.clock.nowMs())
      this.#options.count('commits', commits.length)
      const isBusy = await this.#takeReplies(writing, replies, again)
      return { again, isBusy }
    } catch (error) {
      this.#fail(batches, error)
      return { again: [], isBusy: false }
    }
  }

  /** The batches that can be decided, with their owners loaded. */
  #loaded(batches: AccountBatch[]): AccountBatch[] | Promise<AccountBatch[]> {
    const lacking = batches.filter((batch) => !this.#loader.isCached(batch))
    if (lacking.length === 0) return batches
    const cached = batches.filter((batch) => !lacking.includes(batch))
    return this.#loader.load(lacking).then((loaded) => [...cached, ...loaded])
  }

  #fail(batches: readonly AccountBatch[], error: unknown): void {
    const isOutage = error instanceof StoreDownError
    if (!isOutage) this.#options.onDefect(error)
    for (const batch of batches) {
      this.#loader.forget(batch)
      this.#finish(batch, isOutage ? 'storeDown' : 'corrupt', isOutage ? '' : 'defect')
    }
  }

  /**
   * Decides a batch. On a defect, such as a session that refers to a missing bucket, the cached
   * owners may be of different times and are read again together. If it persists, the batch fails
   * alone.
   */
  #decideAlone(
    batch: AccountBatch,
    context: ChargeContext,
    again: AccountBatch[],
  ): DecidedBatch | null {
    try {
      return this.#decide(batch, context)
    } catch (error) {
      if (!batch.isFresh) {
        again.push(this.#refresh(batch))
        return null
      }
      this.#options.onDefect(error)
      this.#loader.forget(batch)
      this.#finish(batch, 'corrupt')
      return null
    }
  }

  /**
   * Decides the items of one account on its cached states. All share one context, in which each
   * sets its own fields synchronously before its decision.
   */
  #decide(batch: AccountBatch, context: ChargeContext): DecidedBatch {
    const shared = present(batch.shared, 'shared owner')
    const rules = this.#options.eventRules()
    const attempt = new AccountAttempt(
      batch.account.aid,
      shared,
      this.#options.directoryTtl,
      rules ? new CommitEvents(rules, context) : null,
    )
    for (const item of batch.items) {
      const owner = present(item.owner, 'owner')
      const owners = { subscriber: owner, account: shared }
      const { request, isProfileUnavailable } = item
      const view = attempt.view(owner, item)
      let profile: CachedProfile | null = null
      if (rules === undefined || needsProfile(request, view.session, isProfileUnavailable)) {
        const cached = this.#profileOf(item, owners, context)
        if (cached === undefined) {
          attempt.defer(item)
          continue
        }
        profile = cached
      }
      context.finder = item.rules.finder
      context.profile = profile === null ? null : profile.profile
      const decision = chargeSession(view, withinProfile(item, context.profile), context)
      let known = profile
      if (rules?.needsServices === true && known === null && decision.commit !== null) {
        known = this.#profileOf(item, owners, context) ?? null
        if (known === null && !isProfileUnavailable) {
          attempt.defer(item)
          continue
        }
      }
      attempt.add(item, view, decision, profile, known)
    }
    return {
      batch,
      attempt,
      commit: attempt.commit(backoffHintMs(batch.attempt, this.#options.commitAttemptsMax)),
    }
  }

  #profileOf(item: PendingCharge, owners: FencedOwners, { nowMs }: ChargeContext) {
    return item.isProfileUnavailable ? undefined : this.#options.profileOf(item, owners, nowMs)
  }

  #refresh(batch: AccountBatch): AccountBatch {
    this.#loader.forget(batch)
    batch.isFresh = true
    return batch
  }

  /** Answers batches that write nothing. Their states may not be on the replicas yet. */
  async #answer(read: readonly DecidedBatch[]): Promise<void> {
    const { confirm } = this.#options.ledger
    const confirmed = confirm && (await confirm(read.map(({ batch }) => batch.account.aid)))
    for (const [index, entry] of read.entries()) {
      const outage = confirmed?.[index] ?? null
      if (outage === null) this.#accept(entry)
      else this.#fail([entry.batch], outage)
    }
  }

  #accept({ batch, attempt, commit }: DecidedBatch): void {
    if (commit !== null) {
      attempt.accept(commit)
      this.#options.count('reservations', attempt.reservations)
      for (const change of attempt.changedActions) this.#options.reauthorize(change)
    }
    for (const item of batch.items) item.resolve(item.tentativeOutcome)
    this.#release(batch)
  }

  /** Returns whether a back-off hint of another worker requires a pause. */
  async #takeReplies(
    writing: readonly DecidedBatch[],
    replies: readonly CommitReply[],
    again: AccountBatch[],
  ): Promise<boolean> {
    let refused: number[] | null = null
    for (let index = 0; index < writing.length; index += 1) {
      if (replies[index]?.kind === 'committed') this.#accept(writing[index] as DecidedBatch)
      else {
        refused ??= []
        refused.push(index)
      }
    }
    let isBusy = false
    for (const index of refused ?? []) {
      const entry = writing[index] as DecidedBatch
      const reply = present(replies[index], 'reply')
      isBusy ||= reply.kind === 'busy'
      try {
        again.push(...(await this.#refused(entry, reply)))
      } catch (error) {
        this.#fail([entry.batch], error)
      }
    }
    return isBusy
  }

  /** The batches to try again after a commit that wrote nothing. */
  async #refused({ batch, commit }: DecidedBatch, reply: CommitReply): Promise<AccountBatch[]> {
    switch (reply.kind) {
      case 'busy':
        if (reply.registered !== null) await this.#resolveRegistration(batch, reply.registered)
        return [batch]
      case 'conflict':
        this.#options.count('conflicts', 1)
        this.#loader.update(commit as AccountCommit, reply)
        batch.isFresh = false
        break
      case 'registered':
        await this.#resolveRegistration(batch, reply)
        break
      case 'down':
        this.#fail([batch], reply.error)
        return []
      default:
        return this.#split(batch)
    }
    batch.attempt += 1
    if (batch.attempt <= this.#options.commitAttemptsMax) return [batch]
    this.#finish(batch, 'contention')
    return []
  }

  #resolveRegistration(batch: AccountBatch, registered: RegisteredSession): Promise<void> {
    return this.#registrations.resolve(batch.items, registered, this.#options.clock.nowMs())
  }

  /**
   * Isolates a damaged owner. Reading the owners again may show which one it is; otherwise the
   * subscribers of the account are tried separately.
   */
  #split(batch: AccountBatch): AccountBatch[] {
    if (!batch.isFresh) return [this.#refresh(batch)]
    const sids = new Set(batch.items.map((item) => item.sid))
    this.#loader.forget(batch)
    if (sids.size <= 1) {
      this.#finish(batch, 'corrupt')
      return []
    }
    const parts = [...sids].map((sid): AccountBatch => {
      const items = batch.items.filter((item) => item.sid === sid)
      const account = { aid: batch.account.aid, waiting: [], isBusy: true }
      const { attempt } = batch
      return { account, items, attempt, isEnded: false, isFresh: true, shared: null }
    })
    this.#release(batch)
    return parts
  }

  #finish(batch: AccountBatch, reason: Reason, detail = ''): void {
    if (batch.isEnded) return
    for (const item of batch.items) {
      item.resolve(plainOutcome(reason, detail, item.aid, item.sid))
    }
    this.#release(batch)
  }

  /** The account is idle again. Items that arrived meanwhile start the next run. */
  #release(batch: AccountBatch): void {
    if (batch.isEnded) return
    batch.isEnded = true
    for (const { owner } of batch.items) owner?.trimSessions()
    const { account } = batch
    if (account.waiting.length === 0) {
      account.isBusy = false
      if (this.#accounts.get(account.aid) === account) this.#accounts.delete(account.aid)
      return
    }
    this.#ready.push(account)
    // Accounts released together start in one run.
    if (this.#ready.length === 1) queueMicrotask(() => this.#startReady())
  }
}
