/** Direct access to the ledger of a product, for data that takes too long to create over HTTP. */
import { loadConfig } from '../../src/config/load.ts'
import { createLedger, type Ledger } from '../../src/ledger/ledger.ts'
import { createLogger } from '../../src/runtime/log.ts'
import { openRedis, type RedisConnection, waitForRedis } from '../../src/store/redis.ts'

/** Distinguishes commits of the benchmark from those of the product's workers. */
const TOKEN = 3
/** Operations written here are never repeated. */
const OPERATION_KEEP_MS = 1_000

export async function withLedger<T>(
  redisUrl: string,
  work: (ledger: Ledger, redis: RedisConnection) => Promise<T>,
): Promise<T> {
  const log = createLogger({ name: 'bench', level: 'error' })
  const limits = { commandTimeoutMs: 30_000, connectTimeoutMs: 2_000 }
  const redis = openRedis({ url: redisUrl, ...limits }, log)
  try {
    await waitForRedis(redis, 5_000)
    const settings = { ...loadConfig({ env: {} }).ledger, operationKeepMs: OPERATION_KEEP_MS }
    return await work(createLedger(redis, settings, TOKEN), redis)
  } finally {
    await redis.close()
  }
}
