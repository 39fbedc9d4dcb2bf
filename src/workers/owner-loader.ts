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
  onDown: (batch: AccountBatch, error: StoreDownError) => void
  /** All items of the batch have been answered. */
  onNothingLeft: (batch: AccountBatch) => void
}

export class OwnerLoader {
  readonly #options: OwnerLoaderOptions

  constructor(options: OwnerLoaderOptions) {
    this.#options = options
  }

  /** Whether the cache has all states of a batch; assigns them to its items. */
  isCached(batch: AccountBatch): boolean {
    const account = this.#options.owners.account(batch.account.aid)
    if (account === undefined || account.shared === undefined) return false
    batch.shared = account.shared
    for (const item of batch.items) {
      const owner = ownerIn(account, item.sid)
      if (owner === undefined) return false
      if (!isAssumedNew(item) && !owner.hasSession(item.sessionKey)) return false
      item.owner = owner
    }
    return true
  }

  /** Returns the batches that can be decided. Batches of damaged or unavailable owners end. */
  async load(batches: readonly AccountBatch[]): Promise<AccountBatch[]> {
    const queries = batches.flatMap((batch) =>
      this.#missing(batch).map((query) => ({ batch, query })),
    )
    const { ledger, owners, onLoads, onDown } = this.#options
    onLoads(queries.length)
    const damaged = new Set<string>()
    const replies = await ledger.loadEach(queries.map(({ query }) => query))
    for (const [index, { batch, query }] of queries.entries()) {
      const loaded = present(replies[index], 'loaded owner')
      const { aid, sid, sessionKeys } = query
      if (loaded instanceof StoreDownError) onDown(batch, loaded)
      else if (loaded instanceof CorruptValueError) damaged.add(`${aid}:${sid}`)
      else {
        const owner = owners.take(loaded, sessionKeys)
        if (sid === 0) batch.shared = owner
        else for (const item of batch.items) if (item.sid === sid) item.owner = owner
      }
    }
    const remaining = batches.filter((batch) => !batch.isEnded)
    if (damaged.size === 0) return remaining
    return remaining.filter((batch) => this.#withoutDamaged(batch, damaged))
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
  forget(batch: AccountBatch): void {
    const { owners } = this.#options
    owners.drop(batch.account.aid, 0)
    for (const item of batch.items) owners.drop(batch.account.aid, item.sid)
  }

  /** Answers the items of damaged owners. Returns false if no other item is left. */
  #withoutDamaged(batch: AccountBatch, damaged: ReadonlySet<string>): boolean {
    const { aid } = batch.account
    const isDamaged = (sid: number) => damaged.has(`${aid}:${sid}`) || damaged.has(`${aid}:0`)
    for (const item of batch.items) {
      if (isDamaged(item.sid)) item.resolve(plainOutcome('corrupt', '', aid, item.sid))
    }
    batch.items = batch.items.filter((item) => !isDamaged(item.sid))
    if (batch.items.length > 0) return true
    this.#options.onNothingLeft(batch)
    return false
  }

  /**
   * The owners to read. If any part of an owner is missing, all that the items need of it is read:
   * it may have changed since, and sessions that are not read would be taken for absent.
   */
  #missing(batch: AccountBatch): OwnerQuery[] {
    const { owners } = this.#options
    const { aid } = batch.account
    const needed = new Map<number, Set<string>>([[0, new Set()]])
    for (const item of batch.items) {
      const keys = needed.get(item.sid) ?? new Set()
      if (!isAssumedNew(item)) keys.add(item.sessionKey)
      needed.set(item.sid, keys)
    }
    const queries: OwnerQuery[] = []
    for (const [sid, keys] of needed) {
      const owner = owners.get(aid, sid)
      const sessionKeys = [...keys]
      if (owner === undefined || !sessionKeys.every((key) => owner.hasSession(key))) {
        queries.push({ aid, sid, sessionKeys })
      } else if (sid === 0) batch.shared = owner
      else for (const item of batch.items) if (item.sid === sid) item.owner = owner
    }
    return queries
  }
}
