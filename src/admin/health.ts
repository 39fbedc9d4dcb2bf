/** Whether this process runs, whether the stores answer, and whether what they say is whole. */
import type { FastifyInstance } from 'fastify'
import type { Catalog } from '../catalog/connection.ts'
import { lostPartitions } from '../ledger/install.ts'
import type { RedisConnection } from '../store/redis.ts'
import type { Access } from './auth/access.ts'

export interface HealthOptions {
  redis: RedisConnection
  /** Of the ledger. */
  partitions: number
  catalog: Pick<Catalog, 'ping'>
  /** False while Redis is configured in a way that could lose units. */
  isRedisFit: () => boolean
  /** False until what dead processes had begun was looked for, and finished. */
  areChangesFinished: () => boolean
  /** False until it is known that somebody can log in, where somebody has to. */
  hasUsers: () => boolean
  access: Access
}

type Check = 'ok' | 'unavailable' | 'misconfigured'

/**
 * `/health/live`: 200 while the process answers. `/health/ready`: 200, or 503 and which store is
 * away; or that Redis is there, but configured so that it could lose units (`misconfigured`), or
 * without the ledger's data (`lost`, until it is rebuilt); or that changes of entities may be half
 * done, because a process has died and nobody has looked since (`unfinished`). `users` is in the
 * answer while it is not known that there is one (`none`).
 */
export function addHealth(server: FastifyInstance, options: HealthOptions): void {
  const { redis, partitions, catalog, isRedisFit, areChangesFinished, hasUsers, access } = options
  const config = { access }
  server.get('/health/live', { config }, async () => ({ status: 'live' }))
  server.get('/health/ready', { config }, async (_, reply) => {
    const [redisAnswer, mongoCheck, ledgerCheck] = await Promise.all([
      checkOf(redis.onEachMaster((master) => master.ping())),
      checkOf(catalog.ping()),
      checkLedger(redis, partitions),
    ])
    const redisCheck = redisAnswer === 'ok' && !isRedisFit() ? 'misconfigured' : redisAnswer
    const changes = areChangesFinished() ? 'ok' : 'unfinished'
    const stores = { redis: redisCheck, mongo: mongoCheck, ledger: ledgerCheck, changes }
    const checks = hasUsers() ? stores : { ...stores, users: 'none' }
    const isReady = Object.values(checks).every((check) => check === 'ok')
    return reply
      .code(isReady ? 200 : 503)
      .send({ status: isReady ? 'ready' : 'unavailable', ...checks })
  })
}

function checkLedger(redis: RedisConnection, partitions: number): Promise<Check | 'lost'> {
  return lostPartitions(redis, partitions).then(
    (lost) => (lost.length === 0 ? 'ok' : 'lost'),
    () => 'unavailable',
  )
}

/** Why it is away is in the log: an error text may name hosts and users. */
function checkOf(answer: Promise<unknown>): Promise<Check> {
  return answer.then(
    () => 'ok',
    () => 'unavailable',
  )
}
