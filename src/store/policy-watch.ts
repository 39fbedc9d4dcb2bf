/** Checks periodically whether the Redis configuration is still as required. */
import { createLogger, type Logger } from '../runtime/log.ts'
import type { RedisConnection } from './redis.ts'
import {
  checkRedisPolicy,
  replicasMissing,
  StorePolicyError,
  type WriteRefusals,
  writeRefusals,
} from './redis-policy.ts'

export interface PolicyWatch {
  /** False while the Redis configuration could lose units. */
  isSatisfied(): boolean
  /** False while no master can write, so that nothing is charged. */
  canWrite(): boolean
  stop(): void
}

const EVERY_MS = 1_000
/** Warnings about memory were logged at start. */
const silent = createLogger({ name: 'redis-policy', level: 'silent' })

/**
 * The configuration may be changed at run time, and a Redis that returns after an outage may be
 * another one. Begin and end of a problem are logged; an outage does not change the last result.
 * The same applies to a master with fewer replicas than a commit needs, which does not affect
 * readiness, and to a master that cannot write to its disk. `onRefusing` receives the number of
 * such masters.
 */
export function watchRedisPolicy(
  redis: RedisConnection,
  log: Pick<Logger, 'error' | 'info'>,
  onRefusing: (masters: number) => void = () => undefined,
  everyMs = EVERY_MS,
): PolicyWatch {
  let problem: string | null = null
  const checkPolicy = async () => {
    const found = await checkRedisPolicy(redis, silent).then(() => null, messageOf)
    if (found !== null && found !== problem) {
      log.error(
        { problem: found },
        'redis could lose units: not ready until its configuration is corrected',
      )
    }
    if (found === null && problem !== null) log.info('redis is configured as required again')
    problem = found
  }
  let missing: string | null = null
  const checkReplicas = async () => {
    const found = await replicasMissing(redis)
    if (found !== null && found !== missing) {
      log.error({ problem: found }, 'nothing is charged there: redis.replicaAcks requires more')
    }
    if (found === null && missing !== null) log.info('every master has its replicas again')
    missing = found
  }
  let refusals: WriteRefusals = { refusing: 0, masters: 1, reason: null }
  const checkWrites = async () => {
    const found = await writeRefusals(redis)
    const { reason } = found
    if (reason !== null && reason !== refusals.reason) {
      log.error({ ...found }, 'redis cannot write: nothing is charged there until it has room')
    }
    if (reason === null && refusals.reason !== null) log.info('redis can write again')
    refusals = found
    onRefusing(found.refusing)
  }
  const checkAll = () => Promise.allSettled([checkPolicy(), checkReplicas(), checkWrites()])
  const timer = setInterval(checkAll, everyMs)
  timer.unref()
  void checkAll()
  return {
    isSatisfied: () => problem === null,
    canWrite: () => refusals.refusing === 0 || refusals.refusing < refusals.masters,
    stop: () => clearInterval(timer),
  }
}

function messageOf(error: unknown): string {
  if (error instanceof StorePolicyError) return error.message
  throw error
}
