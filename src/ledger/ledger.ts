/**
 * The ledger: live balances, reservations and sessions in Redis. It is the only writer of balances.
 * Every method throws `StoreDownError` while Redis is unavailable, and its subclass
 * `LedgerLostError` if the data of the ledger is missing.
 */
import type { OperationLine } from '../domain/line.ts'
import { type RedisConnection, StoreDownError } from '../store/redis.ts'
import { type Commit, createCommit } from './commit.ts'
import { createEpochs, type Epochs } from './epochs.ts'
import { createKeys, fenceField, type LedgerKeys } from './keys.ts'
import {
  createLoadEach,
  type Fence,
  type LoadEach,
  type LoadedOwner,
  type OwnerQuery,
  readFence,
} from './loading.ts'
import type { CorruptValueError } from './owner-packing.ts'
import { callPerPartition } from './partition-calls.ts'
import { unpackResult } from './record-packing.ts'
import { runScript } from './script.ts'
import { confirmScript, fenceScript } from './scripts.ts'
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
  /** Loads owners in one atomic read. A damaged owner is reported in its position of the result. */
  load(queries: readonly OwnerQuery[]): Promise<(LoadedOwner | CorruptValueError)[]>
  /** Like `load`; an unavailable node of a cluster is reported in the positions of its owners. */
  loadEach: LoadEach
  /**
   * Returns one reply per account, in order. Makes one script call, in a cluster one per partition.
   */
  commit: Commit
  /** For answers that write nothing; undefined if the configuration waits for no replica. */
  confirm: Confirm | undefined
  /** Locations of sessions; null if the directory has no entry. */
  findLocations: FindLocations
  /** The stored result of an operation; null if it was never executed. */
  findOperation(aid: number, operationId: string): Promise<OperationLine | null>
  /**
   * Calls back when data that was read before may be outdated; with true if the epoch has changed,
   * so that everything read before is invalid.
   */
  onDataChanged(listener: (isAnother: boolean) => void): void
  /** Renews the directory entries of long sessions. */
  renewLocations(sessionKeys: readonly string[]): Promise<void>
  /** Raises the fence of a subscriber's profile. */
  raiseFence(aid: number, sid: number, dirty: boolean, nowMs: number): Promise<Fence>
}

/**
 * `token` is unique for each worker of each process: it identifies the back-off hints of this one.
 */
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
    async load(queries) {
      return (await loadEach(queries)).map((reply) => {
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
      // A Redis that lost its last writes may reach the same version again with different content.
      redis.onLost(() => listener(false))
    },
    async renewLocations(sessionKeys) {
      const renewals = sessionKeys.map((sessionKey) =>
        redis.client.pexpire(keys.directory(sessionKey), settings.directoryTtlMs),
      )
      await redis.guard(Promise.all(renewals))
    },
    async raiseFence(aid, sid, dirty, nowMs) {
      const call = { account: keys.account(aid), field: fenceField(sid), dirty, nowMs }
      return readFence(await runScript(redis, fenceScript, call))
    },
  }
}

/**
 * Waits until the replicas have the state in which these accounts were read. In order; an outage is
 * the result of the accounts that could not be confirmed. Rejects with `StoreDownError` on a single
 * Redis.
 */
type Confirm = (aids: readonly number[]) => Promise<(null | StoreDownError)[]>

/** Undefined if the configuration waits for no replica (`redis.replicaAcks` is 0). */
function createConfirm(
  redis: RedisConnection,
  epochs: Epochs,
  keys: LedgerKeys,
): Confirm | undefined {
  if (redis.replicaAcks === 0) return undefined
  return (aids) =>
    callPerPartition<number, null>(redis, aids, keys.partitionOf, (part, partition) =>
      epochs.withEpoch(partition, async (epoch) => {
        await runScript(redis, confirmScript, { epoch, mark: keys.mark(partition) })
        return part.map(() => null)
      }),
    )
}
