import { beforeEach, describe, expect, it } from 'vitest'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { unpackRecord } from '../../src/ledger/record-packing.ts'
import { type SweepResult, sweepPartition } from '../../src/ledger/sweep.ts'
import {
  bucketOf,
  keyOf,
  openLedger,
  ownerOf,
  seed,
  sessionOf,
  writing,
} from '../support/ledger/fixture.ts'
import { emptyLedger } from '../support/ledger.ts'
import { useMadeEach, useOpened } from '../support/opened.ts'
import { startTestRedis } from '../support/redis.ts'
import { waitUntil } from '../support/wait.ts'
import {
  GRACE_MS,
  LEDGER,
  MONEY,
  NOW_MS,
  openProcessorFixture,
  REPLAY_MS,
  request,
  service,
  VALIDITY_MS,
} from '../support/workers/processor-fixture.ts'

const LIFE_MS = VALIDITY_MS + GRACE_MS
const DUE_MS = NOW_MS + LIFE_MS
const DAY_MS = 86_400_000
const LEASE_MS = 300
const SETTINGS = { batchMax: 50, leaseMs: LEASE_MS, replayMs: REPLAY_MS }

const redis = useOpened(() => startTestRedis({ appendfsync: 'everysec' }))
const scenes = useMadeEach(() =>
  Promise.all([1, 2, 3, 4].map(() => openProcessorFixture(redis().url))),
)
const scene = useMadeEach(() => scenes()[0]!)
beforeEach(async () => {
  await emptyLedger(scene().ledger)
  return async () => {
    await Promise.all(scenes().map((one) => one.close()))
  }
})

/** The error that ends a sweeper in these tests. */
class KilledError extends Error {
  override name = 'KilledError'
}

/** A sweeper that is killed before its n-th commit: its lease remains. */
function failingAt(ledger: Ledger, commits: number): Ledger {
  let left = commits
  return {
    ...ledger,
    async commit(batch, nowMs) {
      left -= 1
      if (left <= 0) throw new KilledError()
      return ledger.commit(batch, nowMs)
    },
  }
}

function sweep(ledger: Ledger, token: string, nowMs = DUE_MS, more = {}): Promise<SweepResult> {
  return sweepPartition(ledger, 1, { ...SETTINGS, token, ...more }, nowMs)
}

/** Opens sessions of one subscriber and uses a unit in each. */
async function open(sid: number, count: number): Promise<void> {
  await scene().credit(sid, MONEY, 10_000_000)
  const ids = Array.from({ length: count }, (_, index) => ({ sessionId: `${sid}-${index}` }))
  await scene().charge(...ids.map((id) => request('start', sid, 0, [service(1_000)], id)))
  await scene().charge(...ids.map((id) => request('update', sid, 1, [service(1_000, 1)], id)))
}

async function reservedOf(sid: number): Promise<number> {
  const { buckets } = (await scene().owner(sid)).state
  return buckets.reduce((sum, { reserved }) => sum + reserved, 0)
}

/** The number of times each line was appended as expired, over all partitions. */
async function expiredLines(): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  const { keys, redis } = scene().ledger
  for (let partition = 0; partition < keys.partitions; partition += 1) {
    for (const [, fields] of await redis.client.xrangeBuffer(keys.stream(partition), '-', '+')) {
      const at = fields.findIndex((field, index) => index % 2 === 0 && String(field) === 'r')
      if (at < 0) continue
      for (const { stamp, state } of unpackRecord(fields[at + 1]!).lines) {
        if (state === 'expired') counts.set(stamp, (counts.get(stamp) ?? 0) + 1)
      }
    }
  }
  return counts
}

describe('a sweeper that is killed between its lease and its commit', () => {
  it('keeps the others away for the time of the lease, by the clock of Redis alone', async () => {
    await open(1, 5)
    const failing = failingAt(scene().ledger, 1)
    // Its clock is a day ahead: neither its lease nor its members may be hidden for a day.
    await expect(sweep(failing, 'failing', DUE_MS + DAY_MS)).rejects.toThrow(KilledError)
    const other = scenes()[1]!.ledger
    const lease = scene().ledger.keys.sweepLease(1)
    const results: SweepResult[] = []
    await waitUntil('the lease is over', async () => {
      results.push(await sweep(other, 'other'))
      return results.at(-1)?.status !== 'taken'
    })
    expect(results.at(-1)).toMatchObject({ status: 'done', expired: 5, moved: 0 })
    expect(results.slice(0, -1).every(({ status }) => status === 'taken')).toBe(true)
    expect(await scene().redis.client.exists(lease)).toBe(0)
    expect(await reservedOf(1)).toBe(0)
  })

  it('continues immediately with the same token', async () => {
    await open(1, 5)
    await expect(sweep(failingAt(scene().ledger, 1), 'same')).rejects.toThrow(KilledError)
    expect(await sweep(scene().ledger, 'same')).toMatchObject({ status: 'done', expired: 5 })
  })
})

describe('a sweeper that has lost its lease', () => {
  it('neither expires anything twice nor removes the lease of the next one', async () => {
    await open(1, 5)
    const { client } = scene().redis
    const lease = scene().ledger.keys.sweepLease(1)
    let swept: SweepResult | null = null
    const load: Ledger['load'] = async (expected) => {
      const loaded = await scene().ledger.load(expected)
      if (swept === null) {
        // As if the process had been suspended for longer than its lease.
        await client.del(lease)
        swept = await sweep(scenes()[1]!.ledger, 'next')
        await client.set(lease, 'third')
      }
      return loaded
    }
    expect(await sweep({ ...scene().ledger, load }, 'lost')).toMatchObject({ expired: 0, moved: 5 })
    expect(swept).toMatchObject({ expired: 5 })
    expect(await client.get(lease)).toBe('third')
    expect([...(await expiredLines()).values()]).toEqual([1, 1, 1, 1, 1])
  })
})

describe('a sweeper at work', () => {
  it('has its partition exclusively until its batch is done, and then releases it', async () => {
    await open(1, 60)
    const meanwhile: string[] = []
    const load: Ledger['load'] = async (expected) => {
      const other = await sweep(scenes()[1]!.ledger, 'other', DUE_MS, { leaseMs: 60_000 })
      meanwhile.push(other.status)
      return scene().ledger.load(expected)
    }
    const first = await sweep({ ...scene().ledger, load }, 'first', DUE_MS, { leaseMs: 60_000 })
    expect(first).toMatchObject({ status: 'more', expired: 50 })
    expect(meanwhile).toEqual(['taken'])
    const rest = await sweep(scenes()[1]!.ledger, 'other', DUE_MS)
    expect(rest).toMatchObject({ status: 'done', expired: 10 })
  })
})

describe('a partition without due sessions', () => {
  it('is not written to', async () => {
    await open(1, 1)
    expect(await sweep(scene().ledger, 'idle', DUE_MS - 1)).toMatchObject({ status: 'done' })
    expect(await scene().redis.client.exists(scene().ledger.keys.sweepLease(1))).toBe(0)
  })
})

describe('an index with unreadable members', () => {
  it('has them postponed, not dropped', async () => {
    const { client } = scene().redis
    const { keys } = scene().ledger
    for (const key of [keys.expiry(1), keys.tombstones(1)]) await client.zadd(key, 1, 'odd')
    expect(await sweep(scene().ledger, 'one')).toMatchObject({ status: 'done', forgotten: 0 })
    for (const key of [keys.expiry(1), keys.tombstones(1)]) {
      expect(await client.zscore(key, 'odd')).toBe(String(DUE_MS + LEASE_MS))
    }
  })
})

describe('one call to Redis', () => {
  it('carries a bounded number of accounts and sessions', async () => {
    const ledger = await openLedger(redis().url)
    const dueMs = NOW_MS + 2000
    const give = async (aid: number, count: number, lifeMs: number) => {
      const more = { aid, expiresMs: NOW_MS + lifeMs }
      await seed(ledger, 1, 100, aid)
      const sessions = Array.from({ length: count }, (_, index) => {
        const sessionId = `${aid}-${index}`
        return { sessionKey: keyOf(sessionId), session: sessionOf(1, sessionId, more) }
      })
      const state = ownerOf(1, 2, [bucketOf(100)], aid)
      const opened = sessions.map((one) => ({ ...one, before: null }))
      const [reply] = await ledger.commit([writing(state, {}, opened)], NOW_MS)
      expect(reply?.kind).toBe('committed')
    }
    // In one partition: first an account with 1,020 sessions, then 70 with two each.
    await give(1, 1020, 500)
    for (let index = 1; index <= 70; index += 1) await give(1 + 4 * index, 2, 1000)
    const calls: { accounts: number; sessions: number }[] = []
    const commit: Ledger['commit'] = (batch, nowMs) => {
      const sessions = batch.flatMap(({ owners }) => owners.flatMap((owner) => owner.sessions))
      calls.push({ accounts: batch.length, sessions: sessions.length })
      return ledger.commit(batch, nowMs)
    }
    const swept = await sweep({ ...ledger, commit }, 'one', dueMs, { batchMax: 5000 })
    await ledger.close()
    expect(swept).toMatchObject({ status: 'done', expired: 70 * 2 + 1020, corrupt: 0 })
    for (const { accounts, sessions } of calls) {
      expect(accounts).toBeLessThanOrEqual(64)
      expect(sessions).toBeLessThanOrEqual(500)
    }
    expect(Math.max(...calls.map(({ accounts }) => accounts))).toBe(64)
    expect(calls).toHaveLength(4)
  })
})

describe('several concurrent sweepers', () => {
  const SIDS = Array.from({ length: 100 }, (_, index) => 1 + index * 99)
  const PER_SUBSCRIBER = 40

  /** Walks the partitions, each sweeper from its own start, until nothing is due. */
  async function sweepAll(ledger: Ledger, index: number): Promise<{ expired: number }> {
    const { partitions } = LEDGER
    let expired = 0
    for (let idle = 0, at = index * 16; idle < partitions; at += 1) {
      const settings = { ...SETTINGS, token: `sweeper-${index}` }
      const swept = await sweepPartition(ledger, at % partitions, settings, DUE_MS)
      expired += swept.expired
      idle = swept.status === 'done' && swept.expired === 0 ? idle + 1 : 0
      if (swept.status === 'more') at -= 1
    }
    return { expired }
  }

  it('expire thousands of sessions once each, although one of them is killed', async () => {
    for (const sid of SIDS) await open(sid, PER_SUBSCRIBER)
    const total = SIDS.length * PER_SUBSCRIBER
    const killed = { expired: 0, died: false }
    const failing = failingAt(scenes()[3]!.ledger, 20)
    const counting: Ledger = {
      ...failing,
      async commit(batch, nowMs) {
        const replies = await failing.commit(batch, nowMs)
        for (const [index, { kind }] of replies.entries()) {
          if (kind !== 'committed') continue
          killed.expired += batch[index]!.owners.reduce((sum, one) => sum + one.sessions.length, 0)
        }
        return replies
      },
    }
    const sweeps = scenes()
      .slice(0, 3)
      .map((one, index) => sweepAll(one.ledger, index))
    const death = sweepAll(counting, 3).catch((error: unknown) => {
      expect(error).toBeInstanceOf(KilledError)
      killed.died = true
    })
    const [survivors] = await Promise.all([Promise.all(sweeps), death])
    expect(killed.died).toBe(true)
    expect(killed.expired).toBeGreaterThan(0)
    const expired = survivors.reduce((sum, one) => sum + one.expired, 0)
    expect(expired + killed.expired).toBe(total)
    for (const one of survivors) expect(one.expired).toBeGreaterThan(0)
    for (const sid of SIDS) expect(await reservedOf(sid)).toBe(0)
    const lines = await expiredLines()
    expect(lines.size).toBe(total)
    expect([...lines.values()].every((count) => count === 1)).toBe(true)
  })
})
