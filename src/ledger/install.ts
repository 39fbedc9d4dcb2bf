/**
 * What is fixed when a ledger is installed: every process has to agree on it, or units are lost.
 */
import type { RedisConnection } from '../store/redis.ts'
import { createKeys } from './keys.ts'
import { OWNER_FORMAT } from './owner-packing.ts'

/** The ledger in this Redis was installed with other settings than this process has. */
export class LedgerMismatchError extends Error {
  override name = 'LedgerMismatchError'
}

/**
 * Notes partitions and format in an empty ledger, or holds this process' against what is noted.
 * Throws `LedgerMismatchError`, or `StoreDownError`.
 */
export async function checkInstall(redis: RedisConnection, partitions: number): Promise<void> {
  const { meta } = createKeys(partitions)
  const mine: Record<string, number> = { partitions, format: OWNER_FORMAT }
  for (const [field, value] of Object.entries(mine)) {
    const isNoted = await redis.guard(redis.client.hsetnx(meta, field, String(value)))
    if (isNoted === 1) continue
    const noted = await redis.guard(redis.client.hget(meta, field))
    if (noted === String(value)) continue
    const name = field === 'partitions' ? 'ledger.partitions' : `ledger ${field}`
    throw new LedgerMismatchError(
      `${name} is ${value}, but this ledger was installed with ${noted}: it cannot be changed`,
    )
  }
}
