/**
 * In a cluster that lost a part: sessions of accounts that are still there, whose home in the
 * directory was in the part that is not. Nobody can claim a home there meanwhile, for want of an
 * epoch. Closed ones too, or what is repeated would be charged again; an id that was used again
 * leads to where it is open.
 */
import type { RedisConnection } from '../store/redis.ts'
import { type LedgerKeys, parseMember } from './keys.ts'
import { formatLocation } from './session-locations.ts'

const SCAN_COUNT = 500

/** Gives how many homes were put back. Throws `StoreDownError`. */
export async function restoreDirectory(
  { client, guard }: RedisConnection,
  keys: LedgerKeys,
  lost: readonly number[],
  ttlMs: number,
): Promise<number> {
  const isLost = new Set(lost)
  let restored = 0
  const put = async (member: string): Promise<void> => {
    const session = parseMember(member)
    if (session === null || !isLost.has(keys.directoryPartitionOf(session.sessionKey))) return
    const key = keys.directory(session.sessionKey)
    const written = await guard(client.set(key, formatLocation(session), 'PX', ttlMs, 'NX'))
    if (written !== null) restored += 1
  }
  const putAll = async (members: string): Promise<void> => {
    let cursor = '0'
    do {
      const [next, found] = await guard(client.zscan(members, cursor, 'COUNT', SCAN_COUNT))
      cursor = next
      // Members and their scores take turns.
      await Promise.all(found.filter((_, index) => index % 2 === 0).map(put))
    } while (cursor !== '0')
  }
  const standing = Array.from({ length: keys.partitions }, (_, partition) => partition).filter(
    (partition) => !isLost.has(partition),
  )
  for (const partition of standing) await putAll(keys.expiry(partition))
  for (const partition of standing) await putAll(keys.tombstones(partition))
  return restored
}
