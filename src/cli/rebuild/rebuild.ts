/**
 * Restores a lost ledger from MongoDB. The epoch begins last: until then nothing is charged, so an
 * interrupted rebuild can simply be repeated.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Catalog } from '../../catalog/connection.ts'
import {
  beginEpoch,
  type EpochRecord,
  inspectLedger,
  nextEpoch,
  storeSettings,
} from '../../ledger/install.ts'
import { createKeys } from '../../ledger/keys.ts'
import { acquireRebuildLock, type RebuildLock } from '../../ledger/rebuild-lock.ts'
import { createRestorer, type Restorer } from '../../ledger/restore.ts'
import { restoreDirectory } from '../../ledger/restore-directory.ts'
import type { RedisConnection } from '../../store/redis.ts'
import { CommandError } from '../errors.ts'
import type { AccountRecords, RestoredOwner } from './account-records.ts'
import { recordedAccounts } from './recorded.ts'

export interface RebuildStores {
  redis: RedisConnection
  catalog: Catalog
  record: EpochRecord
}

export interface RebuildSettings {
  partitions: number
  operationKeepMs: number
  directoryTtlMs: number
  /** Reads and reports only. */
  isDryRun: boolean
  /** How long a recorder may need for its batch from before the loss. */
  settleMs: number
  nowMs: number
}

/** Result for one account. */
export interface RestoredAccount {
  aid: number
  /** Number of its lines that were read. */
  lines: number
  /** Operations whose repetition still has no effect. */
  operations: number
  owners: RestoredOwner[]
}

export interface Rebuilt {
  /** The new epoch; null after a dry run. */
  epoch: string | null
  partitions: number
}

/**
 * Restores every account whose partition is lost, and passes each to `onAccount`. Throws
 * `CommandError` if there is nothing to rebuild or another rebuild is running,
 * `LedgerMismatchError`, `LedgerStandsError`, `StoreDownError` or `CatalogUnavailableError`.
 */
export async function rebuild(
  stores: RebuildStores,
  settings: RebuildSettings,
  onAccount: (account: RestoredAccount) => void,
): Promise<Rebuilt> {
  const { redis } = stores
  const keys = createKeys(settings.partitions)
  if (settings.isDryRun) {
    const lost = await detectLoss(stores, settings)
    await restoreAccounts(stores, settings, lost.partitions, null, onAccount)
    return { epoch: null, partitions: lost.partitions.length }
  }
  await detectLoss(stores, settings)
  const lock = await acquireRebuildLock(redis, keys)
  if (lock === null) throw new CommandError(RUNNING)
  try {
    // A previous holder of the lock may have completed the rebuild.
    const lost = await detectLoss(stores, settings)
    await storeSettings(redis, keys)
    await delay(settings.settleMs)
    const restorer = createRestorer(redis, keys, settings.nowMs)
    const restoring = whileLocked(restorer, lock)
    await restoreAccounts(stores, settings, lost.partitions, restoring, onAccount)
    await restoring.flush()
    await restoreDirectory(redis, keys, lost.partitions, settings.directoryTtlMs)
    checkLockHeld(lock)
    // Recorded first: an epoch number is not reused, even if the rebuild is interrupted here.
    await stores.record.write(lost.epoch)
    await beginEpoch(redis, keys, lost.partitions, lost.epoch)
    return { epoch: lost.epoch, partitions: lost.partitions.length }
  } finally {
    await lock.release().catch(() => undefined)
  }
}

/** The previous cycle, the oldest that still receives events, began within this period. */
const OPEN_CYCLES_MS = 63 * 86_400_000

const RUNNING =
  'another rebuild is running; the lock of one that was killed expires after 30 seconds'

interface LedgerLoss {
  partitions: number[]
  /** Epoch of the restored partitions: the current one of the other partitions, or the next. */
  epoch: string
}

async function detectLoss(
  { redis, record }: RebuildStores,
  { partitions }: RebuildSettings,
): Promise<LedgerLoss> {
  const { epoch, lost } = await inspectLedger(redis, partitions, record)
  if (epoch === null) throw new CommandError('there never was a ledger here: nothing to rebuild')
  // On a single Redis the first partition, whose epoch begins last, decides for all.
  const isLost = redis.isCluster ? lost.length > 0 : lost.includes(0)
  if (!isLost) throw new CommandError('the ledger is there: nothing to rebuild')
  const isWhole = lost.length === partitions
  return { partitions: lost, epoch: isWhole ? nextEpoch(epoch, partitions) : epoch }
}

function whileLocked(restorer: Restorer, lock: RebuildLock): Restorer {
  return {
    async add(owners, operations) {
      checkLockHeld(lock)
      await restorer.add(owners, operations)
    },
    flush: () => restorer.flush(),
  }
}

function checkLockHeld(lock: RebuildLock): void {
  if (lock.isHeld()) return
  throw new CommandError(
    'redis was unavailable meanwhile: run it again, it starts from the beginning',
  )
}

async function restoreAccounts(
  { catalog }: RebuildStores,
  { partitions, operationKeepMs, nowMs }: RebuildSettings,
  lost: readonly number[],
  restorer: Restorer | null,
  onAccount: (account: RestoredAccount) => void,
): Promise<void> {
  const lostPartitions = new Set(lost)
  const keys = createKeys(partitions)
  const isLost = (aid: number) => lostPartitions.has(keys.partitionOf(aid))
  const keptSinceMs = nowMs - operationKeepMs
  const since = { operationsMs: keptSinceMs, countersMs: nowMs - OPEN_CYCLES_MS }
  for await (const records of recordedAccounts(catalog, isLost, since)) {
    const owners = records.restore()
    const states = owners.flatMap(({ state }) => (state === null ? [] : [state]))
    const operations = repeatableOperations(records, keptSinceMs)
    await restorer?.add(states, operations)
    onAccount({ aid: records.aid, lines: records.lines, operations: operations.length, owners })
  }
}

function repeatableOperations({ operations }: AccountRecords, keptSinceMs: number) {
  return operations.map((line) => ({ line, ttlMs: line.atMs - keptSinceMs }))
}
