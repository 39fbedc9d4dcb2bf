/** Maximum throughput of Redis with the commit script: the ceiling of the ledger. */
import { emptyOwner } from '../../src/domain/bucket.ts'
import type { PrepaidInclude } from '../../src/domain/catalogue.ts'
import { credit } from '../../src/domain/credit.ts'
import type { OperationLine } from '../../src/domain/line.ts'
import { FOREVER_MS } from '../../src/domain/time.ts'
import { type AccountCommit, layOut } from '../../src/ledger/commit-layout.ts'
import { createKeys, sessionKeyOf } from '../../src/ledger/keys.ts'
import { runScript } from '../../src/ledger/script.ts'
import { type CommitCall, commitScript } from '../../src/ledger/scripts.ts'
import { createLogger } from '../../src/runtime/log.ts'
import {
  openRedis,
  type RedisConnection,
  type ScriptCall,
  waitForRedis,
} from '../../src/store/redis.ts'
import { median } from './load.ts'

const PIPELINE = 64
/** Pipelines under way: while one is answered, Redis already has the next. */
const PIPELINES = 2
const OWNERS = 10_000

export interface ScriptOptions {
  /** Duration of the calls, without their preparation. */
  seconds: number
  nowMs: () => number
  /** Processor time of Redis so far. */
  cpuMicros: () => number
}

/**
 * Runs the commit script with one request per call, in pipelines: one owner with two buckets and
 * one session. The calls are prepared in advance, one round over all owners at a time, so that only
 * Redis and the connection are measured. Medians over the rounds: calls per second, and µs of Redis
 * per call.
 */
export async function measureScript(
  url: string,
  options: ScriptOptions,
): Promise<{ perSecond: number; cpu: number }> {
  const { nowMs } = options
  const redis = await connect(url)
  const keys = createKeys(64)
  const settings = { keys, operationKeepMs: 1_000, token: 1 }
  const epoch = { key: keys.epoch(0), text: '1-bench' }
  await redis.guard(redis.client.set(epoch.key, epoch.text))
  const commits = Array.from({ length: OWNERS }, (_, index) => commitOf(index + 1, nowMs()))
  const openings = commits.map((commit) => {
    const operation = { result: openingOf(commit, nowMs()) }
    return layOut([{ ...commit, operation }], settings, epoch, nowMs())
  })
  const commit = (call: CommitCall) => runScript(redis, commitScript, call)
  await pipelined(openings, commit)
  const callsOf = (version: number) =>
    commits.map((commit) => {
      const owners = commit.owners.map(({ state, ...rest }) => ({
        ...rest,
        state: { ...state, version },
      }))
      return layOut([{ ...commit, owners }], settings, epoch, nowMs())
    })
  const result = await measureRounds(callsOf, commit, options)
  await redis.close()
  return result
}

/** Writes a value if its version, the first 8 bytes, directly succeeds the stored one. */
const SMALLEST = `
local stored = redis.call('HGET', KEYS[1], 's')
local version = stored and struct.unpack('<d', stored) or 0
if struct.unpack('<d', ARGV[1]) ~= version + 1 then return 0 end
redis.call('HSET', KEYS[1], 's', ARGV[1])
return 1`
/** An owner with two buckets and a session of one service have about as many. */
const VALUE_BYTES = 280

/** As `measureScript`, with the smallest script that keeps a version. */
export async function measureSmallestScript(
  url: string,
  options: ScriptOptions,
): Promise<{ perSecond: number; cpu: number }> {
  const redis = await connect(url)
  const callsOf = (version: number) => {
    const value = Buffer.alloc(VALUE_BYTES)
    value.writeDoubleLE(version)
    return Array.from({ length: OWNERS }, (_, index) => ({
      name: 'smallest',
      text: SMALLEST,
      keys: [`smallest:${index}`],
      args: [value],
      isDurable: false,
    }))
  }
  const run = (call: ScriptCall) => redis.runScript(call)
  await pipelined(callsOf(1), run)
  const result = await measureRounds(callsOf, run, options)
  await redis.close()
  return result
}

async function connect(url: string): Promise<RedisConnection> {
  const log = createLogger({ name: 'bench', level: 'error' })
  const redis = openRedis({ url, commandTimeoutMs: 10_000, connectTimeoutMs: 1_000 }, log)
  await waitForRedis(redis, 5_000)
  return redis
}

/** Rounds over all owners, from version 2 on. */
async function measureRounds<Call>(
  callsOf: (version: number) => readonly Call[],
  run: (call: Call) => Promise<unknown>,
  { seconds, nowMs, cpuMicros }: ScriptOptions,
): Promise<{ perSecond: number; cpu: number }> {
  const rounds: { ms: number; cpu: number }[] = []
  let measuredMs = 0
  for (let version = 2; measuredMs < seconds * 1000; version += 1) {
    const calls = callsOf(version)
    const before = { atMs: nowMs(), cpu: cpuMicros() }
    await pipelined(calls, run)
    const ms = nowMs() - before.atMs
    measuredMs += ms
    rounds.push({ ms, cpu: (cpuMicros() - before.cpu) / calls.length })
  }
  const perSecond = median(rounds.map(({ ms }) => (OWNERS * 1000) / ms))
  return { perSecond, cpu: median(rounds.map(({ cpu }) => cpu)) }
}

/** The calls must have distinct owners, because their order is undefined. */
async function pipelined<Call>(
  calls: readonly Call[],
  run: (call: Call) => Promise<unknown>,
): Promise<void> {
  let at = 0
  const runPipeline = async () => {
    while (at < calls.length) {
      const from = at
      at += PIPELINE
      const replies = await Promise.all(calls.slice(from, at).map(run))
      if (replies.some((reply) => reply !== 1)) throw new Error('the ceiling met a conflict')
    }
  }
  await Promise.all(Array.from({ length: PIPELINES }, runPipeline))
}

/** The operation that creates the balance of a commit: without one, it cannot be created. */
function openingOf({ aid }: AccountCommit, atMs: number): OperationLine {
  return {
    stamp: `bench-${aid}`,
    aid,
    sid: 1,
    operationId: `bench-${aid}`,
    operation: 'inc',
    bucketId: 1,
    prepaidIncludeId: 1,
    kind: 'money',
    usaget: '',
    amount: 1e9,
    before: 0,
    after: 1e9,
    repaid: 0,
    atMs,
    version: 1,
    priority: 10,
    fromMs: 0,
    toMs: FOREVER_MS,
  }
}

export function commitOf(aid: number, nowMs: number): AccountCommit {
  const include = (externalId: number, kind: PrepaidInclude['kind']): PrepaidInclude => ({
    id: '',
    externalId,
    name: '',
    kind,
    usaget: kind === 'units' ? 'data' : '',
    priority: 10,
    shared: false,
    unlimited: true,
    allowedIn: null,
    moreUsagets: [],
    fromMs: 0,
    toMs: FOREVER_MS,
  })
  const fill = { amount: 1e9, fromMs: 0, toMs: FOREVER_MS, mode: 'inc' as const }
  const one = credit(emptyOwner(aid, 1), { ...fill, include: include(1, 'totalCost') }, nowMs)
  const two = credit(one.owner, { ...fill, include: include(2, 'units') }, nowMs)
  const session = {
    identity: { aid, sid: 1, origin: 'bench', sessionId: `bench-${aid}` },
    state: 'open' as const,
    openedMs: nowMs,
    client: null,
    expiresMs: nowMs + 3_600_000,
    lastNumber: 1,
    processed: 1,
    answered: [],
    services: [],
  }
  const sessionKey = sessionKeyOf('bench', session.identity.sessionId)
  const written = { sessionKey, session, before: 'open' as const }
  return {
    aid,
    owners: [{ state: { ...two.owner, version: 1 }, fence: -1, sessions: [written] }],
    shared: { expectedVersion: 0, state: null },
    registrations: [],
    operation: null,
    lines: [],
    backoffHintMs: 0,
  }
}
