/**
 * The ledger: live balances, reservations and sessions in Redis. The only writer of balances.
 * Every method throws `StoreDownError` while Redis is away, and `LedgerLostError`, which is one,
 * where its data is not there.
 */
import type { OperationLine } from '../domain/line.ts'
import { type RedisConnection, StoreDownError } from '../store/redis.ts'
import { type Commit, createCommit } from './commit.ts'
import { type Confirm, createConfirm } from './confirm.ts'
import { createEpochs, type Epochs } from './epochs.ts'
import { createKeys, type LedgerKeys } from './keys.ts'
import {
  createLoadEach,
  type Fence,
  type LoadEach,
  type LoadedOwner,
  type OwnerQuery,
  readFence,
} from './loading.ts'
import type { CorruptValueError } from './owner-packing.ts'
import { unpackResult } from './record-packing.ts'
import { runScript } from './script.ts'
import { fenceScript } from './scripts.ts'
import { createFindLocations, type FindLocations } from './session-locations.ts'

export type { CommitReply, RegisteredSession } from './commit.ts'
export type { Fence, LoadedOwner, LoadReply, OwnerQuery } from './loading.ts'
export { formatLocation, type SessionLocation } from './session-locations.ts'

export interface LedgerSettings {
  partitions: number
  directoryTtlMs: number
  operationKeepMs: number
}

export interface Ledger {
  keys: LedgerKeys
  redis: RedisConnection
  epochs: Epochs
  /** Owners at one moment. A damaged one is reported in its place, and only there. */
  load(wanted: readonly OwnerQuery[]): Promise<(LoadedOwner | CorruptValueError)[]>
  /** Likewise; what a part of a cluster would have said that is away is reported in its place. */
  loadEach: LoadEach
  /** A reply per account, in order. One script call, in a cluster one per partition. */
  commit: Commit
  /** For answers that write nothing; undefined where no replica is waited for. */
  confirm: Confirm | undefined
  /** Homes of sessions, null where the directory knows none. */
  findLocations: FindLocations
  /** The stored result of an operation, null if it was never done. */
  findOperation(aid: number, operationId: string): Promise<OperationLine | null>
  /**
   * Calls back when what was read before may not be what stands after; with true if the epoch is
   * another, so that nothing of before is true any more.
   */
  onDataChanged(listener: (isAnother: boolean) => void): void
  /** Keeps directory entries of sessions that live long. */
  renewLocations(sessionKeys: readonly string[]): Promise<void>
  /** Raises the fence of a subscriber's profile (design.md §3, catalogue feed). */
  raiseFence(aid: number, sid: number, dirty: boolean, nowMs: number): Promise<Fence>
}

/** `token` tells this connection's commits from those of every other worker and process. */
export function createLedger(
  redis: RedisConnection,
  settings: LedgerSettings,
  token: number,
): Ledger {
  const keys = createKeys(settings.partitions)
  const listeners: ((isAnother: boolean) => void)[] = []
  const epochs = createEpochs(redis, keys, () => {
    for (const listener of listeners) listener(true)
  })
  const loadEach = createLoadEach(redis, epochs, keys)
  return {
    keys,
    redis,
    epochs,
    loadEach,
    async load(wanted) {
      return (await loadEach(wanted)).map((reply) => {
        if (reply instanceof StoreDownError) throw reply
        return reply
      })
    },
    commit: createCommit(redis, epochs, { keys, ...settings, token }),
    confirm: createConfirm(redis, epochs, keys),
    findLocations: createFindLocations(redis, epochs, keys),
    async findOperation(aid, operationId) {
      const stored = redis.client.getBuffer(keys.operation(aid, operationId))
      const packed = await redis.guard(stored)
      return packed === null ? null : unpackResult(packed)
    },
    onDataChanged(listener) {
      listeners.push(listener)
      // A Redis that lost its last writes may reach the same version again with another content.
      redis.onLost(() => listener(false))
    },
    async renewLocations(sessionKeys) {
      const renewals = sessionKeys.map((sessionKey) =>
        redis.client.pexpire(keys.directory(sessionKey), settings.directoryTtlMs),
      )
      await redis.guard(Promise.all(renewals))
    },
    async raiseFence(aid, sid, dirty, nowMs) {
      const owner = keys.owner(aid, sid)
      return readFence(await runScript(redis, fenceScript, { owner, dirty, nowMs }))
    },
  }
}
