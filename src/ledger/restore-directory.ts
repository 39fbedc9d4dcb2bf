/**
 * Restores directory entries in a cluster that lost some partitions: sessions whose accounts still
 * exist, but whose directory entry was in a lost partition. No session can be registered there
 * meanwhile, since the partition has no epoch. Entries of closed sessions are restored too,
 * otherwise a repeated request would be charged again. If a session id was used twice, its entry
 * points to the account where it is open.
 */
import type { RedisConnection } from '../store/redis.ts'
import { type LedgerKeys, parseMember } from './keys.ts'
import { formatLocation } from './session-locations.ts'

const SCAN_COUNT = 500

/** Returns the number of restored entries. Throws `StoreDownError`. */
export async function restoreDirectory(
  { client, guard }: RedisConnection,
  keys: LedgerKeys,
  lost: readonly number[],
  ttlMs: number,
): Promise<number> {
  const isLost = new Set(lost)
  let restored = 0
  const restore = async (member: string): Promise<void> => {
    const session = parseMember(member)
    if (session === null || !isLost.has(keys.directoryPartitionOf(session.sessionKey))) return
    const key = keys.directory(session.sessionKey)
    const written = await guard(client.set(key, formatLocation(session), 'PX', ttlMs, 'NX'))
    if (written !== null) restored += 1
  }
  const restoreIndex = async (members: string): Promise<void> => {
    let cursor = '0'
    do {
      const [next, found] = await guard(client.zscan(members, cursor, 'COUNT', SCAN_COUNT))
      cursor = next
      // The reply alternates members and scores.
      await Promise.all(found.filter((_, index) => index % 2 === 0).map(restore))
    } while (cursor !== '0')
  }
  const intact = Array.from({ length: keys.partitions }, (_, partition) => partition).filter(
    (partition) => !isLost.has(partition),
  )
  for (const partition of intact) await restoreIndex(keys.expiry(partition))
  for (const partition of intact) await restoreIndex(keys.tombstones(partition))
  return restored
}
