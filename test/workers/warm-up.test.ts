/** The contents of the cache before the first request. */
import { beforeEach, expect, it } from 'vitest'
import { recentOwners } from '../../src/ledger/recent-owners.ts'
import { emptyLedger } from '../support/ledger.ts'
import { useMadeEach, useOpened } from '../support/opened.ts'
import { startTestRedis } from '../support/redis.ts'
import {
  aidOf,
  MONEY,
  NOW_MS,
  openProcessorFixture,
  profileOf,
  request,
  service,
} from '../support/workers/processor-fixture.ts'

const redis = useOpened(() => startTestRedis({ appendfsync: 'everysec' }))
/** Profile reads of the starting node. */
const reads = useMadeEach<string[]>(() => [])
const first = useMadeEach(() => openProcessorFixture(redis().url))
const second = useMadeEach(() =>
  openProcessorFixture(redis().url, {
    async read({ key, value }) {
      reads().push(`${key}:${value}`)
      const found = profileOf(Number(value.slice(-4)))
      return found === null ? null : { profile: found, validUntilMs: found.toMs }
    },
  }),
)
beforeEach(async () => {
  await emptyLedger(first().ledger)
  return async () => {
    expect([...first().defects, ...second().defects]).toEqual([])
    await Promise.all([first().close(), second().close()])
  }
})

const sids = [1, 2, 101, 201]
const msisdnOf = (sid: number) => `49${String(sid).padStart(4, '0')}`

async function warmUp(ownersMax = 1_000, timeMs = 60_000) {
  return second().processor.warmUp({
    ownersMax,
    timeMs,
    queriesOf: async (expected, atMs) =>
      expected.map((sid) => ({ sid, query: { key: 'msisdn', value: msisdnOf(sid), atMs } })),
  })
}

/** From the cache alone; only the commit goes to Redis. */
async function fast(kind: 'start' | 'update', sid: number, number: number, sessionId: string) {
  const services = [service(1_000, kind === 'start' ? 0 : 1_000)]
  const named = { subscriberKey: 'msisdn', subscriberValue: msisdnOf(sid), sessionId } as const
  return second().processor.process({
    requests: [request(kind, sid, number, services, kind === 'start' ? named : { sessionId })],
    mayLookUp: false,
    deadlineMs: Number.POSITIVE_INFINITY,
  })
}

it('warm-up loads owners, open sessions and profiles that another node used last', async () => {
  for (const sid of sids) {
    await first().credit(sid, MONEY, 1_000_000)
    await first().charge(request('start', sid, 0, [service(1_000)]))
  }
  await first().charge(request('release', 201, 1, [service(-1, 500)]))
  expect(await warmUp()).toBe(sids.length)
  expect(reads().sort()).toEqual(sids.map((sid) => `msisdn:${msisdnOf(sid)}`).sort())
  for (const sid of sids) {
    const { outcomes, stats } = await fast('start', sid, 0, `new-${sid}`)
    expect([outcomes[0]?.reason, stats['loads']]).toEqual(['granted', 0])
  }
  for (const sid of [1, 2, 101]) {
    const { outcomes, stats } = await fast('update', sid, 1, `session-${sid}`)
    expect([outcomes[0]?.reason, stats['loads']]).toEqual(['granted', 0])
  }
  expect(reads()).toHaveLength(sids.length)
})

it('warm-up does not replace cached entries, and is bounded in number and time', async () => {
  for (const sid of sids) {
    await first().credit(sid, MONEY, 1_000_000)
    await first().charge(request('start', sid, 0, [service(1_000)]))
  }
  const { outcomes } = await fast('start', 1, 0, 'cold')
  expect(outcomes).toEqual([null])
  expect(await warmUp(1_000, 0)).toBe(0)
  expect(await warmUp(2)).toBe(2)
  expect(reads()).toHaveLength(2)
})

it('warm-up loads the most recent accounts of each partition', async () => {
  const { partitions } = first().ledger.keys
  // Accounts of one partition.
  const far = [1, 1 + partitions * 100, 2]
  for (const [index, sid] of far.entries()) {
    await first().credit(sid, MONEY, 1_000_000)
    first().clock.set(NOW_MS + index * 1_000)
    await first().charge(request('start', sid, 0, [service(1_000)]))
  }
  const found = []
  for await (const part of recentOwners(first().ledger, 2 * partitions)) found.push(...part)
  expect(found.map(({ aid, sid }) => [aid, sid])).toEqual(
    [far[2], far[1]].map((sid) => [aidOf(sid as number), sid]),
  )
})
