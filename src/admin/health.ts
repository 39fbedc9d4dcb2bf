/**
 * Whether this process runs, whether the stores answer, and whether what they say is whole and can
 * be used.
 */
import type { FastifyInstance } from 'fastify'
import type { Catalog } from '../catalog/connection.ts'
import { lostPartitions } from '../ledger/install.ts'
import { SKIPPED, SKIPPED_ENTITY } from '../runtime/metrics.ts'
import { readSnapshots } from '../store/metrics-exchange.ts'
import type { RedisConnection } from '../store/redis.ts'
import type { RouteAccess } from './auth/access.ts'

export interface HealthOptions {
  redis: RedisConnection
  /** Of the ledger. */
  partitions: number
  catalog: Pick<Catalog, 'ping'>
  /** False while Redis is configured in a way that could lose units. */
  isRedisFit: () => boolean
  /** False while no master of Redis can write, so that nothing is charged. */
  canRedisWrite: () => boolean
  /** False until what dead processes had begun was looked for, and finished. */
  areChangesFinished: () => boolean
  /** False until it is known that somebody can log in, where somebody has to. */
  hasUsers: () => boolean
  access: RouteAccess
  /** For what names entities. */
  catalogueAccess: RouteAccess
}

type Check = 'ok' | 'unavailable' | 'misconfigured' | 'cannot_write'

/**
 * `/health/live`: 200 while the process answers. `/health/ready`: 200, or 503 and which store is
 * away; or that Redis is there, but configured so that it could lose units (`misconfigured`), or
 * refusing every write because its disk is full (`cannot_write`), or
 * without the ledger's data (`lost`, until it is rebuilt); or that changes of entities may be half
 * done, because a process has died and nobody has looked since (`unfinished`). `users` is in the
 * answer while it is not known that there is one (`none`). `catalogue` does not
 * decide: `incomplete` if a charging process leaves out stored entities because they cannot be
 * used, `unknown` if none has told. `/health/catalogue` names them.
 */
export function addHealth(server: FastifyInstance, options: HealthOptions): void {
  const { redis, partitions, catalog, areChangesFinished, hasUsers } = options
  const { access, catalogueAccess } = options
  const config = { access, inReserve: true } as const
  server.get('/health/live', { config }, async () => ({ status: 'live' }))
  server.get('/health/ready', { config }, async (_, reply) => {
    const [redisCheck, mongoCheck, ledgerCheck, catalogue] = await Promise.all([
      checkRedis(options),
      checkOf(catalog.ping()),
      checkLedger(redis, partitions),
      checkCatalogue(redis),
    ])
    const changes = areChangesFinished() ? 'ok' : 'unfinished'
    const stores = { redis: redisCheck, mongo: mongoCheck, ledger: ledgerCheck, changes }
    const checks = hasUsers() ? stores : { ...stores, users: 'none' }
    const isReady = Object.values(checks).every((check) => check === 'ok')
    return reply
      .code(isReady ? 200 : 503)
      .send({ status: isReady ? 'ready' : 'unavailable', ...checks, catalogue })
  })
  server.get(
    '/health/catalogue',
    { config: { ...config, access: catalogueAccess } },
    async (_, reply) => {
      const figures = await readSkipped(redis).catch(() => null)
      if (figures === null) return reply.code(503).send({ status: 'unknown', skipped: [] })
      return { status: stateOf(figures), skipped: figures.entities }
    },
  )
}

type CatalogueCheck = 'ok' | 'incomplete' | 'unknown'

interface SkippedEntities {
  /** How many each charging node leaves out. */
  counts: readonly number[]
  /** The first ones, each as often as there are nodes that tell. */
  entities: readonly Readonly<Record<string, string | number>>[]
}

/** As charging nodes published it within the last seconds. */
async function readSkipped(redis: RedisConnection): Promise<SkippedEntities> {
  const counts: number[] = []
  const entities: Record<string, string | number>[] = []
  for (const { node, role, metrics } of await readSnapshots(redis)) {
    for (const { name, values } of metrics) {
      if (name === SKIPPED) counts.push(...values.map(({ value }) => value))
      if (name !== SKIPPED_ENTITY) continue
      for (const { labels } of values) entities.push({ node, role, ...labels })
    }
  }
  return { counts, entities }
}

function stateOf({ counts }: SkippedEntities): CatalogueCheck {
  if (counts.length === 0) return 'unknown'
  return counts.some((count) => count > 0) ? 'incomplete' : 'ok'
}

function checkCatalogue(redis: RedisConnection): Promise<CatalogueCheck> {
  return readSkipped(redis).then(stateOf, () => 'unknown')
}

async function checkRedis({ redis, isRedisFit, canRedisWrite }: HealthOptions): Promise<Check> {
  // It answers PING with an error then.
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

/** Why it is away is in the log: an error text may name hosts and users. */
function checkOf(answer: Promise<unknown>): Promise<Check> {
  return answer.then(
    () => 'ok',
    () => 'unavailable',
  )
}
