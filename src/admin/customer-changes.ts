/** Announces to all workers that the customer system has changed a customer. */
import type { Ledger } from '../ledger/ledger.ts'
import type { Clock } from '../runtime/clock.ts'
import { type CustomerChange, publishCustomerChange } from '../store/customer-changes.ts'
import { type RedisConnection, StoreDownError } from '../store/redis.ts'
import { publishSessionEvent } from '../store/session-events.ts'

export interface CustomerChangeStores {
  readonly redis: RedisConnection
  readonly ledger: Pick<Ledger, 'raiseFence'>
  readonly clock: Clock
}

/**
 * The fence keeps workers that the message has not reached from charging by the old data; it needs
 * the account. Rejects with `StoreDownError`.
 */
export async function announceCustomerChange(
  { redis, ledger, clock }: CustomerChangeStores,
  change: CustomerChange,
): Promise<void> {
  const { aid, sid } = change
  if (aid !== 0) await ledger.raiseFence(aid, sid, false, clock.nowMs())
  if (!(await publishCustomerChange(redis, change))) throw new StoreDownError()
  // Open sessions are authorized again by the new data; a lost event costs only time.
  if (aid !== 0) await publishSessionEvent(redis, { cause: 'credit', aid, sid })
}
