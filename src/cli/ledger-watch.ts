/** Says when the ledger's data is not in Redis, and when it is back. */
import { lostPartitions } from '../ledger/install.ts'
import type { Logger } from '../runtime/log.ts'
import type { RedisConnection } from '../store/redis.ts'

const LOOK_MS = 2_000

export interface LedgerWatch {
  /** False while nobody can be charged; part of a cluster may be lost. */
  isAvailable(): boolean
  stop(): void
}

/** `lost`: what was found at start. An outage is not a loss: then nothing is known. */
export function watchLedger(
  redis: RedisConnection,
  partitions: number,
  lost: readonly number[],
  log: Pick<Logger, 'error' | 'info'>,
): LedgerWatch {
  let before = 0
  const tell = (now: number) => {
    if (now > 0 && now !== before) {
      const advice = 'nothing is charged there until `tollgate ledger rebuild` has run'
      log.error({ partitions: now }, `redis has lost the ledger: ${advice}`)
    }
    if (now === 0 && before > 0) log.info('the ledger is back')
    before = now
  }
  tell(lost.length)
  const look = async () => tell((await lostPartitions(redis, partitions)).length)
  const timer = setInterval(() => look().catch(() => undefined), LOOK_MS)
  timer.unref()
  return { isAvailable: () => before < partitions, stop: () => clearInterval(timer) }
}
