import { beforeEach, describe, expect, it } from 'vitest'
import type { PrepaidInclude } from '../../src/domain/catalogue.ts'
import {
  BalanceRangeError,
  type Credit,
  InsufficientBalanceError,
  UnknownBucketError,
} from '../../src/domain/credit.ts'
import { FOREVER_MS } from '../../src/domain/time.ts'
import { stateField } from '../../src/ledger/keys.ts'
import {
  ContentionError,
  type CreditOperation,
  creditBucket,
  OperationReusedError,
} from '../../src/ledger/operations.ts'
import { CorruptValueError } from '../../src/ledger/owner-packing.ts'
import { bucketOf, loadOne, openLedger, ownerOf, seed, writing } from '../support/ledger/fixture.ts'
import { emptyLedger } from '../support/ledger.ts'
import { useOpened } from '../support/opened.ts'
import { startTestRedis } from '../support/redis.ts'
import { includes, MONEY, NOW_MS, SHARED_DATA } from '../support/workers/processor-fixture.ts'

const redis = useOpened(() => startTestRedis({ appendfsync: 'everysec' }))
const ledger = useOpened(() => openLedger(redis().url))
beforeEach(async () => {
  await emptyLedger(ledger())
})

function credit(operationId: string, amount: number, sid = 1, includeId = MONEY, by = ledger()) {
  const include = includes.get(includeId)
  if (include === undefined) throw new Error('no include')
  const validity = { fromMs: 0, toMs: FOREVER_MS }
  const operation = { operationId, aid: 1, sid, include, amount, ...validity, mode: 'inc' as const }
  return creditBucket(by, operation, { attemptsMax: 20 }, NOW_MS)
}

it('a credit is applied once under an id, regardless of repetitions', async () => {
  const first = await credit('a', 500)
  expect(first).toMatchObject({ before: 0, after: 500, amount: 500, bucketId: 1 })
  expect(await credit('a', 500)).toEqual(first)
  const others = await Promise.all([1, 2, 3].map(() => openLedger(redis().url)))
  const results = await Promise.all(
    Array.from({ length: 50 }, (_, index) => credit('b', 70, 1, MONEY, others[index % 3])),
  )
  expect(new Set(results.map((result) => JSON.stringify(result))).size).toBe(1)
  const { state } = await loadOne(ledger(), 1)
  expect(state).toMatchObject({ version: 2, buckets: [{ credited: 570, free: 570 }] })
  expect(await ledger().redis.client.xlen(ledger().keys.stream(1))).toBe(2)
  await Promise.all(others.map((one) => one.close()))
})

it('an id used for another operation is refused, and nothing moves', async () => {
  await credit('a', 500)
  await expect(credit('a', 501)).rejects.toThrow(OperationReusedError)
  expect((await loadOne(ledger(), 1)).state.buckets[0]).toMatchObject({ credited: 500 })
})

it('an amount that would not stay exact is refused', async () => {
  await credit('a', Number.MAX_SAFE_INTEGER)
  await expect(credit('b', 1)).rejects.toThrow(BalanceRangeError)
})

it('the result is stored for the promised time', async () => {
  await credit('a', 500)
  const ttl = await ledger().redis.client.pttl(ledger().keys.operation(1, 'a'))
  expect(ttl).toBeGreaterThan(50_000)
  expect(await ledger().findOperation(1, 'a')).toMatchObject({ amount: 500 })
  expect(await ledger().findOperation(1, 'b')).toBeNull()
})

it('a debit removes only available units, and a repetition returns the stored result', async () => {
  await credit('a', 500)
  await expect(credit('b', -501)).rejects.toThrow(InsufficientBalanceError)
  const taken = await credit('c', -400)
  expect(taken).toMatchObject({ before: 500, after: 100 })
  expect(await credit('c', -400)).toEqual(taken)
  expect((await loadOne(ledger(), 1)).state.buckets[0]).toMatchObject({ credited: 100, free: 100 })
})

it('a credit repays debt first', async () => {
  await ledger().commit([writing({ ...ownerOf(1, 1, []), owed: 300 })], NOW_MS)
  expect(await credit('a', 200)).toMatchObject({ repaid: 200, after: 0 })
  expect(await credit('b', 200)).toMatchObject({ repaid: 100, after: 100 })
  const { state } = await loadOne(ledger(), 1)
  expect(state).toMatchObject({ owed: 300, repaid: 300 })
  expect(state.buckets[0]).toMatchObject({ credited: 400, spent: 300, free: 100 })
})

it('a credit to a shared bucket goes to the account', async () => {
  await credit('a', 900, 0, SHARED_DATA)
  await credit('b', 100, 0, SHARED_DATA)
  expect((await loadOne(ledger(), 0)).state).toMatchObject({
    version: 2,
    buckets: [{ free: 1000 }],
  })
})

it('operations succeed under live traffic, and both stay exact', async () => {
  await seed(ledger(), 1, 1_000_000)
  const charger = await openLedger(redis().url)
  let isOver = false
  let charged = 0
  const charging = (async () => {
    while (!isOver) {
      const { state } = await loadOne(charger, 1)
      const [first, ...rest] = state.buckets
      if (first === undefined) throw new Error('no bucket')
      const spent = { ...first, spent: first.spent + 1, free: first.free - 1 }
      const next = { ...state, version: state.version + 1, buckets: [spent, ...rest] }
      const [reply] = await charger.commit([writing(next)], NOW_MS)
      if (reply?.kind === 'committed') charged += 1
    }
  })()
  for (let index = 0; index < 100; index += 1) await credit(`live-${index}`, 10)
  // On a busy machine each of its commits may have lost to a credit.
  await expect.poll(() => charged).toBeGreaterThan(0)
  isOver = true
  await charging
  const [first] = (await loadOne(ledger(), 1)).state.buckets
  expect(first).toMatchObject({ credited: 1_001_000, spent: charged, free: 1_001_000 - charged })
  await charger.close()
})

it('operations wait no longer than a back-off hint lasts', async () => {
  await seed(ledger(), 1, 1000)
  const gone = await openLedger(redis().url)
  const stale = writing(ownerOf(1, 1, [bucketOf(1000)]), { backoffHintMs: 50 })
  const [conflict] = await gone.commit([stale], NOW_MS)
  expect(conflict?.kind).toBe('conflict')
  await gone.close()
  expect(await credit('a', 1)).toMatchObject({ after: 1001 })
})

describe('other operations', () => {
  const identity = (operationId: string, sid = 1) => ({ operationId, aid: 1, sid })
  const run = (operation: CreditOperation) =>
    creditBucket(ledger(), operation, { attemptsMax: 20 }, NOW_MS)
  const setTo = (operationId: string, amount: number, more: Partial<Credit> = {}) => {
    const validity = { fromMs: 0, toMs: FOREVER_MS, mode: 'set' as const }
    const include = includes.get(MONEY) as PrepaidInclude
    return run({ ...identity(operationId), include, amount, ...validity, ...more })
  }

  it('set the available amount, once, regardless of the amount when repeated', async () => {
    await credit('a', 500)
    const first = await setTo('b', 80)
    expect(first).toMatchObject({ operation: 'set', amount: -420, asked: 80, after: 80 })
    await credit('c', 5)
    expect(await setTo('b', 80)).toEqual(first)
    await expect(setTo('b', 81)).rejects.toThrow(OperationReusedError)
    await expect(credit('b', -420)).rejects.toThrow(OperationReusedError)
    expect((await loadOne(ledger(), 1)).state.buckets[0]).toMatchObject({ credited: 85, free: 85 })
  })

  it('credit no more than a limit, and return by how much less', async () => {
    const first = await setTo('a', 500, { mode: 'inc', freeMax: 300 })
    expect(first).toMatchObject({ amount: 300, asked: 500, normalized: 200, after: 300 })
    expect(await setTo('a', 500, { mode: 'inc', freeMax: 300 })).toEqual(first)
    await expect(setTo('a', 300, { mode: 'inc' })).rejects.toThrow(OperationReusedError)
    await expect(setTo('a', 500, { mode: 'new' })).rejects.toThrow(OperationReusedError)
  })

  it('close a bucket once; it cannot be credited again', async () => {
    await credit('a', 500)
    const close = { ...identity('b'), mode: 'close', bucketId: 1 } as const
    const first = await run(close)
    expect(first).toMatchObject({ operation: 'close', amount: -500, after: 0, bucketId: 1 })
    expect(await run(close)).toEqual(first)
    await expect(run({ ...close, operationId: 'c' })).rejects.toThrow(UnknownBucketError)
    await expect(run({ ...close, mode: 'transfer_out' })).rejects.toThrow(OperationReusedError)
    await expect(run({ ...close, bucketId: 2 })).rejects.toThrow(OperationReusedError)
    expect(await credit('d', 7)).toMatchObject({ bucketId: 2, after: 7 })
  })

  it('transfer credit and counters from one owner to another', async () => {
    await credit('a', 500)
    const out = { ...identity('o'), mode: 'transfer_out', bucketId: 1 } as const
    const left = await run(out)
    expect(await run(out)).toEqual(left)
    const [bucket] = (await loadOne(ledger(), 1)).state.buckets
    if (bucket === undefined) throw new Error('no bucket')
    const into = { mode: 'transfer_in', terms: bucket, amount: 500, counted: 0 } as const
    const arrived = await run({ ...identity('i', 2), ...into })
    expect(arrived).toMatchObject({ amount: 500, after: 500, sid: 2 })
    expect(await run({ ...identity('i', 2), ...into })).toEqual(arrived)
    const other = { ...identity('i', 2), ...into, amount: 400 }
    await expect(run(other)).rejects.toThrow(OperationReusedError)
    const terms = bucketOf(0, { counter: 'credit', limit: 900 })
    const counter = { ...identity('k', 2), ...into, terms, amount: 0 }
    const counted = await run({ ...counter, counted: 70 })
    expect(counted).toMatchObject({ counter: 'credit', limit: 900, counted: 70, after: -70 })
    // The counter has advanced in between.
    expect(await run({ ...counter, counted: 90 })).toEqual(counted)
    const free = async (sid: number) =>
      (await loadOne(ledger(), sid)).state.buckets.map((one) => one.free)
    expect([await free(1), await free(2)]).toEqual([[0], [500, -70]])
  })

  it('store the note of the operation', async () => {
    const note = {
      ...({ chargingType: 'Secret', sourceRef: 'card', parentRef: 'op-1-p' } as const),
      additional: { reason: 'gift', of: [1, { a: null }] },
    }
    const heading = { ...identity('h'), mode: 'heading', note } as const
    const first = await run(heading)
    expect(first).toMatchObject({ bucketId: 0, amount: 0, version: 1, ...note })
    expect(await run(heading)).toEqual(first)
    const other = { ...heading, note: { ...note, sourceRef: 'another' } }
    await expect(run(other)).rejects.toThrow(OperationReusedError)
  })
})

it('a failed operation reports its cause', async () => {
  await ledger().redis.client.hset(ledger().keys.account(1), stateField(1), 'damage')
  await expect(credit('a', 1)).rejects.toThrow(CorruptValueError)
  await emptyLedger(ledger())
  await ledger().redis.client.set(ledger().keys.stream(1), 'of another type')
  await expect(credit('a', 1)).rejects.toThrow(CorruptValueError)
  await emptyLedger(ledger())
  // Another node always commits first.
  const load: ReturnType<typeof ledger>['load'] = async (expected) => {
    const loaded = await ledger().load(expected)
    await ledger().commit([writing(ownerOf(1, version + 1, []))], NOW_MS)
    version += 1
    return loaded
  }
  let version = 0
  await expect(credit('a', 1, 1, MONEY, { ...ledger(), load })).rejects.toThrow(ContentionError)
})
