/**
 * Session events that processes publish to the charging nodes, so that open sessions are
 * re-authorised or ended before their validity ends. A missed event is harmless for that reason.
 */
import type { Logger } from '../runtime/log.ts'
import { publish, type Subscription, subscribe } from './bus.ts'
import type { RedisConnection } from './redis.ts'

/** A balance has changed. */
export interface CreditEvent {
  readonly cause: 'credit'
  readonly aid: number
  /** 0 for the account's shared balances. */
  readonly sid: number
  /** The session whose request changed it, and has its answer already; absent if none did. */
  readonly origin?: string
  readonly sessionId?: string
}

/** An operator has requested the end of a session. */
export interface ReleaseEvent {
  readonly cause: 'release'
  readonly origin: string
  readonly sessionId: string
}

export type PublishedSessionEvent = CreditEvent | ReleaseEvent

/** Databases of one Redis share their channels, so one Redis serves one installation. */
const CHANNEL = 'tollgate:hints'

/** Never rejects; returns false if Redis did not accept it. */
export function publishSessionEvent(
  redis: RedisConnection,
  event: PublishedSessionEvent,
): Promise<boolean> {
  return publish(redis, CHANNEL, JSON.stringify(event))
}

/** Calls the listener for every event from now on; foreign messages are ignored. */
export function subscribeToSessionEvents(
  redis: Pick<RedisConnection, 'nodes'>,
  listener: (event: PublishedSessionEvent) => void,
  log: Pick<Logger, 'warn' | 'error'>,
): Subscription {
  const deliver = (payload: string) => {
    const event = parseSessionEvent(payload)
    if (event !== null) listener(event)
  }
  return subscribe(redis, CHANNEL, deliver, log)
}

/** Null if the payload is not an event of this release. */
export function parseSessionEvent(payload: string): PublishedSessionEvent | null {
  const { cause, aid, sid, origin, sessionId } = recordOf(payload)
  const session =
    typeof origin === 'string' && typeof sessionId === 'string' ? { origin, sessionId } : null
  if (cause === 'credit' && isNumber(aid) && isNumber(sid)) return { cause, aid, sid, ...session }
  return cause === 'release' && session !== null ? { cause, ...session } : null
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
