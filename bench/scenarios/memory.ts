/** Bytes in Redis per subscriber and per open session, and memory of the workers' caches. */
import { readFileSync } from 'node:fs'
import { emptyOwner, type OwnerState } from '../../src/domain/bucket.ts'
import type { PrepaidInclude } from '../../src/domain/catalogue.ts'
import { credit } from '../../src/domain/credit.ts'
import type { OperationLine } from '../../src/domain/line.ts'
import { FOREVER_MS } from '../../src/domain/time.ts'
import type { AccountCommit } from '../../src/ledger/commit-layout.ts'
import type { LedgerKeys } from '../../src/ledger/keys.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import type { RedisConnection } from '../../src/store/redis.ts'
import {
  FIRST_AID,
  FIRST_SID,
  populate,
  prepaidIncludes,
  withCatalog,
} from '../../test/support/product/population.ts'
import { type Product, startProduct } from '../../test/support/product/product.ts'
import { redisMemory } from '../measure/figures.ts'
import { withLedger } from '../measure/ledger.ts'
import { round, windowOf } from '../measure/load.ts'
import { otherAnswers, withGenerator } from '../measure/turns.ts'
import type { Bench, Scenario } from '../scenario.ts'
import { PAUSED } from './json.ts'

const OWNERS_PER_COMMIT = 200
const CONNECTIONS = 16
const SHORT = { population: 20_000, sessions: 4_000 }
/** Long enough for all starts; the load ends after the last one. */
const OPENING_SECONDS = 1_800
const MIB = 1024 * 1024
/** The keys of operations and the data read from them have expired by then. */
const SETTLE_MS = 2_000

export const memoryScenario: Scenario = {
  name: 'memory',
  what: 'bytes per subscriber and per open session in Redis, and the caches of the workers',
  async run(bench) {
    await bench.endProduct()
    const { population, sessions } = bench.settings.short ? SHORT : bench.settings
    const environment = {
      ...PAUSED.environment,
      TOLLGATE_LEDGER_OWNERS_CACHED_MAX: String(Math.floor(sessions / 2)),
    }
    const product = await startProduct({ environment })
    try {
      // Subscribers that open sessions have documents; the others exist in the ledger only.
      const size = { subscribers: sessions, subscribersPerAccount: 1 }
      bench.say(`  writing ${sessions} documents`)
      await populate({ ...product, ...size, credits: [] })
      const empty = await redisMemory(product.redisUrl)
      bench.say(`  writing ${population} owners`)
      await writeOwners(product, population)
      const owned = await settledMemory(product)
      await product.start('realtime')
      const opened = await openSessions(bench, product, sessions)
      const full = await settledMemory(product)
      const perSubscriber = (owned - empty) / population
      const perSession = (full - owned) / opened.count
      return resultOf({ population, perSubscriber, perSession, full, opened })
    } finally {
      await product.stop()
    }
  },
}

/** Writes owners with two buckets into the ledger. */
export async function writeOwners(product: Product, population: number): Promise<void> {
  const includes = await withCatalog(product, prepaidIncludes)
  const nowMs = Date.now()
  const pattern = twoBuckets(includes, nowMs)
  await withLedger(product.redisUrl, async (ledger) => {
    for (let from = 0; from < population; from += OWNERS_PER_COMMIT) {
      const length = Math.min(OWNERS_PER_COMMIT, population - from)
      const batch = Array.from({ length }, (_, index) => commitOf(pattern, from + index, nowMs))
      await commit(ledger, batch, nowMs)
    }
  })
}

async function commit(ledger: Ledger, batch: AccountCommit[], nowMs: number): Promise<void> {
  const replies = await ledger.commit(batch, nowMs)
  const refused = replies.find(({ kind }) => kind !== 'committed')
  if (refused !== undefined) throw new Error(`not written: ${JSON.stringify(refused)}`)
}

function twoBuckets(includes: ReadonlyMap<number, PrepaidInclude>, nowMs: number): OwnerState {
  const fill = { fromMs: 0, toMs: FOREVER_MS, mode: 'inc' as const }
  let owner = emptyOwner(0, 1)
  for (const [id, amount] of [[1, 1_000_000_000] as const, [2, 100 * 1024 * MIB] as const]) {
    const include = includes.get(id)
    if (include === undefined) throw new Error(`no prepaid include ${id}`)
    owner = credit(owner, { ...fill, include, amount }, nowMs).owner
  }
  return owner
}

function commitOf(pattern: OwnerState, index: number, nowMs: number): AccountCommit {
  const [aid, sid] = [FIRST_AID + index, FIRST_SID + index]
  return {
    aid,
    owners: [{ state: { ...pattern, aid, sid, version: 1 }, fence: -1, sessions: [] }],
    shared: { expectedVersion: -1, state: null },
    registrations: [],
    operation: { result: lineOf(aid, sid, nowMs) },
    lines: [],
    backoffHintMs: 0,
  }
}

function lineOf(aid: number, sid: number, atMs: number): OperationLine {
  return {
    stamp: `op-${sid}`,
    aid,
    sid,
    operationId: 'first credit',
    operation: 'inc',
    bucketId: 1,
    prepaidIncludeId: 1,
    kind: 'money',
    usaget: '',
    amount: 0,
    before: 0,
    after: 0,
    repaid: 0,
    atMs,
    version: 1,
    priority: 0,
    fromMs: 0,
    toMs: FOREVER_MS,
  }
}

/** The cache keeps all of the first sessions, and no more after them. */
async function openSessions(bench: Bench, product: Product, sessions: number): Promise<Opened> {
  const half = Math.floor(sessions / 2)
  return withGenerator(async (generator) => {
    const open = async (firstSubscriber: number, subscribers: number) => {
      bench.say(`  opening ${subscribers} sessions`)
      const phases = [{ perSecond: 0, seconds: OPENING_SECONDS }]
      // Low concurrency: each subscriber is read from MongoDB, and none should time out.
      const few = { connections: CONNECTIONS, outstanding: CONNECTIONS, sessions: CONNECTIONS }
      const size = { firstSubscriber, subscribers, ...few }
      const more = { ...size, phases, name: `open-${firstSubscriber}`, onlyStarts: true }
      return windowOf(await generator.run(bench.flow(product, 'json', more)))
    }
    const rss = [residentBytes(product)]
    const first = await open(0, half)
    rss.push(residentBytes(product))
    const second = await open(half, sessions - half)
    rss.push(residentBytes(product))
    const count = first.admitted + second.admitted
    return { count, rss, cachedMax: half, notes: otherAnswers(first, second) }
  })
}

interface Opened {
  count: number
  /** The charging process before, after the first half, and after the second half; bytes. */
  rss: number[]
  cachedMax: number
  notes: string[]
}

function residentBytes(product: Product): number {
  const status = readFileSync(`/proc/${product.pid('realtime')}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) * 1024
}

/** Without the streams, which only contain unrecorded entries, and keys about to expire. */
async function settledMemory(product: Product): Promise<number> {
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS))
  await withLedger(product.redisUrl, ({ keys }, redis) => emptyStreams(keys, redis))
  return redisMemory(product.redisUrl)
}

async function emptyStreams(keys: LedgerKeys, { client, guard }: RedisConnection): Promise<void> {
  for (let partition = 0; partition < keys.partitions; partition += 1) {
    await guard(client.xtrim(keys.stream(partition), 'MAXLEN', 0))
  }
}

interface Measured {
  population: number
  /** Bytes in Redis. */
  perSubscriber: number
  perSession: number
  full: number
  opened: Opened
}

function resultOf({ population, perSubscriber, perSession, full, opened }: Measured) {
  const { count, rss, cachedMax, notes } = opened
  const [before = 0, half = 0, after = 0] = rss
  const mib = (bytes: number) => Math.round(bytes / MIB)
  const perCached = (half - before) / cachedMax
  return {
    figures: {
      bytes_per_subscriber: Math.round(perSubscriber),
      bytes_per_session: Math.round(perSession),
      bytes_per_cached_session: Math.round(perCached),
    },
    ratios: {},
    goals: [
      {
        what: 'bytes per two-bucket subscriber',
        is: Math.round(perSubscriber),
        wanted: { atMost: 300 },
      },
      { what: 'bytes per open session', is: Math.round(perSession), wanted: { atMost: 600 } },
    ],
    tables: [
      {
        title: `Memory of ${population} subscribers and ${count} open sessions`,
        columns: ['', 'bytes each', 'MiB in all'],
        rows: [
          ['subscriber with two buckets, in Redis', Math.round(perSubscriber), ''],
          ['open session, in Redis', Math.round(perSession), ''],
          ['Redis', '', mib(full)],
          ['charging process before', '', mib(before)],
          [`after ${cachedMax} sessions, all cached`, Math.round(perCached), mib(half)],
          [`after ${count}, as many cached as before`, '', mib(after)],
        ],
      },
    ],
    notes: [
      'an open session: its field, its place in the index of expiry, its home, its stored answer',
      `the cache takes ${cachedMax} owners here: beyond, the oldest make room; the process may ` +
        `still grow by garbage (${round(after / Math.max(1, half), 2)} times)`,
      ...notes,
    ],
  }
}
