import { beforeEach, describe, expect, it } from 'vitest'
import type { AccountCommit } from '../../src/ledger/commit-layout.ts'
import { stateField } from '../../src/ledger/keys.ts'
import { openStreamReader } from '../../src/ledger/streams.ts'
import { StoreDownError } from '../../src/store/redis.ts'
import { withFields } from '../support/domain/lines.ts'
import {
  bucketOf,
  contents,
  keyOf,
  loadOne,
  openLedger,
  ownerOf,
  SETTINGS,
  seed,
  sessionOf,
  writing,
} from '../support/ledger/fixture.ts'
import { emptyLedger, READ_BYTES } from '../support/ledger.ts'
import { useOpened } from '../support/opened.ts'
import { lineOf } from '../support/recorder/accounts.ts'
import { startTestRedis } from '../support/redis.ts'
import { NOW_MS } from '../support/workers/processor-fixture.ts'

const PARTITIONS = Array.from({ length: SETTINGS.partitions }, (_, partition) => partition)

const redis = useOpened(() => startTestRedis({ appendfsync: 'everysec' }))
const ledger = useOpened(() => openLedger(redis().url))
beforeEach(async () => {
  await emptyLedger(ledger())
})

/** Spends of the seeded amount of an account, as its next version. */
function spending(aid: number, version = 2, more: Partial<AccountCommit> = {}): AccountCommit {
  const spent = version * 10
  const bucket = bucketOf(1000, { spent, free: 1000 - spent })
  return writing(ownerOf(1, version, [bucket], aid), more)
}

async function seedAll(aids: readonly number[]): Promise<void> {
  for (const aid of aids) await seed(ledger(), 1, 1000, aid)
  for (const partition of PARTITIONS)
    await ledger().redis.client.del(ledger().keys.stream(partition))
}

const kinds = async (batch: readonly AccountCommit[]) =>
  (await ledger().commit(batch, NOW_MS)).map((reply) => reply.kind)

/** Fields of all entries, one list per entry. */
async function entries(): Promise<string[][]> {
  const { client } = ledger().redis
  const streams = PARTITIONS.map((partition) =>
    client.xrange(ledger().keys.stream(partition), '-', '+'),
  )
  return (await Promise.all(streams)).flat().map(([, fields]) => fields)
}

const names = (fields: readonly string[]) => fields.filter((_, index) => index % 2 === 0)

describe('the accounts of a call', () => {
  it('share a stream entry, regardless of their partitions', async () => {
    const aids = [1, 2, 3, 4, 5]
    await seedAll(aids)
    expect(await kinds(aids.map((aid) => spending(aid)))).toEqual(aids.map(() => 'committed'))
    expect((await entries()).map(names)).toEqual([['1:1', '2:1', '3:1', '4:1', '5:1']])
  })

  it('are separated again by the reader, each with its record', async () => {
    const aids = [1, 2, 3]
    await seedAll(aids)
    const reader = await openStreamReader(ledger(), 'one')
    const withLine = (aid: number) =>
      spending(aid, 2, { lines: [{ ...lineOf(aid, 1, `line-${aid}`), state: 'closed' }] })
    await ledger().commit([withLine(1), spending(2), withLine(3)], NOW_MS)
    expect((await entries()).map(names)).toEqual([['1:1', 'r', '2:1', '3:1', 'r+']])
    const batch = await reader.read(READ_BYTES, 1)
    expect(batch.unreadable).toEqual([])
    expect(new Set(batch.entries.map(({ id }) => id)).size).toBe(1)
    const read = batch.entries.map(({ owners, lines }) => [
      ...owners.map(({ aid, version }) => `${aid} ${version}`),
      ...lines.map(({ stamp }) => stamp),
    ])
    expect(read).toEqual([['1 2', 'line-1'], ['2 2'], ['3 2', 'line-3']])
  })

  it('fill entries of a bounded size', async () => {
    const aids = Array.from({ length: 300 }, (_, index) => index + 1)
    await ledger().commit(
      aids.map((aid) => writing(ownerOf(1, 1, [], aid))),
      NOW_MS,
    )
    const found = await entries()
    expect(found.flatMap(names)).toEqual(aids.map((aid) => `${aid}:1`))
    expect(found.length).toBeGreaterThan(1)
    for (const fields of found) expect(names(fields).length).toBeLessThanOrEqual(4096 / 32)
  })

  it('have no two records of the same name in one entry', async () => {
    const aids = Array.from({ length: 40 }, (_, index) => index + 1)
    const commits = aids.map((aid) => {
      const line = withFields(lineOf(aid, 1, `line-${aid}`), { plan: 'P'.repeat(500) })
      return writing(ownerOf(1, 1, [], aid), { lines: [line] })
    })
    await ledger().commit(commits, NOW_MS)
    const records = (await entries()).map((fields) => names(fields).filter((one) => /^r/.test(one)))
    expect(records.length).toBeGreaterThan(3)
    for (const [first, ...rest] of records) {
      expect([first, ...new Set(rest)]).toEqual(rest.length > 0 ? ['r', 'r+'] : ['r'])
    }
  })
})

describe('a refused account of a call', () => {
  const sessionKey = keyOf('odd')
  const opening = (expiresMs: number, ttlMs: number) =>
    writing(
      ownerOf(1, 2, [bucketOf(1000)], 2),
      { registrations: [{ sessionKey, location: '2:1', expected: '', ttlMs }] },
      [{ sessionKey, session: sessionOf(1, 'odd', { aid: 2, expiresMs }), before: null }],
    )

  it.each([
    ['an expiry that is not a number', opening(Number.NaN, 5000)],
    ['no time to live', opening(NOW_MS, 0)],
    ['a time to live that is not a number', opening(NOW_MS, Number.NaN)],
    ['a time to live that is too large', opening(NOW_MS, 1e21)],
  ])('is not written at all because of %s, and the others are written whole', async (_, odd) => {
    const aids = [1, 2, 3]
    await seedAll(aids)
    const before = await contents(ledger())
    expect(await kinds([spending(1), odd, spending(3)])).toEqual([
      'committed',
      'corrupt',
      'committed',
    ])
    expect((await entries()).flatMap(names)).toEqual(['1:1', '3:1'])
    const after = await contents(ledger())
    expect([...after.keys()].sort()).toEqual([...before.keys(), ledger().keys.stream(1)].sort())
    expect(after.get(ledger().keys.account(2))).toBe(before.get(ledger().keys.account(2)))
  })

  it('is not written at all, and the others are written whole', async () => {
    const aids = [1, 2, 3, 4, 5]
    await seedAll(aids)
    await ledger().redis.client.hset(ledger().keys.account(2), stateField(1), 'damage')
    await ledger().redis.client.set(ledger().keys.directory(keyOf('4')), '9:9')
    const opening = (aid: number) => {
      const sessionKey = keyOf(String(aid))
      const session = sessionOf(1, String(aid), { aid })
      const registration = { sessionKey, location: `${aid}:1`, expected: '', ttlMs: 5000 }
      return writing(
        ownerOf(1, aid === 3 ? 9 : 2, [bucketOf(1000)], aid),
        { registrations: [registration] },
        [{ sessionKey, session, before: null }],
      )
    }
    const before = await contents(ledger())
    expect(await kinds(aids.map(opening))).toEqual([
      'committed',
      'corrupt',
      'conflict',
      'registered',
      'committed',
    ])
    expect((await entries()).flatMap(names)).toEqual(['1:1', '5:1'])
    const after = await contents(ledger())
    for (const aid of [2, 3, 4]) {
      const key = ledger().keys.account(aid)
      expect(after.get(key)).toBe(before.get(key))
    }
    expect(await ledger().findLocations(aids.map((aid) => keyOf(String(aid))))).toEqual([
      { aid: 1, sid: 1 },
      null,
      null,
      { aid: 9, sid: 9 },
      { aid: 5, sid: 1 },
    ])
    const { client } = ledger().redis
    const places = PARTITIONS.map((partition) =>
      client.zrange(ledger().keys.expiry(partition), '0', '-1'),
    )
    expect((await Promise.all(places)).flat().sort()).toEqual([
      `1:1:${keyOf('1')}`,
      `5:1:${keyOf('5')}`,
    ])
  })

  it('may be the last one', async () => {
    await seedAll([1, 2])
    await ledger().redis.client.hset(ledger().keys.account(2), stateField(1), 'damage')
    expect(await kinds([spending(1), spending(2)])).toEqual(['committed', 'corrupt'])
    expect((await loadOne(ledger(), 1)).state.version).toBe(2)
  })

  it('is refused by the directory, also as changed by an account before it', async () => {
    await seedAll([1, 2, 3])
    const registering = (aid: number, expected: string) =>
      spending(aid, 2, {
        registrations: [{ sessionKey: keyOf('a'), location: `${aid}:1`, expected, ttlMs: 5000 }],
      })
    const batch = [registering(1, ''), registering(2, ''), registering(3, '1:1')]
    expect(await kinds(batch)).toEqual(['committed', 'registered', 'committed'])
    expect(await ledger().findLocations([keyOf('a')])).toEqual([{ aid: 3, sid: 1 }])
  })
})

describe('an account that a call has twice', () => {
  it('is written twice, the later after the earlier', async () => {
    await seedAll([1, 2])
    const batch = [spending(1), spending(2), spending(1, 3), spending(2, 2)]
    expect(await kinds(batch)).toEqual(['committed', 'committed', 'committed', 'conflict'])
    const { state } = await loadOne(ledger(), 1)
    expect(state).toMatchObject({ version: 3, buckets: [{ spent: 30 }] })
    expect((await entries()).flatMap(names).sort()).toEqual(['1:1', '1:1', '2:1'])
  })
})

describe('shared owners expected to be absent', () => {
  const bare = { shared: { expectedVersion: 0, state: null } }

  it('are found if they exist, and no other account is blocked', async () => {
    await seedAll([1, 2, 3])
    await seed(ledger(), 0, 500, 2)
    const batch = [1, 2, 3].map((aid) => spending(aid, 2, bare))
    const replies = await ledger().commit(batch, NOW_MS)
    expect(replies.map(({ kind }) => kind)).toEqual(['committed', 'conflict', 'committed'])
    expect(replies[1]).toMatchObject({ shared: { state: { version: 1 } } })
  })

  it('may have a back-off hint or a fence', async () => {
    await seedAll([1, 2, 3])
    const other = await openLedger(redis().url)
    const withHint = { ...spending(2, 9, bare), backoffHintMs: 50 }
    expect((await other.commit([withHint], NOW_MS))[0]?.kind).toBe('conflict')
    await other.close()
    await ledger().raiseFence(3, 0, false, NOW_MS)
    const fenced = { shared: { ...bare.shared, fence: 0 } }
    const batch = [spending(1, 2, bare), spending(2, 2, bare), spending(3, 2, fenced)]
    expect(await kinds(batch)).toEqual(['committed', 'busy', 'conflict'])
  })

  it('are written for the first time like any other', async () => {
    await seedAll([1])
    const state = ownerOf(0, 1, [])
    const first = spending(1, 2, { shared: { expectedVersion: 0, state } })
    expect(await kinds([first])).toEqual(['committed'])
    expect((await loadOne(ledger(), 0)).state.version).toBe(1)
    expect((await entries()).map(names)).toEqual([['1:1', '1:0']])
  })
})

describe('a Redis that refuses to write', () => {
  it('has written nothing of the call, whatever was decided for other accounts', async () => {
    await seedAll([1, 2, 3, 4])
    await ledger().redis.client.hset(ledger().keys.account(2), stateField(1), 'damage')
    const batch = [spending(1, 7), spending(2), spending(3), spending(4)]
    const withHint = [{ ...spending(1, 7), backoffHintMs: 50 }, spending(3)]
    const before = await contents(ledger())
    await ledger().redis.client.config('SET', 'maxmemory', '1')
    try {
      await expect(ledger().commit(batch, NOW_MS)).rejects.toThrow(StoreDownError)
      await expect(ledger().commit(withHint, NOW_MS)).rejects.toThrow(StoreDownError)
    } finally {
      await ledger().redis.client.config('SET', 'maxmemory', '0')
    }
    expect(await contents(ledger())).toEqual(before)
    expect(await kinds(batch)).toEqual(['conflict', 'corrupt', 'committed', 'committed'])
  })
})
