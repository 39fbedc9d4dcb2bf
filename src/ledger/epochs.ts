/**
 * The epoch of the data: what a worker has in memory is of one, and each script call is refused
 * where Redis holds another, or none. So a Redis that lost its data denies nobody, and nothing is
 * written into a ledger that was rebuilt meanwhile by what was read before (design.md §3).
 */
import { type RedisConnection, StoreDownError } from '../store/redis.ts'
import type { LedgerKeys } from './keys.ts'
import type { Epoch } from './scripts.ts'

/** Redis has lost its data, or it was rebuilt this moment. */
export class LedgerLostError extends StoreDownError {
  override name = 'LedgerLostError'
}

export interface Epochs {
  /**
   * The epoch of a partition, as last seen; read where it is not known. A single Redis is lost as a
   * whole, so that one partition stands for all. Throws `LedgerLostError` or `StoreDownError`.
   */
  get(partition: number): Promise<Epoch>
  /**
   * Does something under a partition's epoch. A refusal by the script makes it forgotten, and
   * throws `LedgerLostError`.
   */
  withEpoch<T>(partition: number, act: (epoch: Epoch) => Promise<T>): Promise<T>
}

/** `onChange`: what was read before is void. */
export function createEpochs(
  redis: RedisConnection,
  keys: LedgerKeys,
  onChange: () => void,
): Epochs {
  const known = new Map<number, Epoch>()
  const epochs: Epochs = {
    async get(partition) {
      const home = redis.isCluster ? partition : 0
      return known.get(home) ?? read(home)
    },
    async withEpoch(partition, act) {
      const epoch = await epochs.get(partition)
      try {
        return await act(epoch)
      } catch (error) {
        if (!isStale(error)) throw error
        known.delete(redis.isCluster ? partition : 0)
        onChange()
        throw new LedgerLostError('the data in redis is not what it was', { cause: error })
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
    known.set(partition, epoch)
    return epoch
  }
  return epochs
}

/** Into how many partitions the data of an epoch is divided; null if its text does not tell. */
export function partitionsOf(epoch: string): number | null {
  const [, partitions] = /^\d+-(\d+)-/.exec(epoch) ?? []
  return partitions === undefined ? null : Number(partitions)
}

function isStale(error: unknown): boolean {
  return error instanceof Error && /^EPOCH\b/.test(error.message)
}
