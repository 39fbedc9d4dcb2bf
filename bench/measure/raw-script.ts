/** Maximum throughput of Redis with the commit script: the ceiling of the ledger. */
import { emptyOwner } from '../../src/domain/bucket.ts'
import type { PrepaidInclude } from '../../src/domain/catalogue.ts'
import { credit } from '../../src/domain/credit.ts'
import { FOREVER_MS } from '../../src/domain/time.ts'
import { type AccountCommit, layOut } from '../../src/ledger/commit-layout.ts'
import { createKeys, sessionKeyOf } from '../../src/ledger/keys.ts'
import { runScript } from '../../src/ledger/script.ts'
import { type CommitCall, commitScript } from '../../src/ledger/scripts.ts'
import { createLogger } from '../../src/runtime/log.ts'
import { openRedis, type RedisConnection, waitForRedis } from '../../src/store/redis.ts'
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
  { seconds, nowMs, cpuMicros }: ScriptOptions,
): Promise<{ perSecond: number; cpu: number }> {
  const log = createLogger({ name: 'bench', level: 'error' })
  const redis = openRedis({ url, commandTimeoutMs: 10_000, connectTimeoutMs: 1_000 }, log)
  await waitForRedis(redis, 5_000)
  const keys = createKeys(64)
  const settings = { keys, operationKeepMs: 1_000, token: 1 }
  const epoch = { key: keys.epoch(0), text: '1-bench' }
  await redis.guard(redis.client.set(epoch.key, epoch.text))
  const commits = Array.from({ length: OWNERS }, (_, index) => commitOf(index + 1, nowMs()))
  const openings = commits.map((commit) => {
    const operation = { id: `bench-${commit.aid}`, result: commit as never }
    return layOut([{ ...commit, operation }], settings, epoch, nowMs())
  })
  await pipelined(redis, openings)
  const rounds: { ms: number; cpu: number }[] = []
  let measuredMs = 0
  for (let version = 2; measuredMs < seconds * 1000; version += 1) {
    const calls = commits.map((commit) => {
      const owners = commit.owners.map(({ state, ...rest }) => ({
        ...rest,
        state: { ...state, version },
      }))
      return layOut([{ ...commit, owners }], settings, epoch, nowMs())
    })
    const before = { atMs: nowMs(), cpu: cpuMicros() }
    await pipelined(redis, calls)
    const ms = nowMs() - before.atMs
    measuredMs += ms
    rounds.push({ ms, cpu: (cpuMicros() - before.cpu) / calls.length })
  }
  await redis.close()
  const perSecond = median(rounds.map(({ ms }) => (OWNERS * 1000) / ms))
  return { perSecond, cpu: median(rounds.map(({ cpu }) => cpu)) }
}

/** The calls must have distinct owners, because their order is undefined. */
async function pipelined(redis: RedisConnection, calls: readonly CommitCall[]): Promise<void> {
  let at = 0
  const runPipeline = async () => {
    while (at < calls.length) {
      const from = at
      at += PIPELINE
      const own = calls.slice(from, at)
      const sent = own.map((call) => runScript(redis, commitScript, call))
      const replies = await Promise.all(sent)
      if (replies.some((reply) => reply !== 1)) throw new Error('the ceiling met a conflict')
    }
  }
  await Promise.all(Array.from({ length: PIPELINES }, runPipeline))
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
    aid,
    sid: 1,
    origin: 'bench',
    sessionId: `bench-${aid}`,
    state: 'open' as const,
    openedMs: nowMs,
    client: null,
    expiresMs: nowMs + 3_600_000,
    lastNumber: 1,
    processed: 1,
    answered: [],
    services: [],
  }
  const sessionKey = sessionKeyOf('bench', session.sessionId)
  const written = { sessionKey, session, before: 'open' as const }
  return {
    aid,
    owners: [{ state: { ...two.owner, version: 1 }, fence: -1, sessions: [written] }],
    shared: { expectedVersion: 0, state: null },
    registrations: [],
    operation: null,
    lines: [],
    setsBackoffHint: false,
  }
}
