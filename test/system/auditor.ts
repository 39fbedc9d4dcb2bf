/**
 * The auditor: knows from the workload's account what must be true at the end, prices it again by
 * its own arithmetic, and holds it against the ledger in Redis and the lines in MongoDB.
 */
import { MongoClient } from 'mongodb'
import { aidOf, FIRST_SID } from '../../bench/population.ts'
import type { Product } from '../../bench/product.ts'
import type { Bucket } from '../../src/domain/bucket.ts'
import { createLedger, type LoadedOwner } from '../../src/ledger/ledger.ts'
import { openSessions, streamBacklog } from '../../src/ledger/streams.ts'
import { createLogger } from '../../src/runtime/log.ts'
import { openRedis, waitForRedis } from '../../src/store/redis.ts'
import { waitUntil } from '../support/wait.ts'
import type { SessionTruth } from './workload.ts'

export interface AuditedPopulation {
  subscribers: number
  subscribersPerAccount: number
  /** First credit of each own bucket, by prepaid include, and of each account's shared ones. */
  own: Record<number, number>
  shared: Record<number, number>
}

interface LineView {
  stamp: string
  v: number
  sid: number
  aid: number
  session_id: string
  rating_group: number | null
  usaget: string
  arate_key: string
  usagev: number
  priced_usagev: number
  aprice_micros: number
  debt_micros: number
  payments: {
    owner: string
    bucket_id: number
    usagev?: number
    cost_micros?: number
  }[]
}

/** The demo catalogue's prices: micros per interval, access. Written down here a second time. */
const PRICES: Record<string, { interval: number; micros: number; access: number }> = {
  DATA: { interval: 1_048_576, micros: 10_000, access: 0 },
  DATA_10: { interval: 1_048_576, micros: 2_000, access: 0 },
  CALL: { interval: 60, micros: 100_000, access: 50_000 },
  SMS: { interval: 1, micros: 40_000, access: 0 },
}

/** Every difference found; empty if the books agree. Waits until the recorder has caught up. */
export async function audit(
  product: Product,
  population: AuditedPopulation,
  truths: readonly SessionTruth[],
): Promise<string[]> {
  const log = createLogger({ name: 'auditor', level: 'silent' })
  const limits = { commandTimeoutMs: 5000, connectTimeoutMs: 2000 }
  const redis = openRedis({ url: product.redisUrl, ...limits }, log)
  const mongo = new MongoClient(product.mongoUrl)
  try {
    await waitForRedis(redis, 5000)
    const settings = { partitions: 64, directoryTtlMs: 1, operationKeepMs: 1 }
    const ledger = createLedger(redis, settings, 1)
    await waitUntil('abandoned sessions expire', async () => (await openSessions(ledger)) === 0)
    await waitUntil('the recorder catches up', async () => (await streamBacklog(ledger)) === 0)
    const lines = (await mongo
      .db(product.database)
      .collection('lines')
      .find({ type: 'realtime' })
      .toArray()) as unknown as LineView[]
    const books = new Books(lines)
    for (const truth of truths) books.session(truth)
    for (const owner of ownersOf(population)) {
      const [loaded] = await ledger.load([{ ...owner, sessionKeys: [] }])
      if (loaded === undefined || loaded instanceof Error)
        books.differ(`owner ${owner.sid} damaged`)
      else books.owner(loaded, owner.sid === 0 ? population.shared : population.own)
    }
    await books.projection(mongo, product.database)
    return books.differences
  } finally {
    await mongo.close()
    await redis.close()
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

/** The sums of all subsets, the empty one first. */
function sumsOf(amounts: readonly number[]): number[] {
  let sums = [0]
  for (const amount of amounts) sums = sums.concat(sums.map((sum) => sum + amount))
  return sums
}

class Books {
  readonly differences: string[] = []
  private readonly bySession = new Map<string, LineView[]>()
  /** What lines say that each bucket paid, by owner and bucket. */
  private readonly paid = new Map<string, number>()
  private readonly debts = new Map<number, number>()
  private readonly states: { owner: LoadedOwner; bucket: Bucket }[] = []

  constructor(lines: readonly LineView[]) {
    for (const line of lines) {
      const known = this.bySession.get(line.session_id)
      if (known === undefined) this.bySession.set(line.session_id, [line])
      else known.push(line)
      this.line(line)
    }
  }

  differ(text: string): void {
    this.differences.push(text)
  }

  private equal(what: string, found: number, expected: number): void {
    if (found !== expected) this.differ(`${what}: ${found}, expected ${expected}`)
  }

  /** A line must be right in itself: units and money add up, and the price is the rate's. */
  private line(line: LineView): void {
    let units = 0
    let micros = 0
    for (const payment of line.payments) {
      units += payment.usagev ?? 0
      micros += payment.cost_micros ?? 0
      const sid = payment.owner === 'account' ? 0 : line.sid
      const bucket = `${line.aid}:${sid}:${payment.bucket_id}`
      const amount = (payment.usagev ?? 0) + (payment.cost_micros ?? 0)
      this.paid.set(bucket, (this.paid.get(bucket) ?? 0) + amount)
    }
    this.debts.set(line.sid, (this.debts.get(line.sid) ?? 0) + line.debt_micros)
    const what = `line ${line.stamp}`
    this.equal(`${what} units`, units + line.priced_usagev, line.usagev)
    this.equal(`${what} money`, micros + line.debt_micros, line.aprice_micros)
    const price = PRICES[line.arate_key]
    if (price === undefined) {
      this.differ(`${what}: rate ${line.arate_key} was not expected`)
      return
    }
    const begun = Math.ceil(line.priced_usagev / price.interval)
    const expected = begun * price.micros + (begun > 0 ? price.access : 0)
    this.equal(`${what} price`, line.aprice_micros, expected)
  }

  /** Every acknowledged unit is on the session's lines, and nothing else is. */
  session(truth: SessionTruth): void {
    this.differences.push(...truth.complaints)
    const lines = this.bySession.get(truth.sessionId) ?? []
    for (const service of truth.services) {
      const own = lines.filter(
        (line) =>
          line.usaget === service.usaget && (line.rating_group ?? null) === service.ratingGroup,
      )
      const name = `session ${truth.sessionId} ${service.usaget}/${service.ratingGroup}`
      const used = own.reduce((sum, line) => sum + line.usagev, 0)
      const possible = sumsOf(service.unknowable).map((extra) => service.used + extra)
      if (!possible.includes(used)) this.differ(`${name} used: ${used}, expected ${possible}`)
      // Each report is one version of the line; an end without usage may add one more.
      const versions = own.reduce((sum, line) => sum + line.v, 0)
      const most = service.reports + 1 + service.unknowable.length
      if (versions < service.reports || versions > most) {
        this.differ(`${name}: ${versions} line versions for ${service.reports} reports`)
      }
    }
  }

  /** Nothing is held, and every bucket holds its credit less what the lines say it paid. */
  owner(owner: LoadedOwner, credits: Record<number, number>): void {
    const { aid, sid, buckets, owed, repaid } = owner.state
    for (const bucket of buckets) {
      const what = `bucket ${aid}:${sid}:${bucket.id}`
      this.equal(`${what} credited`, bucket.credited, credits[bucket.prepaidIncludeId] ?? 0)
      this.equal(`${what} reserved`, bucket.reserved, 0)
      this.equal(`${what} spent`, bucket.spent, this.paid.get(`${aid}:${sid}:${bucket.id}`) ?? 0)
      this.equal(`${what} free`, bucket.free, bucket.credited - bucket.spent)
      if (bucket.free < 0) this.differ(`${what} is below zero`)
      this.states.push({ owner, bucket })
    }
    if (sid === 0) return
    this.equal(`subscriber ${sid} owed`, owed, this.debts.get(sid) ?? 0)
    this.equal(`subscriber ${sid} repaid`, repaid, 0)
  }

  /** The projection in MongoDB shows the last state of each bucket that moved. */
  async projection(mongo: MongoClient, database: string): Promise<void> {
    const balances = mongo.db(database).collection('balances')
    const documents = await balances.find({}).toArray()
    const known = new Map(
      documents.map((one) => [`${one['aid']}:${one['sid']}:${one['bucket_id']}`, one]),
    )
    for (const { owner, bucket } of this.states) {
      const { aid, sid, version } = owner.state
      const name = `${aid}:${sid}:${bucket.id}`
      const document = known.get(name)
      if (document === undefined) {
        this.differ(`bucket ${name} has no projection`)
        continue
      }
      this.equal(`projection ${name} version`, Number(document['v']), version)
      this.equal(`projection ${name} free`, Number(document['free']), bucket.free)
      this.equal(`projection ${name} spent`, Number(document['spent']), bucket.spent)
    }
  }
}
