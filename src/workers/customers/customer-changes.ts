/** Drops profiles of customers whose change was announced (`POST /api/clearcache`). */
import type { Logger } from '../../runtime/log.ts'
import type { Subscription } from '../../store/bus.ts'
import { type CustomerChange, subscribeToCustomerChanges } from '../../store/customer-changes.ts'
import type { RedisConnection } from '../../store/redis.ts'
import type { ProfileCache } from '../profiles.ts'

export function followCustomerChanges(
  redis: Pick<RedisConnection, 'nodes'>,
  profiles: Pick<ProfileCache, 'drop' | 'dropAccount' | 'clear' | 'expire'>,
  log: Pick<Logger, 'warn' | 'error'>,
): Subscription {
  const take = ({ aid, sid }: CustomerChange) => {
    if (sid !== 0) profiles.drop(sid, [])
    else if (aid !== 0) profiles.dropAccount(aid)
    else profiles.clear()
  }
  // A change before this connection, or between two, was missed.
  return subscribeToCustomerChanges(redis, take, log, () => profiles.expire())
}
