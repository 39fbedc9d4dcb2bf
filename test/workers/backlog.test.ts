/**
 * A backlog that uses too much of Redis' memory: new sessions are refused, open ones are served.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readBacklog } from '../../src/ledger/backlog.ts'
import { type BacklogWatch, startBacklogWatch } from '../../src/workers/backlog-watch.ts'
import { startTestRedis, type TestRedis } from '../support/redis.ts'
import {
  MONEY,
  openProcessorFixture,
  type ProcessorFixture,
  profileOf,
  request,
  service,
} from '../support/workers/processor-fixture.ts'

const MIB = 1024 * 1024
/** In the streams from the beginning; everything else is small in comparison. */
const BACKLOG = 8 * MIB
const NEVER_MS = 1_000_000

let redis: TestRedis
let scene: ProcessorFixture
let watch: BacklogWatch
let logged: string[]
const reads: string[] = []

beforeEach(async () => {
  redis = await startTestRedis()
  reads.length = 0
  logged = []
  scene = await openProcessorFixture(redis.url, {
    commandTimeoutMs: 1_000,
    refusal: () => watch.refusal(),
    read: async ({ value }) => {
      reads.push(value)
      const found = profileOf(Number(value))
      return found === null ? null : { profile: found, validUntilMs: found.toMs }
    },
  })
  const note = (level: string) => (_: object, message: string) =>
    logged.push(`${level}: ${message}`)
  const log = { info: note('info'), warn: note('warn'), error: note('error') }
  const marks = { backlogWarnPercent: 25, backlogRefusePercent: 60 }
  watch = startBacklogWatch({
    ledger: scene.ledger,
    ...marks,
    log: log as never,
    everyMs: NEVER_MS,
  })
  // Small entries, whose buffers in Redis are no other memory that comes and goes.
  const entry = Buffer.alloc(MIB / 16)
  for (let filled = 0; filled < BACKLOG; filled += entry.length) {
    await scene.redis.client.xadd(scene.ledger.keys.stream(63), '*', 'r', entry)
  }
})
afterEach(async () => {
  watch.stop()
  await scene.close()
  await redis.close()
})

/** Sets the memory limit so that the streams use that percentage of what nothing else uses. */
async function fill(percent: number): Promise<void> {
  const { streamBytes, otherBytes } = await readBacklog(scene.ledger)
  const limit = otherBytes + Math.ceil((streamBytes * 100) / percent)
  await scene.redis.client.config('SET', 'maxmemory', String(limit))
  await watch.look()
}

const start = (sid: number, more = {}) => request('start', sid, 0, [service(MIB)], more)
const update = (sid: number, number: number) => request('update', sid, number, [service(MIB, 5)])
const release = (sid: number, number: number) => request('release', sid, number, [service(-1, 5)])
const event = (sid: number, sessionId: string) =>
  request('event', sid, 0, [service(5)], { sessionId })
const reasons = async (...requests: Parameters<ProcessorFixture['charge']>) =>
  (await scene.charge(...requests)).map(({ reason }) => reason)

const REFUSED = {
  reason: 'overloaded',
  detail: /^the recorder's backlog takes \d+ % of the memory/,
}

describe('a backlog of 60 % of the memory', () => {
  beforeEach(async () => {
    for (const sid of [1, 2]) await scene.credit(sid, MONEY, 1_000_000)
    await scene.charge(start(1))
  })

  it('refuses new sessions before anything is looked up or moved', async () => {
    await fill(61)
    const [started, happened] = await scene.charge(start(2), event(2, 'event'))
    for (const outcome of [started, happened]) {
      expect(outcome).toMatchObject({ reason: REFUSED.reason, services: [], sid: 0 })
      expect(outcome?.detail).toMatch(REFUSED.detail)
    }
    const { outcomes } = await scene.processor.process({
      requests: [start(2), update(1, 1), event(2, 'event')],
      mayLookUp: false,
      deadlineMs: Number.POSITIVE_INFINITY,
    })
    expect(outcomes.map((one) => one?.reason)).toEqual(['overloaded', 'granted', 'overloaded'])
    expect(reads).toEqual(['1'])
    const { state } = await scene.owner(2)
    expect(state.buckets).toMatchObject([{ spent: 0, reserved: 0, free: 1_000_000 }])
  })

  it('accepts updates and releases', async () => {
    await fill(61)
    expect(await reasons(update(1, 1), release(1, 2))).toEqual(['granted', 'granted'])
    const { state } = await scene.owner(1)
    expect(state.buckets[0]?.reserved).toBe(0)
  })

  it('answers a repeated start as before if it was granted', async () => {
    const opening = start(2)
    const [first] = await scene.charge(opening)
    await fill(61)
    expect((await scene.charge(opening))[0]).toEqual(first)
  })

  it('lets a pretended start through, which leaves no stream entry', async () => {
    await fill(61)
    expect(await reasons(start(2, { pretend: true }))).toEqual(['granted'])
  })

  it('ends at 55 %', async () => {
    await fill(61)
    await fill(57)
    expect(await reasons(start(2))).toEqual(['overloaded'])
    await fill(53)
    expect(await reasons(start(2))).toEqual(['granted'])
  })

  it('persists while Redis is down', async () => {
    await fill(61)
    await redis.kill9()
    await expect(watch.look()).rejects.toThrow()
    expect(watch.refusal()).toMatch(REFUSED.detail)
  })
})

it('is logged once when it begins and once when it ends', async () => {
  for (const percent of [10, 26, 30, 22, 61, 65, 56, 50, 18]) await fill(percent)
  expect(logged).toEqual([
    'warn: backlog: the recorder lags behind',
    'error: backlog: new sessions are rejected',
    'warn: backlog: new sessions are accepted again',
    'info: backlog: the recorder has caught up',
  ])
})
