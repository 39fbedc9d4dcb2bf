/** Health of this process: stores, their data and the catalogue. */
import type { FastifyInstance } from 'fastify'
import type { Catalog } from '../catalog/connection.ts'
import type { RouteAccess } from '../identity/access.ts'
import { lostPartitions } from '../ledger/install.ts'
import { CUSTOMER_CIRCUIT } from '../runtime/customer-metrics.ts'
import { type MetricsSnapshot, SKIPPED, SKIPPED_ENTITY } from '../runtime/metrics.ts'
import { readSnapshots } from '../store/metrics-exchange.ts'
import type { RedisConnection } from '../store/redis.ts'
import { within } from './deadline.ts'

export interface HealthChecks {
  redis: RedisConnection
  /** Number of partitions of the ledger. */
  partitions: number
  catalog: Pick<Catalog, 'ping'>
  /** False while the configuration of Redis could lose units. */
  isRedisFit: () => boolean
  /** False while no Redis master accepts writes; nothing is charged then. */
  canRedisWrite: () => boolean
  /** False while MongoDB refuses writes. */
  canMongoWrite: () => boolean
  /** False until unfinished changes of dead processes have been recovered. */
  areChangesFinished: () => boolean
  /** False until the existence of a user is confirmed, if authentication is required. */
  hasUsers: () => boolean
}

export interface HealthOptions extends HealthChecks {
  access: RouteAccess
  /** For routes that name entities. */
  catalogueAccess: RouteAccess
}

type Check = 'ok' | 'unavailable' | 'misconfigured' | 'cannot_write'

/** Everything that readiness reports. */
export interface NodeHealth {
  readonly status: 'ready' | 'unavailable'
  readonly redis: Check
  readonly mongo: Check
  readonly ledger: Check | 'lost'
  readonly changes: 'ok' | 'unfinished'
  readonly users?: 'none'
  readonly catalogue: CatalogueCheck
  readonly customers?: 'ok' | 'unavailable'
}

/**
 * `/health/live`: 200 while the process answers. `/health/ready`: 200, or 503 with the failed
 * checks. A store is `unavailable`, or `cannot_write` if it refuses writes, for example because its
 * disk is full; Redis is `misconfigured` if it could lose units; the ledger is `lost` until its
 * data is rebuilt; changes are `unfinished` until those of dead processes have been recovered;
 * `users` is `none`, and only present, while the existence of a user is not confirmed. `catalogue`
 * does not affect the status: `incomplete` if a charging process skips stored entities that it
 * cannot use, `unknown` if no process reports. `/health/catalogue` lists them. Neither does
 * `customers`, which is present in external customer mode: `unavailable` while a worker does not
 * call the customer system because its calls fail.
 */
export function addHealth(server: FastifyInstance, options: HealthOptions): void {
  const { redis, access, catalogueAccess } = options
  const config = { access, inReserve: true, readsByGet: true } as const
  server.get('/health/live', { config }, async () => ({ status: 'live' }))
  server.get('/health/ready', { config }, async (_, reply) => {
    const health = await readHealth(options, readSnapshots(redis))
    return reply.code(health.status === 'ready' ? 200 : 503).send(health)
  })
  server.get(
    '/health/catalogue',
    { config: { ...config, access: catalogueAccess } },
    async (_, reply) => {
      const snapshots = await readSnapshots(redis).catch(() => null)
      const figures = snapshots === null ? null : reportedIn(snapshots)
      if (figures === null) return reply.code(503).send({ status: 'unknown', skipped: [] })
      return { status: stateOf(figures), skipped: figures.entities }
    },
  )
}

/**
 * The checks of `/health/ready`. `snapshots`: the metrics that the processes publish. A store that
 * does not answer within `limitMs` is unavailable; without a limit its own time-outs apply.
 */
export async function readHealth(
  options: HealthChecks,
  snapshots: Promise<readonly MetricsSnapshot[]>,
  limitMs?: number,
): Promise<NodeHealth> {
  const { redis, partitions, areChangesFinished, hasUsers } = options
  const limited = <T>(check: Promise<T>) =>
    limitMs === undefined ? check : within(check, limitMs, 'unavailable' as const)
  const [redisCheck, mongoCheck, ledgerCheck, reported] = await Promise.all([
    limited(checkRedis(options)),
    limited(checkMongo(options)),
    limited(checkLedger(redis, partitions)),
    snapshots.then(reportedIn, () => null),
  ])
  const catalogue = reported === null ? 'unknown' : stateOf(reported)
  const customers = reported === null ? null : customersOf(reported)
  const changes = areChangesFinished() ? 'ok' : 'unfinished'
  const stores = { redis: redisCheck, mongo: mongoCheck, ledger: ledgerCheck, changes } as const
  const checks = hasUsers() ? stores : ({ ...stores, users: 'none' } as const)
  const isReady = Object.values(checks).every((check) => check === 'ok')
  return {
    status: isReady ? 'ready' : 'unavailable',
    ...checks,
    catalogue,
    ...(customers !== null && { customers }),
  }
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
function reportedIn(snapshots: readonly MetricsSnapshot[]): Reported {
  const counts: number[] = []
  const circuits: number[] = []
  const entities: Record<string, string | number>[] = []
  for (const { node, role, metrics } of snapshots) {
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

async function checkRedis({ redis, isRedisFit, canRedisWrite }: HealthChecks): Promise<Check> {
  // Redis answers PING with an error in this state.
  if (redis.isReady() && !canRedisWrite()) return 'cannot_write'
  const answer = await checkOf(redis.onEachMaster((master) => master.ping()))
  return answer === 'ok' && !isRedisFit() ? 'misconfigured' : answer
}

async function checkMongo({ catalog, canMongoWrite }: HealthChecks): Promise<Check> {
  const answer = await checkOf(catalog.ping())
  return answer === 'ok' && !canMongoWrite() ? 'cannot_write' : answer
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
