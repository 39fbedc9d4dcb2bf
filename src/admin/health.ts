/** Health of this process: stores, their data and the catalogue. */

import type { Catalog } from '../catalog/connection.ts'
import { choice, listOf, ref, text, type ValueOf } from '../catalog/entities/json-schema.ts'
import { issuesOf } from '../domain/field-errors.ts'
import { lostPartitions } from '../ledger/install.ts'
import { type AnsweredIssue, answeredIssues } from '../requests/errors.ts'
import { CUSTOMER_CIRCUIT } from '../runtime/customer-metrics.ts'
import { type MetricsSnapshot, SKIPPED, SKIPPED_ENTITY } from '../runtime/metrics.ts'
import { readSnapshots } from '../store/metrics-exchange.ts'
import type { RedisConnection } from '../store/redis.ts'
import { within } from './deadline.ts'
import { component } from './http/answer-schema.ts'
import { ADMITTED, get } from './http/endpoint.ts'

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

const ERRORS = ref<readonly AnsweredIssue[]>('errors', 'With HTTP status 503: what is wrong.')

/** State of a part of the node. */
const check = <const T extends string>(description: string, ...errors: readonly T[]) =>
  choice(['ok', ...errors], `${description}: \`ok\`, or what is wrong.`)

const READINESS = component(
  'readiness',
  'Whether the node is ready, and the state of its parts.',
  {
    status: choice(['ready', 'unavailable'], 'Whether everything is ready.'),
    redis: check('Redis', 'unavailable', 'misconfigured', 'cannot_write'),
    mongo: check('MongoDB', 'unavailable', 'cannot_write'),
    ledger: check('Data of the ledger in Redis', 'unavailable', 'lost'),
    changes: check('Recovery of changes of processes that have died', 'unfinished'),
    users: choice(['none'], 'Present if no user can log in.'),
    catalogue: choice(['ok', 'incomplete', 'unknown'], 'Whether charging uses all entities.'),
    customers: choice(
      ['ok', 'unavailable'],
      'In external customer mode: whether the customer system is called.',
    ),
    errors: ERRORS,
  },
  ['users', 'customers', 'errors'],
)

/** Everything that readiness reports. */
export type NodeHealth = ValueOf<typeof READINESS>

const SKIPPED_IN_CHARGING = component('skippedEntity', 'A stored entity that charging skips.', {
  node: text('Node and port of the process that reports it.'),
  role: text('Role of that process.'),
  collection: text('Its collection.'),
  name: text('Its name.'),
  path: text('The field that is wrong.'),
  reason: text('What is wrong with it.'),
})
type SkippedEntity = ValueOf<typeof SKIPPED_IN_CHARGING>

const CATALOGUE_HEALTH = component(
  'catalogueHealth',
  'Stored entities that charging skips.',
  {
    status: choice(['ok', 'incomplete', 'unknown'], '`incomplete` if there are any.'),
    skipped: listOf(SKIPPED_IN_CHARGING, 'The first of them.'),
    errors: ERRORS,
  },
  ['errors'],
)

const LIVENESS = component('liveness', 'Whether the process runs.', {
  status: choice(['live'], 'Always `live`.'),
})

const WELL = { redis: 'ok', mongo: 'ok', ledger: 'ok', changes: 'ok', catalogue: 'ok' } as const

const live = get('/health/live', {
  access: 'user',
  openPath: 'health',
  about: 'Liveness: whether the process runs',
  config: { inReserve: true },
  answer: {
    description: 'The process runs.',
    schema: LIVENESS,
    example: { status: 'live' },
    others: ADMITTED,
  },
  run: async () => ({ status: 'live' as const }),
})

/**
 * 200, or 503 with the failed checks. A store is `unavailable`, or `cannot_write` if it refuses
 * writes, for example because its disk is full; Redis is `misconfigured` if it could lose units;
 * the ledger is `lost` until its data is rebuilt; changes are `unfinished` until those of dead
 * processes have been recovered; `users` is `none`, and only present, while the existence of a user
 * is not confirmed. `catalogue` does not affect the status: `incomplete` if a charging process
 * skips stored entities that it cannot use, `unknown` if no process reports. Neither does
 * `customers`, which is present in external customer mode: `unavailable` while a worker does not
 * call the customer system because its calls fail.
 */
const ready = get('/health/ready', {
  access: 'user',
  openPath: 'health',
  about: 'Readiness: whether the node can serve requests',
  config: { inReserve: true },
  answer: {
    description: 'The node is ready.',
    schema: READINESS,
    example: { status: 'ready', ...WELL },
    unavailableExample: {
      ...WELL,
      status: 'unavailable',
      redis: 'unavailable',
      ledger: 'unavailable',
      catalogue: 'unknown',
      errors: [
        { path: 'redis', code: 'unavailable', why: 'unavailable' },
        { path: 'ledger', code: 'unavailable', why: 'unavailable' },
      ],
    },
    others: ADMITTED,
  },
  async run(checks: HealthChecks, _, reply) {
    const health = await readHealth(checks, readSnapshots(checks.redis))
    if (health.status === 'ready') return health
    reply.code(503)
    const { redis, mongo, ledger, changes, users = 'ok' } = health
    const failed = Object.entries({ redis, mongo, ledger, changes, users })
      .filter(([, state]) => state !== 'ok')
      .map(([path, reason]) => ({ path, reason, code: 'unavailable' }) as const)
    return { ...health, errors: answeredIssues(failed) }
  },
})

const UNKNOWN = {
  status: 'unknown',
  skipped: [],
  errors: answeredIssues(issuesOf('no process reports what it skips', 'unavailable')),
} as const

const catalogue = get('/health/catalogue', {
  access: ['read'],
  about: 'List the stored entities that charging skips',
  config: { inReserve: true },
  answer: {
    description: 'Stored entities that charging skips.',
    schema: CATALOGUE_HEALTH,
    example: {
      status: 'incomplete',
      skipped: [
        {
          node: 'n1:3000',
          role: 'realtime',
          collection: 'rates',
          name: 'CALL',
          path: 'rates.call.BASE',
          reason: 'must have a price',
        },
      ],
    },
    unavailableExample: UNKNOWN,
    others: ADMITTED,
  },
  async run({ redis }: HealthChecks, _, reply) {
    const snapshots = await readSnapshots(redis).catch(() => null)
    const figures = snapshots === null ? null : reportedIn(snapshots)
    if (figures !== null) return { status: stateOf(figures), skipped: figures.entities }
    reply.code(503)
    return UNKNOWN
  },
})

export const HEALTH_ENDPOINTS = [ready, live, catalogue]

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

/** The reports of charging nodes. */
interface Reported {
  /** Number of skipped entities per charging node. */
  counts: readonly number[]
  /** Circuits of the customer system; 0 if it is called. */
  circuits: readonly number[]
  /** The first skipped entities of each reporting node. */
  entities: readonly SkippedEntity[]
}

/** As published by charging nodes within the last seconds. */
function reportedIn(snapshots: readonly MetricsSnapshot[]): Reported {
  const counts: number[] = []
  const circuits: number[] = []
  const entities: SkippedEntity[] = []
  for (const { node, role, metrics } of snapshots) {
    for (const { name, values } of metrics) {
      if (name === SKIPPED) counts.push(...values.map(({ value }) => value))
      if (name === CUSTOMER_CIRCUIT) circuits.push(...values.map(({ value }) => value))
      if (name !== SKIPPED_ENTITY) continue
      for (const { labels } of values) entities.push(skippedEntity(node, role, labels))
    }
  }
  return { counts, circuits, entities }
}

function skippedEntity(
  node: string,
  role: string,
  labels: Readonly<Partial<Record<string, string | number>>>,
): SkippedEntity {
  const label = (name: string) => String(labels[name] ?? '')
  const [collection, name] = [label('collection'), label('name')]
  return { node, role, collection, name, path: label('path'), reason: label('reason') }
}

/** Null without external customer mode. */
function customersOf({ circuits }: Reported): 'ok' | 'unavailable' | null {
  if (circuits.length === 0) return null
  return circuits.some((circuit) => circuit > 0) ? 'unavailable' : 'ok'
}

function stateOf({ counts }: Pick<Reported, 'counts'>): NodeHealth['catalogue'] {
  if (counts.length === 0) return 'unknown'
  return counts.some((count) => count > 0) ? 'incomplete' : 'ok'
}

async function checkRedis({
  redis,
  isRedisFit,
  canRedisWrite,
}: HealthChecks): Promise<NodeHealth['redis']> {
  // Redis answers PING with an error in this state.
  if (redis.isReady() && !canRedisWrite()) return 'cannot_write'
  const answer = await checkOf(redis.onEachMaster((master) => master.ping()))
  return answer === 'ok' && !isRedisFit() ? 'misconfigured' : answer
}

async function checkMongo({ catalog, canMongoWrite }: HealthChecks): Promise<NodeHealth['mongo']> {
  const answer = await checkOf(catalog.ping())
  return answer === 'ok' && !canMongoWrite() ? 'cannot_write' : answer
}

function checkLedger(redis: RedisConnection, partitions: number): Promise<NodeHealth['ledger']> {
  return lostPartitions(redis, partitions).then(
    (lost) => (lost.length === 0 ? 'ok' : 'lost'),
    () => 'unavailable',
  )
}

/** The cause is only logged: error texts may name hosts and users. */
function checkOf(answer: Promise<unknown>): Promise<'ok' | 'unavailable'> {
  return answer.then(
    () => 'ok',
    () => 'unavailable',
  )
}
