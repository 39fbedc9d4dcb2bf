/** Whether this process runs, and whether the stores answer. */
import type { FastifyInstance } from 'fastify'
import type { Catalog } from '../catalog/connection.ts'
import type { RedisConnection } from '../store/redis.ts'

export interface HealthOptions {
  redis: RedisConnection
  catalog: Pick<Catalog, 'ping'>
}

type Check = 'ok' | 'unavailable'

/**
 * `/health/live`: 200 while the process answers. `/health/ready`: 200, or 503 and which store is
 * away.
 */
export function addHealth(server: FastifyInstance, { redis, catalog }: HealthOptions): void {
  server.get('/health/live', async () => ({ status: 'live' }))
  server.get('/health/ready', async (_, reply) => {
    const [redisCheck, mongoCheck] = await Promise.all([
      checkOf(redis.onEachMaster((master) => master.ping())),
      checkOf(catalog.ping()),
    ])
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
