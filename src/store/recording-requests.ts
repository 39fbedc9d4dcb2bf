/**
 * Requests to record the ledger's stream entries now: the recorder otherwise pauses between rounds.
 * A missed request costs one pause.
 */
import type { Logger } from '../runtime/log.ts'
import { publish, type Subscription, subscribe } from './bus.ts'
import type { RedisConnection } from './redis.ts'

const CHANNEL = 'tollgate:record'

/** Never rejects; returns false if Redis did not accept it. */
export function requestRecording(redis: RedisConnection): Promise<boolean> {
  return publish(redis, CHANNEL, '')
}

export function subscribeToRecordingRequests(
  redis: Pick<RedisConnection, 'nodes'>,
  listener: () => void,
  log: Pick<Logger, 'warn' | 'error'>,
): Subscription {
  return subscribe(redis, CHANNEL, listener, log)
}
