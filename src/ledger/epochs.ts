/**
 * The epoch of the data. Everything that a worker has in memory belongs to one epoch, and Redis
 * refuses a script call if it holds another epoch or none. So lost data is not mistaken for empty
 * balances, and values read before a rebuild are never written into the rebuilt ledger.
 */
import { type RedisConnection, StoreDownError } from '../store/redis.ts'
import type { LedgerKeys } from './keys.ts'
import type { Epoch } from './scripts.ts'

/** Redis has lost its data, or the data has just been rebuilt. */
export class LedgerLostError extends StoreDownError {
  override name = 'LedgerLostError'
}

export interface Epochs {
  /**
   * The epoch of a partition, cached or read from Redis. A single Redis is lost as a whole, so one
   * partition represents all. Throws `LedgerLostError` or `StoreDownError`.
   */
  get(partition: number): Promise<Epoch>
  /**
   * Runs `act` with the epoch of a partition. If a script refuses the epoch, it is dropped from the
   * cache and `LedgerLostError` is thrown.
   */
  withEpoch<T>(partition: number, act: (epoch: Epoch) => Promise<T>): Promise<T>
}

/** `onChange` is called when everything read before is invalid. */
export function createEpochs(
  redis: RedisConnection,
  keys: LedgerKeys,
  onChange: () => void,
): Epochs {
  const cache = new Map<number, Epoch>()
  const epochs: Epochs = {
    async get(partition) {
      const index = redis.isCluster ? partition : 0
      return cache.get(index) ?? read(index)
    },
    async withEpoch(partition, act) {
      const epoch = await epochs.get(partition)
      try {
        return await act(epoch)
      } catch (error) {
        if (!isStale(error)) throw error
        cache.delete(redis.isCluster ? partition : 0)
        onChange()
        throw new LedgerLostError('the data in redis was lost or rebuilt', { cause: error })
      }
    },
  }
  const read = async (partition: number): Promise<Epoch> => {
    const key = keys.epoch(partition)
    const text = await redis.guard(redis.client.get(key))
    if (text === null) throw new LedgerLostError('redis has no ledger: it is new, or was lost')
    if ((partitionsOf(text) ?? keys.partitions) !== keys.partitions) {
      throw new LedgerLostError('the ledger in redis has another number of partitions than ours')
    }
    const epoch = { key, text }
    cache.set(partition, epoch)
    return epoch
  }
  return epochs
}

/** Number of partitions of an epoch's data; null if the text does not contain it. */
export function partitionsOf(epoch: string): number | null {
  const [, partitions] = /^\d+-(\d+)-/.exec(epoch) ?? []
  return partitions === undefined ? null : Number(partitions)
}

function isStale(error: unknown): boolean {
  return error instanceof Error && /^EPOCH\b/.test(error.message)
}
