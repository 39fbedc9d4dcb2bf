/** Whether this process runs, and whether the stores answer. */
import type { FastifyInstance } from 'fastify'
import type { Catalog } from '../catalog/connection.ts'
import type { RedisConnection } from '../store/redis.ts'

export interface HealthOptions {
  redis: RedisConnection
  catalog: Pick<Catalog, 'ping'>
  /** False while Redis is configured in a way that could lose units. */
  isRedisFit: () => boolean
}

type Check = 'ok' | 'unavailable' | 'misconfigured'

/**
 * `/health/live`: 200 while the process answers. `/health/ready`: 200, or 503 and which store is
 * away, or that Redis is configured so that it could lose units.
 */
export function addHealth(server: FastifyInstance, options: HealthOptions): void {
  const { redis, catalog, isRedisFit } = options
  server.get('/health/live', async () => ({ status: 'live' }))
  server.get('/health/ready', async (_, reply) => {
    const [redisAnswer, mongoCheck] = await Promise.all([
      checkOf(redis.guard(redis.client.ping())),
      checkOf(catalog.ping()),
    ])
    const redisCheck = redisAnswer === 'ok' && !isRedisFit() ? 'misconfigured' : redisAnswer
    const isReady = redisCheck === 'ok' && mongoCheck === 'ok'
    return reply
      .code(isReady ? 200 : 503)
      .send({ status: isReady ? 'ready' : 'unavailable', redis: redisCheck, mongo: mongoCheck })
  })
}

/** Why it is away is in the log: an error text may name hosts and users. */
function checkOf(answer: Promise<unknown>): Promise<Check> {
  return answer.then(
    () => 'ok',
    () => 'unavailable',
  )
}
