/** Finds the most recently active owners through the indexes of open and closed sessions. */
import { parseMember } from './keys.ts'
import type { Ledger, OwnerQuery } from './ledger.ts'

/**
 * Returns about `countMax` subscribers. In each partition these are first the subscribers whose
 * sessions expire last, together with these sessions, then those whose sessions ended last. Throws
 * `StoreDownError`.
 */
export async function* recentOwners(
  { keys, redis }: Pick<Ledger, 'keys' | 'redis'>,
  countMax: number,
): AsyncGenerator<OwnerQuery[]> {
  const count = Math.ceil(countMax / keys.partitions)
  const newest = (index: string) => redis.client.zrevrange(index, 0, count - 1)
  for (let partition = 0; partition < keys.partitions; partition += 1) {
    const [open, closed] = await redis.guard(
      Promise.all([newest(keys.expiry(partition)), newest(keys.tombstones(partition))]),
    )
    const owners = new Map<string, OwnerQuery & { sessionKeys: string[] }>()
    for (const [at, member] of [...open, ...closed].entries()) {
      const session = parseMember(member)
      if (session === null) continue
      const { aid, sid, sessionKey } = session
      const name = `${aid}:${sid}`
      const owner = owners.get(name) ?? { aid, sid, sessionKeys: [] }
      if (owners.size >= count && !owners.has(name)) continue
      owners.set(name, owner)
      if (at < open.length) owner.sessionKeys.push(sessionKey)
    }
    if (owners.size > 0) yield [...owners.values()]
  }
}
