/**
 * The auditor: derives from the workload's record what must be true at the end, prices it again by
 * its own arithmetic, and compares it with the ledger in Redis and the lines in MongoDB. Each audit
 * reads only the lines since the previous one and keeps sums, so that any number of them can
 * follow.
 */
import { type Db, MongoClient } from 'mongodb'
import type { OperationLine } from '../../../src/domain/line.ts'
import { createLedger, type Ledger } from '../../../src/ledger/ledger.ts'
import { openSessions, streamBacklog } from '../../../src/ledger/streams.ts'
import { createLogger } from '../../../src/runtime/log.ts'
import { openRedis, waitForRedis } from '../../../src/store/redis.ts'
import { aidOf, FIRST_SID } from '../product/population.ts'
import type { Product } from '../product/product.ts'
import { waitUntil } from '../wait.ts'
import { type AuditedPopulation, BalanceChecks, Sums, TopUps } from './balance-checks.ts'
import type { SessionTruth } from './expected-sessions.ts'
import type { LineView } from './line-check.ts'

/**
 * Every difference found; empty if ledger and lines agree. For a product that is audited only once.
 */
export function audit(
  product: Product,
  population: AuditedPopulation,
  truths: readonly SessionTruth[],
): Promise<string[]> {
  return new Auditor(product, population).audit(truths)
}

const REALTIME = { type: 'realtime' }

export class Auditor {
  readonly #product: Product
  readonly #population: AuditedPopulation
  readonly #sums = new Sums()
  readonly #topUps = new TopUps()
  /** Begin of the events that no audit has covered yet. */
  #sinceMs = 0

  constructor(product: Product, population: AuditedPopulation) {
    this.#product = product
    this.#population = population
  }

  /** Records acknowledged top-ups. */
  credited(operations: readonly OperationLine[]): void {
    for (const operation of operations) this.#topUps.add(operation)
  }

  /**
   * Every difference found since the last audit. `truths` are all sessions
   * since then, all of which have ended. Waits until the recorder has caught up.
   */
  async audit(truths: readonly SessionTruth[]): Promise<string[]> {
    const sums = this.#sums
    const topUps = this.#topUps
    const population = this.#population
    return this.#withStores(async (ledger, db) => {
      await waitUntil('abandoned sessions expire', async () => (await openSessions(ledger)) === 0)
      await waitUntil('the recorder catches up', async () => (await streamBacklog(ledger)) === 0)
      const checks = new BalanceChecks(await this.#newLines(db), population, sums, topUps)
      // All sessions have ended: later ones belong to the next audit.
      this.#sinceMs = Date.now()
      checks.sessions(truths)
      for (const owner of ownersOf(population)) {
        const [loaded] = await ledger.load([{ ...owner, sessionKeys: [] }])
        if (loaded === undefined || loaded instanceof Error)
          checks.differ(`owner ${owner.sid} damaged`)
        else checks.owner(loaded)
      }
      checks.payers()
      checks.projection(await db.collection('balances').find({}).toArray())
      return checks.differences
    })
  }

  /** Names of the counters that have counted any usage so far. */
  counted(): ReadonlySet<string> {
    return this.#sums.counted
  }

  /** Whether all lines of all subscribers sum up to the results of the audits. */
  auditWhole(): Promise<string[]> {
    return this.#withStores(async (_, db) => {
      const whole = new Sums()
      for await (const line of db.collection('lines').find(REALTIME)) {
        whole.line(line as unknown as LineView)
      }
      return whole.differencesTo(this.#sums)
    })
  }

  /** Reads by an index, so that the lines of earlier audits cost nothing. */
  async #newLines(db: Db): Promise<LineView[]> {
    const lines: LineView[] = []
    const urt = { $gte: new Date(this.#sinceMs) }
    for (const { sid } of ownersOf(this.#population)) {
      const found = await db
        .collection('lines')
        .find({ sid, urt, ...REALTIME })
        .toArray()
      lines.push(...(found as unknown as LineView[]))
    }
    return lines
  }

  async #withStores<T>(work: (ledger: Ledger, db: Db) => Promise<T>): Promise<T> {
    const log = createLogger({ name: 'auditor', level: 'silent' })
    const limits = { commandTimeoutMs: 20_000, connectTimeoutMs: 20_000 }
    const redis = openRedis({ url: this.#product.redisUrl, ...limits }, log)
    const mongo = new MongoClient(this.#product.mongoUrl)
    try {
      await waitForRedis(redis, 20_000)
      const settings = { partitions: 64, directoryTtlMs: 1, operationKeepMs: 1 }
      return await work(createLedger(redis, settings, 1), mongo.db(this.#product.database))
    } finally {
      await mongo.close()
      await redis.close()
    }
  }
}

function ownersOf(population: AuditedPopulation): { aid: number; sid: number }[] {
  const owners: { aid: number; sid: number }[] = []
  for (let index = 0; index < population.subscribers; index += 1) {
    const aid = aidOf(index, population.subscribersPerAccount)
    if (index % population.subscribersPerAccount === 0) owners.push({ aid, sid: 0 })
    owners.push({ aid, sid: FIRST_SID + index })
  }
  return owners
}
