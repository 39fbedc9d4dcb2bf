/** Loads the owners that the accounts of a batch need and the cache lacks, in one call. */
import { present } from '../domain/assert.ts'
import { plainOutcome } from '../domain/charge-outcome.ts'
import type { AccountCommit } from '../ledger/commit-layout.ts'
import type { CommitReply, Ledger, OwnerQuery } from '../ledger/ledger.ts'
import { CorruptValueError } from '../ledger/owner-packing.ts'
import { StoreDownError } from '../store/redis.ts'
import type { AccountBatch } from './account-batch.ts'
import { type OwnerCache, ownerIn } from './owner-cache.ts'
import { isAssumedNew } from './session-registrations.ts'

export interface OwnerLoaderOptions {
  ledger: Pick<Ledger, 'loadEach'>
  owners: OwnerCache
  onLoads: (count: number) => void
  /** The Redis shard of the account is unavailable. */
  onDown: (work: AccountBatch, error: StoreDownError) => void
  /** All items of the batch have been answered. */
  onNothingLeft: (work: AccountBatch) => void
}

export class OwnerLoader {
  readonly #options: OwnerLoaderOptions

  constructor(options: OwnerLoaderOptions) {
    this.#options = options
  }

  /** Whether the cache has all states of a batch; assigns them to its items. */
  isCached(work: AccountBatch): boolean {
    const account = this.#options.owners.account(work.account.aid)
    if (account === undefined || account.shared === undefined) return false
    work.shared = account.shared
    for (const item of work.items) {
      const owner = ownerIn(account, item.sid)
      if (owner === undefined) return false
      if (!isAssumedNew(item) && !owner.sessions.has(item.sessionKey)) return false
      item.owner = owner
    }
    return true
  }

  /** Returns the batches that can be decided. Batches of damaged or unavailable owners end. */
  async load(works: readonly AccountBatch[]): Promise<AccountBatch[]> {
    const asked = works.flatMap((work) => this.#missing(work).map((wanted) => ({ work, wanted })))
    const { ledger, owners, onLoads, onDown } = this.#options
    onLoads(asked.length)
    const damaged = new Set<string>()
    const replies = await ledger.loadEach(asked.map(({ wanted }) => wanted))
    for (const [index, { work, wanted }] of asked.entries()) {
      const loaded = present(replies[index], 'loaded owner')
      const { aid, sid, sessionKeys } = wanted
      if (loaded instanceof StoreDownError) onDown(work, loaded)
      else if (loaded instanceof CorruptValueError) damaged.add(`${aid}:${sid}`)
      else {
        const owner = owners.take(loaded, sessionKeys)
        if (sid === 0) work.shared = owner
        else for (const item of work.items) if (item.sid === sid) item.owner = owner
      }
    }
    const here = works.filter((work) => !work.isEnded)
    if (damaged.size === 0) return here
    return here.filter((work) => this.#withoutDamaged(work, damaged))
  }

  /** Caches the owners that a conflict reports. */
  update(
    commit: AccountCommit,
    { shared, owners }: Extract<CommitReply, { kind: 'conflict' }>,
  ): void {
    const cache = this.#options.owners
    cache.take(shared, [])
    for (const [index, loaded] of owners.entries()) {
      const written = commit.owners[index]?.sessions ?? []
      cache.take(
        loaded,
        written.map((session) => session.sessionKey),
      )
    }
  }

  /** Drops the owners of a batch from the cache. */
  forget(work: AccountBatch): void {
    const { owners } = this.#options
    owners.drop(work.account.aid, 0)
    for (const item of work.items) owners.drop(work.account.aid, item.sid)
  }

  /** Answers the items of damaged owners. Returns false if no other item is left. */
  #withoutDamaged(work: AccountBatch, damaged: ReadonlySet<string>): boolean {
    const { aid } = work.account
    const isDamaged = (sid: number) => damaged.has(`${aid}:${sid}`) || damaged.has(`${aid}:0`)
    for (const item of work.items) {
      if (isDamaged(item.sid)) item.resolve(plainOutcome('corrupt', '', aid, item.sid))
    }
    work.items = work.items.filter((item) => !isDamaged(item.sid))
    if (work.items.length > 0) return true
    this.#options.onNothingLeft(work)
    return false
  }

  /**
   * The owners to read. If any part of an owner is missing, all that the items need of it is read:
   * it may have changed since, and sessions that are not read would be taken for absent.
   */
  #missing(work: AccountBatch): OwnerQuery[] {
    const { owners } = this.#options
    const { aid } = work.account
    const needed = new Map<number, Set<string>>([[0, new Set()]])
    for (const item of work.items) {
      const keys = needed.get(item.sid) ?? new Set()
      if (!isAssumedNew(item)) keys.add(item.sessionKey)
      needed.set(item.sid, keys)
    }
    const wanted: OwnerQuery[] = []
    for (const [sid, keys] of needed) {
      const owner = owners.get(aid, sid)
      const sessionKeys = [...keys]
      if (owner === undefined || !sessionKeys.every((key) => owner.sessions.has(key))) {
        wanted.push({ aid, sid, sessionKeys })
      } else if (sid === 0) work.shared = owner
      else for (const item of work.items) if (item.sid === sid) item.owner = owner
    }
    return wanted
  }
}
