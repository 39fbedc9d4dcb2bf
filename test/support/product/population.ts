/** Subscribers, catalogue and first credit for the benchmark and the system tests. */

import { type Catalog, openCatalog } from '../../../src/catalog/connection.ts'
import { seedDemoCatalogue } from '../../../src/catalog/demo.ts'
import type { EntityCollection } from '../../../src/catalog/entities/entity-table.ts'
import { createCatalogFeed } from '../../../src/catalog/feed/feed.ts'
import { epochRecordOf } from '../../../src/catalog/installation.ts'
import { loadConfig } from '../../../src/config/load.ts'
import { type PrepaidInclude, revisionAt } from '../../../src/domain/catalogue.ts'
import type { OperationLine } from '../../../src/domain/line.ts'
import { FOREVER_MS } from '../../../src/domain/time.ts'
import { ensureLedger } from '../../../src/ledger/install.ts'
import { createLedger } from '../../../src/ledger/ledger.ts'
import { creditBucket } from '../../../src/ledger/operations.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { createLogger } from '../../../src/runtime/log.ts'
import { openRedis, waitForRedis } from '../../../src/store/redis.ts'
import { DEMO_BY } from '../catalog/store.ts'
import { writeEntity } from '../catalog/write.ts'

export interface Population {
  redisUrl: string
  mongoUrl: string
  database: string
  /** How many, from subscriber 100,001 on. */
  subscribers: number
  subscribersPerAccount: number
  /** First credit of each subscriber, by prepaid include of the demo catalogue; micros or units. */
  credits: { prepaidIncludeId: number; amount: number }[]
  /** Entities besides the demo catalogue, in an order in which they can be written. */
  entities?: readonly Entity[]
  /** Fields of the n-th subscriber, from 0, that differ from the others. */
  fieldsOf?: (index: number) => Fields
}

type Fields = Readonly<Record<string, unknown>>

export interface Entity {
  collection: EntityCollection
  /** Valid from the begin of the population. */
  document: Fields
}

export const FIRST_SID = 100_001
export const FIRST_AID = 1_001

/** The account of the n-th subscriber, from 0. */
export function aidOf(index: number, perAccount: number): number {
  return FIRST_AID + Math.floor(index / perAccount)
}

const BATCH = 500
const SINCE = new Date(Date.UTC(2020, 0, 1))
const log = createLogger({ name: 'population', level: 'error' })

export async function populate(population: Population): Promise<void> {
  await withCatalog(population, async (catalog) => {
    await catalog.ensureIndexes()
    await seedDemoCatalogue(catalog, DEMO_BY)
    for (const { collection, document } of population.entities ?? []) {
      const options = { mode: 'insert', timeZone: 'UTC' } as const
      await writeEntity(catalog, collection, { from: SINCE, ...document }, options)
    }
    const { subscribers, subscribersPerAccount, fieldsOf } = population
    for (let from = 0; from < subscribers; from += BATCH) {
      const count = Math.min(BATCH, subscribers - from)
      const documents = Array.from({ length: count }, (_, offset) =>
        subscriberDocument(from + offset, subscribersPerAccount, fieldsOf?.(from + offset)),
      )
      await catalog.subscribers.insertMany(documents as never[], { ordered: false })
    }
    await giveCredit(population, catalog, 'population')
  })
}

/**
 * Gives each subscriber its credits again. `name` is part of the operation ids, and makes it a new
 * top-up. Resolves with the results once all are acknowledged.
 */
export function topUp(population: Population, name: string): Promise<OperationLine[]> {
  return withCatalog(population, (catalog) => giveCredit(population, catalog, name))
}

/** Opens the catalogue while `work` runs. */
export async function withCatalog<T>(
  { mongoUrl: url, database }: Pick<Population, 'mongoUrl' | 'database'>,
  work: (catalog: Catalog) => Promise<T>,
): Promise<T> {
  const catalog = await openCatalog({ url, database, timeoutMs: 20_000, appName: 'population' })
  try {
    return await work(catalog)
  } finally {
    await catalog.close()
  }
}

function subscriberDocument(index: number, perAccount: number, more: Fields = {}): Fields {
  const sid = FIRST_SID + index
  return {
    type: 'subscriber',
    sid,
    aid: aidOf(index, perAccount),
    plan: 'DEMO_PREPAID',
    plan_activation: SINCE,
    msisdn: `88800${String(sid).padStart(9, '0')}`,
    imsi: [`00102${String(sid).padStart(10, '0')}`],
    from: SINCE,
    to: new Date(FOREVER_MS),
    rev: 0,
    ...more,
  }
}

/** Definitions of the demo catalogue that are valid now, by `external_id`. */
export async function prepaidIncludes(
  catalog: Catalog,
): Promise<ReadonlyMap<number, PrepaidInclude>> {
  const feed = createCatalogFeed({ catalog, pollMs: 60_000, log })
  await feed.start()
  const found = new Map<number, PrepaidInclude>()
  for (const [id, revisions] of feed.current().prepaidIncludes) {
    const include = revisionAt(revisions, systemClock.nowMs())
    if (include !== null) found.set(id, include)
  }
  await feed.stop()
  return found
}

/** Other clients may charge at the same time. */
const ATTEMPTS_MAX = 100
/** These top-ups are never repeated, and many of them should not fill Redis. */
const OPERATION_KEEP_MS = 60_000

async function giveCredit(
  population: Population,
  catalog: Catalog,
  name: string,
): Promise<OperationLine[]> {
  const includes = await prepaidIncludes(catalog)
  const redis = openRedis(
    { url: population.redisUrl, commandTimeoutMs: 20_000, connectTimeoutMs: 20_000 },
    log,
  )
  await waitForRedis(redis, 20_000)
  const settings = { ...loadConfig({ env: {} }).ledger, operationKeepMs: OPERATION_KEEP_MS }
  await ensureLedger(redis, settings.partitions, epochRecordOf(catalog))
  const ledger = createLedger(redis, settings, 1)
  const nowMs = systemClock.nowMs()
  const given = new Set<string>()
  const results: OperationLine[] = []
  const credit = async (index: number, prepaidIncludeId: number, amount: number) => {
    const include = includes.get(prepaidIncludeId)
    if (include === undefined) throw new Error(`no prepaid include ${prepaidIncludeId}`)
    const aid = aidOf(index, population.subscribersPerAccount)
    const sid = include.shared ? 0 : FIRST_SID + index
    const operationId = `${name}-${aid}-${sid}-${prepaidIncludeId}`
    if (given.has(operationId)) return
    given.add(operationId)
    const validity = { fromMs: SINCE.getTime(), toMs: FOREVER_MS, mode: 'inc' as const }
    const operation = { operationId, aid, sid, include, amount, ...validity }
    results.push(await creditBucket(ledger, operation, { attemptsMax: ATTEMPTS_MAX }, nowMs))
  }
  for (const { prepaidIncludeId, amount } of population.credits) {
    for (let from = 0; from < population.subscribers; from += BATCH) {
      const count = Math.min(BATCH, population.subscribers - from)
      const batch = Array.from({ length: count }, (_, offset) =>
        credit(from + offset, prepaidIncludeId, amount),
      )
      await Promise.all(batch)
    }
  }
  await redis.close()
  return results
}
