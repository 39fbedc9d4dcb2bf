/** Writes to the ledger like workers: paid usage, and sessions that hold units. */

import { randomInt } from 'node:crypto'
import type { Catalog } from '../../../src/catalog/connection.ts'
import { openCatalog } from '../../../src/catalog/connection.ts'
import type { OwnerState } from '../../../src/domain/bucket.ts'
import type { PrepaidInclude } from '../../../src/domain/catalogue.ts'
import { newCounts } from '../../../src/domain/counts.ts'
import { type SessionIdentity, serviceIdentity } from '../../../src/domain/identity.ts'
import type { Line } from '../../../src/domain/line.ts'
import { lineOf as lineOfSegment, serviceTagOf } from '../../../src/domain/lines.ts'
import { emptyService } from '../../../src/domain/segment.ts'
import type { Reservation, Segment, Session } from '../../../src/domain/session.ts'
import { FOREVER_MS } from '../../../src/domain/time.ts'
import { sessionKeyOf } from '../../../src/ledger/keys.ts'
import type { Ledger, LedgerSettings } from '../../../src/ledger/ledger.ts'
import { creditBucket } from '../../../src/ledger/operations.ts'
import { NO_CYCLE_ENDS } from '../../../src/recorder/cycle-ends.ts'
import { NO_RESTRAINT } from '../../../src/recorder/restraint.ts'
import { createLogger } from '../../../src/runtime/log.ts'
import { openRedis, waitForRedis } from '../../../src/store/redis.ts'
import { FREE, lineOf as plainLine, withFields } from '../domain/lines.ts'
import { sessionOf as openSessionOf } from '../domain/requests.ts'
import { openTestLedger } from '../ledger.ts'
import { startTestMongo, type TestMongo } from '../mongo.ts'
import { PATIENT } from '../product/patience.ts'
import { startTestRedis, type TestRedis } from '../redis.ts'

export const silent = createLogger({ name: 'test', level: 'silent' })
export const NOW_MS = Date.UTC(2026, 10, 21)

export const DATA_PACK: PrepaidInclude = {
  id: 'pp2',
  fromMs: 0,
  toMs: FOREVER_MS,
  externalId: 2,
  name: 'DATA_PACK',
  kind: 'units',
  usaget: 'data',
  priority: 50,
  shared: false,
  unlimited: false,
  allowedIn: null,
  moreUsagets: [],
}

export interface TestStores {
  server: TestRedis
  mongo: TestMongo
  ledger: Ledger
  catalog: Catalog
  /** Settings of a process on these stores, which tolerates that they pause. */
  environment: Readonly<Record<string, string>>
  /** A ledger on a connection of its own. */
  connect(settings?: Partial<LedgerSettings>): Promise<Ledger>
  close(): Promise<void>
}

/** Options of a drain that writes at once, and of which nothing is reported. */
export const QUICK_DRAIN = {
  cycles: NO_CYCLE_ENDS,
  isExporting: false,
  isStreaming: false,
  restraint: NO_RESTRAINT,
  log: silent,
  metrics: {
    entriesRecorded: () => undefined,
    entriesUnreadable: () => undefined,
    recordOperations: () => undefined,
  },
  consumer: 'test',
  gatherMs: 0,
  roundBytesMax: 100_000,
  openLinesMs: 60_000,
}

export const LEDGER_SETTINGS = {
  partitions: 4,
  directoryTtlMs: 3_600_000,
  operationKeepMs: 3_600_000,
}

export async function startTestStores(): Promise<TestStores> {
  const [server, mongo] = await Promise.all([startTestRedis(), startTestMongo()])
  const open: Ledger[] = []
  const connect = async (settings: Partial<LedgerSettings> = {}) => {
    const timeouts = { commandTimeoutMs: 20_000, connectTimeoutMs: 20_000 }
    const redis = openRedis({ url: server.url, ...timeouts }, silent)
    await waitForRedis(redis, 20_000)
    const token = randomInt(1, 2 ** 47)
    const ledger = await openTestLedger(redis, { ...LEDGER_SETTINGS, ...settings }, token)
    open.push(ledger)
    return ledger
  }
  const { url, database } = mongo
  const catalog = await openCatalog({ url, database, timeoutMs: 20_000, appName: 'test' })
  const close = async () => {
    for (const ledger of open) await ledger.redis.close()
    await catalog.close()
    await Promise.all([server.close(), mongo.close()])
  }
  try {
    await catalog.ensureIndexes()
    const environment = {
      ...PATIENT,
      TOLLGATE_REDIS_URL: server.url,
      TOLLGATE_MONGO_URL: url,
      TOLLGATE_MONGO_DATABASE: database,
      TOLLGATE_LEDGER_PARTITIONS: String(LEDGER_SETTINGS.partitions),
    }
    return { server, mongo, ledger: await connect(), catalog, environment, connect, close }
  } catch (error) {
    await close()
    throw error
  }
}

export async function loadOwner(ledger: Ledger, aid: number, sid: number): Promise<OwnerState> {
  const [loaded] = await ledger.load([{ aid, sid, sessionKeys: [] }])
  if (loaded === undefined || loaded instanceof Error) throw loaded
  return loaded.state
}

/** Adds units to the bucket of a subscriber. */
export function topUp(ledger: Ledger, aid: number, sid: number, amount: number, id: string) {
  const validity = { fromMs: 0, toMs: FOREVER_MS }
  const operation = { include: DATA_PACK, amount, ...validity, mode: 'inc' as const }
  const credit = { ...operation, operationId: id, aid, sid }
  return creditBucket(ledger, credit, { attemptsMax: 100 }, NOW_MS)
}

/** A line of a session of its own, without usage so far. */
export function lineOf(aid: number, sid: number, stamp: string): Line {
  return plainLine({ aid, sid, stamp, sessionId: stamp, firstMs: NOW_MS, lastMs: NOW_MS })
}

/**
 * Uses units of bucket 1 in a session of its own, and returns the line in its resulting version.
 * Only the session is committed, like in a worker: the line of an open segment is stored nowhere
 * outside the session.
 */
export async function use(ledger: Ledger, line: Line, units: number): Promise<Line> {
  const { aid, sid, sessionId, origin } = line.session
  const state = await loadOwner(ledger, aid, sid)
  const [bucket] = state.buckets
  if (bucket === undefined) throw new Error('the subscriber has no bucket')
  bucket.free -= units
  bucket.spent += units
  state.version += 1
  const used = line.counts.used + units
  const payer = { owner: 0, bucketId: bucket.id, prepaidIncludeId: 2, kind: 'units' } as const
  const paid = { ...payer, counter: '', left: 0, total: 0 }
  const version = line.version + 1
  const payments = [{ ...paid, amount: used }]
  const segment = withFields(newSegment(), { version, used, payments })
  const session = sessionOf({ aid, sid, origin, sessionId }, segment, NOW_MS + 3_600_000, {
    units: 0,
    slices: [],
    money: [],
  })
  const sessionKey = sessionKeyOf(origin, sessionId)
  await commitOwner(ledger, state, [], [{ sessionKey, session, before: null }])
  const [service] = session.services
  if (service === undefined) throw new Error('the session has no service')
  const tag = serviceTagOf(sessionKey, session, 0)
  return lineOfSegment(session, service, { segment, state: 'open' }, tag)
}

function newSegment(): Segment {
  return {
    key: 'DATA',
    pricing: FREE,
    fundingSources: [],
    isPrepaid: true,
    endMs: FOREVER_MS,
    after: null,
    number: 1,
    version: 0,
    counts: newCounts(NOW_MS, false, false, null),
  }
}

function sessionOf(
  identity: SessionIdentity,
  segment: Segment,
  expiresMs: number,
  reservation: Reservation,
): Session {
  return openSessionOf({
    ...identity,
    openedMs: NOW_MS,
    expiresMs,
    lastNumber: 0,
    processed: 1,
    services: [
      {
        ...emptyService(serviceIdentity({ ratingGroup: 10, usaget: 'data' })),
        segment,
        reservation,
      },
    ],
  })
}

export async function commitOwner(
  ledger: Ledger,
  state: OwnerState,
  lines: Line[],
  sessions: { sessionKey: string; session: Session; before: null }[] = [],
): Promise<void> {
  const [reply] = await ledger.commit(
    [
      {
        aid: state.aid,
        owners: [{ state, fence: -1, sessions }],
        shared: { expectedVersion: -1, state: null },
        registrations: [],
        operation: null,
        lines,
        backoffHintMs: 0,
      },
    ],
    NOW_MS,
  )
  if (reply?.kind !== 'committed') throw new Error(`not committed: ${JSON.stringify(reply)}`)
}

/** Opens a session that holds units of bucket 1 and expires at that time. */
export async function holdUnits(
  ledger: Ledger,
  aid: number,
  sid: number,
  units: number,
  expiresMs: number,
): Promise<void> {
  const { version } = await loadOwner(ledger, aid, sid)
  const sessionId = `held-${sid}-${version + 1}`
  await openSession(ledger, { aid, sid, origin: 'http', sessionId }, units, expiresMs)
}

/** Opens a session that can be found, and holds units of bucket 1 until it expires. */
export async function openSession(
  ledger: Ledger,
  identity: SessionIdentity,
  units: number,
  expiresMs: number,
): Promise<void> {
  const { aid, sid, origin, sessionId } = identity
  const state = await loadOwner(ledger, aid, sid)
  const [bucket] = state.buckets
  if (bucket === undefined) throw new Error('the subscriber has no bucket')
  bucket.free -= units
  bucket.reserved += units
  state.version += 1
  const slices = [{ bucket: { owner: 0 as const, id: bucket.id }, units, isCovered: false }]
  const session = sessionOf(identity, newSegment(), expiresMs, { units, slices, money: [] })
  const sessionKey = sessionKeyOf(origin, sessionId)
  await ledger.redis.client.set(ledger.keys.directory(sessionKey), `${aid}:${sid}`)
  await commitOwner(ledger, state, [], [{ sessionKey, session, before: null }])
}
