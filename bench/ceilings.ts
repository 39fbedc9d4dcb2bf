/** Ceilings measured in the same run: what the HTTP server and Redis could do at most. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { emptyOwner } from '../src/domain/bucket.ts'
import type { PrepaidInclude } from '../src/domain/catalogue.ts'
import { credit } from '../src/domain/credit.ts'
import { FOREVER_MS } from '../src/domain/time.ts'
import { type AccountCommit, layOut } from '../src/ledger/commit-layout.ts'
import { createKeys, sessionKeyOf } from '../src/ledger/keys.ts'
import { runScript } from '../src/ledger/script.ts'
import { commitScript } from '../src/ledger/scripts.ts'
import { createLogger } from '../src/runtime/log.ts'
import { openRedis, waitForRedis } from '../src/store/redis.ts'
import { type LoadOptions, type LoadResult, runLoad } from './load.ts'

/** The same load on a server that only parses and answers. */
export async function measureEcho(options: Omit<LoadOptions, 'port'>): Promise<LoadResult> {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
  const child = fork(fileURLToPath(new URL(`./echo-server.${extension}`, import.meta.url)))
  try {
    const [message] = (await once(child, 'message')) as [{ port: number }]
    return await runLoad({ ...options, port: message.port })
  } finally {
    child.disconnect()
    await once(child, 'exit')
  }
}

const PIPELINE = 64
const OWNERS = 10_000

/**
 * Calls per second of the commit script with a single request each, 64 in a pipeline: one owner
 * with two buckets, one session, one stream entry. The calls are made beforehand, so that only
 * Redis and the connection are measured.
 */
export async function measureScript(url: string, nowMs: () => number): Promise<number> {
  const log = createLogger({ name: 'bench', level: 'error' })
  const redis = openRedis({ url, commandTimeoutMs: 10_000, connectTimeoutMs: 1_000 }, log)
  await waitForRedis(redis, 5_000)
  const keys = createKeys(64)
  const settings = { keys, operationKeepMs: 1_000, token: 1 }
  const epoch = { key: keys.epoch(0), text: '1-bench' }
  await redis.guard(redis.client.set(epoch.key, epoch.text))
  const commits = Array.from({ length: OWNERS }, (_, index) => commitOf(index + 1, nowMs()))
  for (const commit of commits) {
    await redis.guard(redis.client.del(keys.owner(commit.aid, 1)))
    const opening = { ...commit, operation: { id: `bench-${commit.aid}`, result: commit as never } }
    await runScript(redis, commitScript, layOut([opening], settings, epoch, nowMs()))
  }
  const calls = commits.map((commit) => {
    const owners = commit.owners.map(({ state, ...rest }) => ({
      ...rest,
      state: { ...state, version: 2 },
    }))
    return layOut([{ ...commit, owners }], settings, epoch, nowMs())
  })
  const started = nowMs()
  for (let at = 0; at < calls.length; at += PIPELINE) {
    const sent = calls.slice(at, at + PIPELINE).map((call) => runScript(redis, commitScript, call))
    const replies = await Promise.all(sent)
    if (replies.some(([reply]) => reply !== 1)) throw new Error('the ceiling met a conflict')
  }
  const seconds = (nowMs() - started) / 1000
  await redis.close()
  return calls.length / seconds
}

function commitOf(aid: number, nowMs: number): AccountCommit {
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
    ...{ aid, sid: 1, origin: 'bench', sessionId: `bench-${aid}`, state: 'open' as const },
    ...{ openedMs: nowMs, expiresMs: nowMs + 3_600_000, lastNumber: 1, processed: 1 },
    answered: [],
    services: [],
  }
  const sessionKey = sessionKeyOf('bench', session.sessionId)
  const written = { sessionKey, session, before: 'open' as const }
  return {
    aid,
    owners: [{ state: { ...two.owner, version: 1 }, fence: -1, sessions: [written] }],
    shared: { expectedVersion: 0, state: null },
    claims: [],
    operation: null,
    lines: [],
    wantsTurn: false,
  }
}
