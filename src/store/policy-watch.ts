/** Looks again and again whether Redis is still configured as it was found at start. */
import { createLogger, type Logger } from '../runtime/log.ts'
import type { RedisConnection } from './redis.ts'
import { checkRedisPolicy, StorePolicyError } from './redis-policy.ts'

export interface PolicyWatch {
  /** False while Redis is configured in a way that could lose units. */
  isKept(): boolean
  stop(): void
}

const EVERY_MS = 1_000
/** What only costs memory has been said at start. */
const silent = createLogger({ name: 'redis-policy', level: 'silent' })

/**
 * Somebody may change the configuration under the running product, and a Redis that comes back may
 * be another. It is logged when it begins and ends; an outage leaves the last verdict as it is.
 */
export function watchRedisPolicy(
  redis: RedisConnection,
  log: Pick<Logger, 'error' | 'info'>,
  everyMs = EVERY_MS,
): PolicyWatch {
  let problem: string | null = null
  const look = async () => {
    const found = await checkRedisPolicy(redis, silent).then(() => null, messageOf)
    if (found !== null && found !== problem) {
      log.error({ problem: found }, 'redis could lose units: not ready until that is set right')
    }
    if (found === null && problem !== null) log.info('redis is configured as it must be again')
    problem = found
  }
  const timer = setInterval(() => look().catch(() => undefined), everyMs)
  timer.unref()
  return { isKept: () => problem === null, stop: () => clearInterval(timer) }
}

function messageOf(error: unknown): string {
  if (error instanceof StorePolicyError) return error.message
  throw error
}
