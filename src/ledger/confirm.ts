/** Answers that are read off the ledger must not be lost with a master either. */
import type { RedisConnection, StoreDownError } from '../store/redis.ts'
import type { Epochs } from './epochs.ts'
import type { LedgerKeys } from './keys.ts'
import { callPerPartition } from './partition-calls.ts'
import { runScript } from './script.ts'
import { confirmScript } from './scripts.ts'

/**
 * Waits until the replicas have what these accounts were read as; in order, an outage in the place
 * of those that they do not have. Rejects with `StoreDownError` on a single Redis.
 */
export type Confirm = (aids: readonly number[]) => Promise<(null | StoreDownError)[]>

/** Undefined where no replica is waited for (`redis.replicaAcks` 0). */
export function createConfirm(
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
