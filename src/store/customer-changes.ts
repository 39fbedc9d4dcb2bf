/**
 * Changes that a customer system announces, so that workers ask for its customers again. A missed
 * one costs only time: answers are used for a limited time, and a worker that may have missed one
 * asks again.
 */
import type { Logger } from '../runtime/log.ts'
import { publish, type Subscription, subscribe } from './bus.ts'
import type { RedisConnection } from './redis.ts'

/** 0 for any account, or any subscriber of the account. */
export interface CustomerChange {
  readonly aid: number
  readonly sid: number
}

const CHANNEL = 'tollgate:customers'

/** Never rejects; returns false if Redis did not accept it. */
export function publishCustomerChange(
  redis: RedisConnection,
  change: CustomerChange,
): Promise<boolean> {
  return publish(redis, CHANNEL, JSON.stringify(change))
}

/** `onListening`: see `subscribe`. Foreign messages are ignored. */
export function subscribeToCustomerChanges(
  redis: Pick<RedisConnection, 'nodes'>,
  listener: (change: CustomerChange) => void,
  log: Pick<Logger, 'warn' | 'error'>,
  onListening: () => void,
): Subscription {
  const deliver = (payload: string) => {
    const change = parseChange(payload)
    if (change !== null) listener(change)
  }
  return subscribe(redis, CHANNEL, deliver, log, onListening)
}

function parseChange(payload: string): CustomerChange | null {
  try {
    const { aid, sid } = JSON.parse(payload) as Partial<CustomerChange>
    return isNumber(aid) && isNumber(sid) ? { aid, sid } : null
  } catch {
    return null
  }
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}
