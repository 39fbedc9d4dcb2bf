/**
 * What processes tell the nodes that charge, so that open sessions learn of it before they ask by
 * themselves. Without a hint they learn of it when their validity ends.
 */
import type { Logger } from '../runtime/log.ts'
import { publish, type Subscription, subscribe } from './bus.ts'
import type { RedisConnection } from './redis.ts'

/** A balance has changed. */
export interface CreditEvent {
  readonly cause: 'credit'
  readonly aid: number
  /** 0: what the account shares. */
  readonly sid: number
}

/** An operator wants a session to end. */
export interface ReleaseEvent {
  readonly cause: 'release'
  readonly origin: string
  readonly sessionId: string
}

export type PublishedSessionEvent = CreditEvent | ReleaseEvent

/** One Redis is one installation, whatever its databases: they share their channels. */
const CHANNEL = 'tollgate:hints'

/** Never rejects; false: Redis did not take it. */
export function publishSessionEvent(
  redis: RedisConnection,
  hint: PublishedSessionEvent,
): Promise<boolean> {
  return publish(redis, CHANNEL, JSON.stringify(hint))
}

/** Tells of every hint from now on; what is none of ours is passed over. */
export function subscribeToSessionEvents(
  redis: Pick<RedisConnection, 'nodes'>,
  listener: (hint: PublishedSessionEvent) => void,
  log: Pick<Logger, 'warn' | 'error'>,
): Subscription {
  const hand = (payload: string) => {
    const hint = parseSessionEvent(payload)
    if (hint !== null) listener(hint)
  }
  return subscribe(redis, CHANNEL, hand, log)
}

/** Null for what is no hint: of another release, or somebody else's. */
export function parseSessionEvent(payload: string): PublishedSessionEvent | null {
  const { cause, aid, sid, origin, sessionId } = recordOf(payload)
  if (cause === 'credit' && isNumber(aid) && isNumber(sid)) return { cause, aid, sid }
  if (cause === 'release' && typeof origin === 'string' && typeof sessionId === 'string') {
    return { cause, origin, sessionId }
  }
  return null
}

function recordOf(payload: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(payload)
    return typeof value === 'object' && value !== null ? { ...value } : {}
  } catch {
    return {}
  }
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}
