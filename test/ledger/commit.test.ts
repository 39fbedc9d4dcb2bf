import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Bucket } from '../../src/domain/bucket.ts'
import { type AccountCommit, backoffHintMs } from '../../src/ledger/commit-layout.ts'
import { indexMember, stateField } from '../../src/ledger/keys.ts'
import { commitScript } from '../../src/ledger/scripts.ts'
import { StoreDownError } from '../../src/store/redis.ts'
import {
  bucketOf,
  commitOf,
  contents,
  keyOf,
  loadOne,
  type OpenLedger,
  openTwoLedgers,
  operationOf,
  ownerOf,
  seed,
  sessionOf,
  writing,
} from '../support/ledger/fixture.ts'
import { emptyLedger } from '../support/ledger.ts'
import { NOW_MS } from '../support/workers/processor-fixture.ts'

let ledger: OpenLedger
let other: OpenLedger
let close: () => Promise<void>

beforeAll(async () => {
  ;({ ledger, other, close } = await openTwoLedgers())
})
afterAll(() => close())
beforeEach(() => emptyLedger(ledger))

/** Spends units of a seeded bucket of 1,000, as the second version. */
function spending(spent: number, sid = 1, more: Partial<AccountCommit> = {}): AccountCommit {
  return writing(ownerOf(sid, 2, [bucketOf(1000, { spent, free: 1000 - spent })]), more)
}

const reply = async (commit: AccountCommit, by = ledger, nowMs = NOW_MS) =>
  (await by.commit([commit], nowMs))[0]

describe('a commit', () => {
  it('writes state, sessions, registrations and one stream entry together', async () => {
    await seed(ledger, 1, 1000)
    const session = sessionOf(1, 'a')
    const sessionKey = keyOf('a')
    const registration = { sessionKey, location: '1:1', expected: '', ttlMs: 5000 }
    const commit = writing(
      ownerOf(1, 2, [bucketOf(1000, { reserved: 10, free: 990 })]),
      {
        registrations: [registration],
      },
      [{ sessionKey, session, before: null }],
    )
    expect(await reply(commit)).toEqual({ kind: 'committed' })
    const loaded = await loadOne(ledger, 1, [sessionKey])
    expect(loaded.state.buckets[0]).toMatchObject({ reserved: 10, free: 990 })
    expect(loaded.sessions).toEqual([session])
    expect(await ledger.findLocations([sessionKey, keyOf('b')])).toEqual([{ aid: 1, sid: 1 }, null])
    const ttl = await ledger.redis.client.pttl(ledger.keys.directory(sessionKey))
    expect(ttl).toBeGreaterThan(4000)
    expect(ttl).toBeLessThanOrEqual(5000)
    expect(await ledger.redis.client.xlen(ledger.keys.stream(1))).toBe(2)
  })

  it('with an old version writes nothing and reports the current states', async () => {
    await seed(ledger, 1, 1000)
    const sessionKey = keyOf('a')
    const session = sessionOf(1, 'a')
    await reply(
      writing(ownerOf(1, 2, [bucketOf(1000)]), {}, [{ sessionKey, session, before: null }]),
    )
    const before = await contents(ledger)
    const late = { ...session, processed: 9 }
    const answer = await reply(
      writing(ownerOf(1, 2, [bucketOf(1000, { spent: 1, free: 999 })]), {}, [
        { sessionKey, session: late, before: 'open' },
      ]),
    )
    expect(answer).toMatchObject({ kind: 'conflict', shared: { state: { version: 0 } } })
    if (answer?.kind !== 'conflict') return
    expect(answer.owners[0]?.state.version).toBe(2)
    expect(answer.owners[0]?.sessions).toEqual([session])
    expect(await contents(ledger)).toEqual(before)
  })

  it('compares the shared owner also if it is not written', async () => {
    await seed(ledger, 1, 1000)
    await seed(ledger, 2, 1000)
    const shared = { expectedVersion: 1, state: null }
    expect(await reply(spending(5, 1, { shared }))).toMatchObject({ kind: 'conflict' })
    expect(await reply(spending(5, 1, { shared: { ...shared, expectedVersion: 0 } }))).toEqual({
      kind: 'committed',
    })
  })

  it('is refused by a newer fence of the profile', async () => {
    await seed(ledger, 1, 1000)
    const fence = await other.raiseFence(1, 1, true, NOW_MS)
    expect(fence).toEqual({ number: 1, dirty: true, changedMs: NOW_MS })
    const rated = (number: number) => {
      const commit = spending(5)
      return { ...commit, owners: commit.owners.map((owner) => ({ ...owner, fence: number })) }
    }
    const refused = await reply(rated(0))
    expect(refused).toMatchObject({ kind: 'conflict', owners: [{ fence, state: { version: 1 } }] })
    expect(await reply(rated(1))).toEqual({ kind: 'committed' })
  })

  it('is refused by a newer fence of the account', async () => {
    await seed(ledger, 1, 1000)
    const fence = await other.raiseFence(1, 0, false, NOW_MS)
    const rated = (number: number) =>
      spending(5, 1, { shared: { expectedVersion: 0, state: null, fence: number } })
    const refused = await reply(rated(0))
    expect(refused).toMatchObject({ kind: 'conflict', shared: { fence, state: { version: 0 } } })
    expect(await reply(rated(1))).toEqual({ kind: 'committed' })
  })

  it('finds its script again after SCRIPT FLUSH', async () => {
    await seed(ledger, 1, 1000)
    await ledger.redis.client.script('FLUSH')
    expect(await reply(spending(5))).toEqual({ kind: 'committed' })
    expect(commitScript.text).toContain('local COMMITTED')
  })
})

describe('conservation', () => {
  const pair = (second: Partial<Bucket>) =>
    writing(ownerOf(1, 2, [bucketOf(600), bucketOf(400, { id: 2, ...second })]))
  const refusals: [string, AccountCommit, RegExp][] = [
    [
      'a sum that does not hold',
      writing(ownerOf(1, 2, [bucketOf(1000, { spent: 1 })])),
      /bucket 1/,
    ],
    ['credit without operation', writing(ownerOf(1, 2, [bucketOf(1001)])), /without operation/],
    ['credit that vanishes', writing(ownerOf(1, 2, [])), /without operation/],
    [
      'negative use',
      writing(ownerOf(1, 2, [bucketOf(1000, { spent: -1, free: 1001 })])),
      /negative/,
    ],
    [
      'a negative hold',
      writing(ownerOf(1, 2, [bucketOf(1000, { reserved: -1, free: 1001 })])),
      /nega/,
    ],
    [
      'less than nothing',
      writing(ownerOf(1, 2, [bucketOf(1000, { spent: 1001, free: -1 })])),
      /nega/,
    ],
    [
      'repaying what is not owed',
      writing({ ...ownerOf(1, 2, [bucketOf(1000)]), repaid: 1 }),
      /repaid/,
    ],
    ['a sum of two', pair({ spent: 1 }), /bucket 2: credited/],
    ['negative use of two', pair({ spent: -1, free: 401 }), /bucket 2: negative/],
    ['a negative hold of two', pair({ reserved: -1, free: 401 }), /bucket 2: negative/],
    ['less than nothing of two', pair({ spent: 401, free: -1 }), /bucket 2: negative/],
    [
      'what is no number',
      writing(ownerOf(1, 2, [bucketOf(1000, { free: Number.NaN })])),
      /bucket 1/,
    ],
  ]
  it.each(refusals)('refuses %s', async (_, commit, why) => {
    await seed(ledger, 1, 1000)
    const before = await contents(ledger)
    const answer = await reply(commit)
    expect(answer).toMatchObject({ kind: 'corrupt', detail: expect.stringMatching(why) })
    expect(await contents(ledger)).toEqual(before)
  })

  it('lets a bucket with a limit go below zero, and no amount beyond 2^53', async () => {
    await seed(ledger, 1, 1000)
    const limited = bucketOf(1000, { spent: 1500, free: -500, limit: 10 })
    expect(await reply(writing(ownerOf(1, 2, [limited])))).toEqual({ kind: 'committed' })
    const two = [bucketOf(600), bucketOf(400, { id: 2, spent: 500, free: -100, limit: 10 })]
    expect(await reply(writing(ownerOf(1, 3, two)))).toEqual({ kind: 'committed' })
    const operation = { result: operationOf('o', 1) }
    const beyond = bucketOf(2 ** 53, { free: 2 ** 53 })
    const answer = await reply(writing(ownerOf(2, 1, [beyond]), { operation }))
    expect(answer).toMatchObject({ kind: 'corrupt', detail: expect.stringMatching(/2\^53/) })
  })

  it('holds for shared buckets too', async () => {
    const before = await contents(ledger)
    const shared = { expectedVersion: 0, state: ownerOf(0, 1, [bucketOf(7)]) }
    const answer = await reply(commitOf({ shared }))
    expect(answer).toMatchObject({ kind: 'corrupt' })
    expect(await contents(ledger)).toEqual(before)
  })
})

describe('in a batch', () => {
  it('a damaged account in the middle fails alone', async () => {
    for (const aid of [1, 2, 3]) await seed(ledger, 1, 1000, aid)
    await ledger.redis.client.hset(ledger.keys.account(2), stateField(1), 'damage')
    const batch = [1, 2, 3].map((aid) =>
      writing(ownerOf(1, 2, [bucketOf(1000, { spent: 5, free: 995 })], aid)),
    )
    const answers = await ledger.commit(batch, NOW_MS)
    expect(answers.map((answer) => answer.kind)).toEqual(['committed', 'corrupt', 'committed'])
    expect((await loadOne(ledger, 1, [], 3)).state.version).toBe(2)
    expect(await ledger.redis.client.hget(ledger.keys.account(2), stateField(1))).toBe('damage')
  })

  const keysOf = (): [string, string][] => [
    ['account', ledger.keys.account(1)],
    ['stream', ledger.keys.stream(1)],
    ['expiry', ledger.keys.expiry(1)],
    ['tombstones', ledger.keys.tombstones(1)],
    ['operation', ledger.keys.operation(1, 'o')],
  ]
  it.each([0, 1, 2, 3, 4])('a key of another type leaves no partial write (%i)', async (index) => {
    const [name, key] = keysOf()[index] as [string, string]
    await seed(ledger, 1, 1000)
    await seed(ledger, 1, 1000, 2)
    const sessionKey = keyOf('a')
    const open = { sessionKey, session: sessionOf(1, 'a'), before: null }
    await reply(writing(ownerOf(1, 2, [bucketOf(1000)]), {}, [open]))
    await ledger.redis.client.del(key)
    if (name === 'operation') await ledger.redis.client.hset(key, 'of', 'another type')
    else await ledger.redis.client.set(key, 'of another type')
    const before = await contents(ledger)
    // It closes a session: one index loses it, the other gains it.
    const closed = { sessionKey, session: sessionOf(1, 'a', { state: 'closed' }), before: 'open' }
    const damaged = writing(
      ownerOf(1, 3, [bucketOf(1001)]),
      { operation: { result: operationOf('o', 1) } },
      [closed as never],
    )
    const sound = writing(ownerOf(1, 2, [bucketOf(1000)], 2))
    const [first, second] = await ledger.commit([damaged, sound], NOW_MS)
    expect(first).toMatchObject({ kind: 'corrupt', detail: expect.stringContaining('WRONGTYPE') })
    expect(second).toEqual({ kind: 'committed' })
    const after = await contents(ledger)
    const other = ledger.keys.account(2)
    expect(after.get(other)).not.toBe(before.get(other))
    // A call writes one stream: the first account's, unless that is the damaged one.
    const stream = ledger.keys.stream(name === 'stream' ? 2 : 1)
    expect(after.get(stream)).not.toBe(before.get(stream))
    for (const written of [other, stream]) {
      after.delete(written)
      before.delete(written)
    }
    expect(after).toEqual(before)
  })

  it('a Redis out of memory is an outage, not damage', async () => {
    await seed(ledger, 1, 1000)
    await ledger.redis.client.config('SET', 'maxmemory', '1')
    try {
      await expect(ledger.commit([spending(5)], NOW_MS)).rejects.toThrow(StoreDownError)
      await expect(ledger.raiseFence(1, 1, true, NOW_MS)).rejects.toThrow(StoreDownError)
    } finally {
      await ledger.redis.client.config('SET', 'maxmemory', '0')
    }
    expect((await loadOne(ledger, 1)).state.version).toBe(1)
    expect(await reply(spending(5))).toEqual({ kind: 'committed' })
  })
})

describe('the back-off hint of an account', () => {
  const withHint = { backoffHintMs: 50 }
  it('is set from the third attempt, twice as long with each, and not by the last', () => {
    const hints = [1, 2, 3, 4, 7, 8].map((attempt) => backoffHintMs(attempt, 8))
    expect(hints).toEqual([0, 0, 50, 100, 800, 0])
    expect(backoffHintMs(50, 100)).toBe(1_600)
  })

  it('keeps others out until it is used, by the clock of the requesting node', async () => {
    await seed(ledger, 1, 1000)
    await reply(spending(1))
    expect(await reply(spending(2, 1, withHint))).toMatchObject({ kind: 'conflict' })
    const next = writing(ownerOf(1, 3, [bucketOf(1000, { spent: 2, free: 998 })]))
    expect(await reply(next, other)).toEqual({ kind: 'busy', registered: null })
    expect(await reply(next, other, NOW_MS + 49)).toEqual({ kind: 'busy', registered: null })
    expect(await reply(next, ledger)).toEqual({ kind: 'committed' })
    const then = writing(ownerOf(1, 4, [bucketOf(1000, { spent: 3, free: 997 })]))
    expect(await reply(then, other)).toEqual({ kind: 'committed' })
  })

  it('is not an outage if Redis has no memory for it', async () => {
    await seed(ledger, 1, 1000)
    await ledger.redis.client.config('SET', 'maxmemory', '1')
    const answer = await reply(spending(2, 7, withHint)).finally(() =>
      ledger.redis.client.config('SET', 'maxmemory', '0'),
    )
    expect(answer).toMatchObject({ kind: 'conflict' })
  })

  it('ends by itself when its holder is gone', async () => {
    await seed(ledger, 1, 1000)
    await reply(spending(1))
    await reply(spending(2, 1, withHint))
    const next = writing(ownerOf(1, 3, [bucketOf(1000, { spent: 2, free: 998 })]))
    expect(await reply(next, other, NOW_MS + 50)).toEqual({ kind: 'committed' })
    expect(await reply(spending(2, 1, { backoffHintMs: 400 }))).toMatchObject({ kind: 'conflict' })
    const then = writing(ownerOf(1, 4, [bucketOf(1000, { spent: 3, free: 997 })]))
    expect(await reply(then, other, NOW_MS + 399)).toEqual({ kind: 'busy', registered: null })
    expect(await reply(then, other, NOW_MS + 400)).toEqual({ kind: 'committed' })
    expect(await ledger.redis.client.hexists(ledger.keys.account(1), 't')).toBe(0)
  })

  it('set by a clock far ahead does not keep others out', async () => {
    await seed(ledger, 1, 1000)
    await reply(spending(1))
    await reply(spending(2, 1, withHint), ledger, NOW_MS + 3_600_000)
    const next = writing(ownerOf(1, 3, [bucketOf(1000, { spent: 2, free: 998 })]))
    expect(await reply(next, other)).toEqual({ kind: 'committed' })
  })
})

describe('a session registration', () => {
  const registering = (sid: number, location: string, expected: string) =>
    spending(1, sid, {
      registrations: [{ sessionKey: keyOf('a'), location, expected, ttlMs: 5000 }],
    })

  it('is refused for another location, unless that is expected', async () => {
    for (const sid of [1, 2, 3]) await seed(ledger, sid, 1000)
    expect(await reply(registering(1, '1:1', ''))).toEqual({ kind: 'committed' })
    expect(await reply(registering(2, '1:2', ''))).toEqual({
      kind: 'registered',
      sessionKey: keyOf('a'),
      location: { aid: 1, sid: 1 },
    })
    expect((await loadOne(ledger, 2)).state.version).toBe(1)
    expect(await reply(registering(3, '1:3', '1:2'))).toMatchObject({ kind: 'registered' })
    expect(await reply(registering(2, '1:2', '1:1'))).toEqual({ kind: 'committed' })
    expect(await ledger.findLocations([keyOf('a')])).toEqual([{ aid: 1, sid: 2 }])
  })

  it('of one id by two accounts of a batch goes to the first', async () => {
    for (const aid of [1, 2]) await seed(ledger, 1, 1000, aid)
    const registration = (aid: number): AccountCommit => ({
      ...writing(ownerOf(1, 2, [bucketOf(1000)], aid)),
      registrations: [{ sessionKey: keyOf('a'), location: `${aid}:1`, expected: '', ttlMs: 5000 }],
    })
    const answers = await ledger.commit([registration(1), registration(2)], NOW_MS)
    expect(answers.map((answer) => answer.kind)).toEqual(['committed', 'registered'])
  })

  it('over a damaged entry is damage, and the directory then has no location', async () => {
    await seed(ledger, 1, 1000)
    await seed(ledger, 1, 1000, 2)
    await ledger.redis.client.set(ledger.keys.directory(keyOf('a')), 'rubbish')
    expect(await ledger.findLocations([keyOf('a')])).toEqual([null])
    const sound = writing(ownerOf(1, 2, [bucketOf(1000)], 2))
    const answers = await ledger.commit([registering(1, '1:1', ''), sound], NOW_MS)
    expect(answers.map((answer) => answer.kind)).toEqual(['corrupt', 'committed'])
  })
})

describe('the indexes of sessions', () => {
  const scores = async () => {
    const member = indexMember(1, 1, keyOf('a'))
    const { client } = ledger.redis
    const found = await Promise.all([
      client.zscore(ledger.keys.expiry(1), member),
      client.zscore(ledger.keys.tombstones(1), member),
    ])
    return found.map((score) => (score === null ? null : Number(score)))
  }
  let version = 1
  const transition = async (
    state: 'open' | 'closed' | 'denied',
    expiresMs: number,
    before: string | null,
  ) => {
    version += 1
    const session = sessionOf(1, 'a', { state, expiresMs })
    const change = { sessionKey: keyOf('a'), session, before } as never
    expect(await reply(writing(ownerOf(1, version, [bucketOf(1000)]), {}, [change]))).toEqual({
      kind: 'committed',
    })
    return scores()
  }

  it('follow a session from its opening to its tombstone and to its next opening', async () => {
    version = 1
    await seed(ledger, 1, 1000)
    expect(await transition('denied', 100, null)).toEqual([null, 100])
    // The tombstone stays until it is due, whether or not the node knows of it.
    expect(await transition('open', 200, 'denied')).toEqual([200, 100])
    // It stays in the index; the sweep moves it.
    expect(await transition('open', 300, 'open')).toEqual([200, 100])
    expect(await transition('closed', 400, 'open')).toEqual([null, 400])
    expect(await transition('open', 500, null)).toEqual([500, 400])
    expect(await transition('closed', 600, 'open')).toEqual([null, 600])
    expect(await transition('closed', 700, null)).toEqual([null, 700])
  })
})
