/**
 * Waits for the replicas before an answer that was only read from the ledger: it must survive the
 * loss of a master like one that was written.
 */
import type { RedisConnection, StoreDownError } from '../store/redis.ts'
import type { Epochs } from './epochs.ts'
import type { LedgerKeys } from './keys.ts'
import { callPerPartition } from './partition-calls.ts'
import { runScript } from './script.ts'
import { confirmScript } from './scripts.ts'

/**
 * Waits until the replicas have the state in which these accounts were read. In order; an outage is
 * the result of the accounts that could not be confirmed. Rejects with `StoreDownError` on a single
 * Redis.
 */
export type Confirm = (aids: readonly number[]) => Promise<(null | StoreDownError)[]>

/** Undefined if the configuration waits for no replica (`redis.replicaAcks` is 0). */
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
