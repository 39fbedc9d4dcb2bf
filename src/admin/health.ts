/** Health of this process: stores, their data and the catalogue. */
import type { FastifyInstance } from 'fastify'
import type { Catalog } from '../catalog/connection.ts'
import { lostPartitions } from '../ledger/install.ts'
import { CUSTOMER_CIRCUIT } from '../runtime/customer-metrics.ts'
import { SKIPPED, SKIPPED_ENTITY } from '../runtime/metrics.ts'
import { readSnapshots } from '../store/metrics-exchange.ts'
import type { RedisConnection } from '../store/redis.ts'
import type { RouteAccess } from './auth/access.ts'

export interface HealthOptions {
  redis: RedisConnection
  /** Number of partitions of the ledger. */
  partitions: number
  catalog: Pick<Catalog, 'ping'>
  /** False while the configuration of Redis could lose units. */
  isRedisFit: () => boolean
  /** False while no Redis master accepts writes; nothing is charged then. */
  canRedisWrite: () => boolean
  /** False until unfinished changes of dead processes have been recovered. */
  areChangesFinished: () => boolean
  /** False until the existence of a user is confirmed, if authentication is required. */
  hasUsers: () => boolean
  access: RouteAccess
  /** For routes that name entities. */
  catalogueAccess: RouteAccess
}

type Check = 'ok' | 'unavailable' | 'misconfigured' | 'cannot_write'

/**
 * `/health/live`: 200 while the process answers. `/health/ready`: 200, or 503 with the failed
 * checks. A store is `unavailable`; Redis is `misconfigured` if it could lose units, or
 * `cannot_write` if it refuses writes because its disk is full; the ledger is `lost` until its data
 * is rebuilt; changes are `unfinished` until those of dead processes have been recovered; `users`
 * is `none`, and only present, while the existence of a user is not confirmed. `catalogue` does not
 * affect the status: `incomplete` if a charging process skips stored entities that it cannot use,
 * `unknown` if no process reports. `/health/catalogue` lists them. Neither does `customers`, which
 * is present in external customer mode: `unavailable` while a worker does not call the customer
 * system because its calls fail.
 */
export function addHealth(server: FastifyInstance, options: HealthOptions): void {
  const { redis, partitions, catalog, areChangesFinished, hasUsers } = options
  const { access, catalogueAccess } = options
  const config = { access, inReserve: true } as const
  server.get('/health/live', { config }, async () => ({ status: 'live' }))
  server.get('/health/ready', { config }, async (_, reply) => {
    const [redisCheck, mongoCheck, ledgerCheck, reported] = await Promise.all([
      checkRedis(options),
      checkOf(catalog.ping()),
      checkLedger(redis, partitions),
      readReported(redis).catch(() => null),
    ])
    const catalogue = reported === null ? 'unknown' : stateOf(reported)
    const customers = reported === null ? null : customersOf(reported)
    const changes = areChangesFinished() ? 'ok' : 'unfinished'
    const stores = { redis: redisCheck, mongo: mongoCheck, ledger: ledgerCheck, changes }
    const checks = hasUsers() ? stores : { ...stores, users: 'none' }
    const isReady = Object.values(checks).every((check) => check === 'ok')
    return reply.code(isReady ? 200 : 503).send({
      status: isReady ? 'ready' : 'unavailable',
      ...checks,
      catalogue,
      ...(customers !== null && { customers }),
    })
  })
  server.get(
    '/health/catalogue',
    { config: { ...config, access: catalogueAccess } },
    async (_, reply) => {
      const figures = await readReported(redis).catch(() => null)
      if (figures === null) return reply.code(503).send({ status: 'unknown', skipped: [] })
      return { status: stateOf(figures), skipped: figures.entities }
    },
  )
}

type CatalogueCheck = 'ok' | 'incomplete' | 'unknown'

/** The reports of charging nodes. */
interface Reported {
  /** Number of skipped entities per charging node. */
  counts: readonly number[]
  /** Circuits of the customer system; 0 if it is called. */
  circuits: readonly number[]
  /** The first skipped entities of each reporting node. */
  entities: readonly Readonly<Record<string, string | number>>[]
}

/** As published by charging nodes within the last seconds. */
async function readReported(redis: RedisConnection): Promise<Reported> {
  const counts: number[] = []
  const circuits: number[] = []
  const entities: Record<string, string | number>[] = []
  for (const { node, role, metrics } of await readSnapshots(redis)) {
    for (const { name, values } of metrics) {
      if (name === SKIPPED) counts.push(...values.map(({ value }) => value))
      if (name === CUSTOMER_CIRCUIT) circuits.push(...values.map(({ value }) => value))
      if (name !== SKIPPED_ENTITY) continue
      for (const { labels } of values) entities.push({ node, role, ...labels })
    }
  }
  return { counts, circuits, entities }
}

/** Null without external customer mode. */
function customersOf({ circuits }: Reported): 'ok' | 'unavailable' | null {
  if (circuits.length === 0) return null
  return circuits.some((circuit) => circuit > 0) ? 'unavailable' : 'ok'
}

function stateOf({ counts }: Pick<Reported, 'counts'>): CatalogueCheck {
  if (counts.length === 0) return 'unknown'
  return counts.some((count) => count > 0) ? 'incomplete' : 'ok'
}

async function checkRedis({ redis, isRedisFit, canRedisWrite }: HealthOptions): Promise<Check> {
  // Redis answers PING with an error in this state.
  if (redis.isReady() && !canRedisWrite()) return 'cannot_write'
  const answer = await checkOf(redis.onEachMaster((master) => master.ping()))
  return answer === 'ok' && !isRedisFit() ? 'misconfigured' : answer
}

function checkLedger(redis: RedisConnection, partitions: number): Promise<Check | 'lost'> {
  return lostPartitions(redis, partitions).then(
    (lost) => (lost.length === 0 ? 'ok' : 'lost'),
    () => 'unavailable',
  )
}

/** The cause is only logged: error texts may name hosts and users. */
function checkOf(answer: Promise<unknown>): Promise<Check> {
  return answer.then(
    () => 'ok',
    () => 'unavailable',
  )
}
