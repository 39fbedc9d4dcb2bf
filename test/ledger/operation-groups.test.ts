/** Several operations on the buckets of one account, committed as a whole. */
import { beforeEach, describe, expect, it } from 'vitest'
import { InsufficientBalanceError } from '../../src/domain/credit.ts'
import { FOREVER_MS } from '../../src/domain/time.ts'
import {
  type CreditOperation,
  creditBucket,
  creditBuckets,
  OperationReusedError,
} from '../../src/ledger/operations.ts'
import { streamBacklog } from '../../src/ledger/streams.ts'
import { loadOne, openLedger } from '../support/ledger/fixture.ts'
import { emptyLedger } from '../support/ledger.ts'
import { useOpened } from '../support/opened.ts'
import { startTestRedis } from '../support/redis.ts'
import { includes, MONEY, NOW_MS, SHARED_DATA } from '../support/workers/processor-fixture.ts'

const redis = useOpened(() => startTestRedis({ appendfsync: 'everysec' }))
const ledger = useOpened(() => openLedger(redis().url))
beforeEach(() => emptyLedger(ledger()))

const SETTINGS = { attemptsMax: 50 }

function part(operationId: string, amount: number, sid = 1, includeId = MONEY): CreditOperation {
  const include = includes.get(includeId)
  if (include === undefined) throw new Error('no include')
  const validity = { fromMs: 0, toMs: FOREVER_MS }
  return { operationId, aid: 1, sid, include, amount, ...validity, mode: 'inc' }
}

function load(operationId: string, parts: readonly CreditOperation[], by = ledger()) {
  const heading = { operationId, aid: 1, sid: 1, note: { sourceRef: 'PLAN' } }
  return creditBuckets(by, { heading, parts }, SETTINGS, NOW_MS)
}

const topUp = (id: string) => [part(`${id}/1`, 500), part(`${id}/2`, 70, 0, SHARED_DATA)]
const sums = async () => {
  const [own, shared] = [await loadOne(ledger(), 1), await loadOne(ledger(), 0)]
  return [own, shared].map(({ state }) => state.buckets.map(({ free }) => free))
}

describe('a group', () => {
  it('credits all its buckets, of the subscriber and of its account, in one commit', async () => {
    const [head, ...parts] = await load('a', topUp('a'))
    expect(head).toMatchObject({ operation: 'heading', operationId: 'a', bucketId: 0, version: 1 })
    expect(parts).toMatchObject([
      { operationId: 'a/1', sid: 1, amount: 500, after: 500, version: 1 },
      { operationId: 'a/2', sid: 0, amount: 70, after: 70, version: 1 },
    ])
    expect(await sums()).toEqual([[500], [70]])
    expect(
      await ledger().redis.client.xlen(ledger().keys.stream(ledger().keys.partitionOf(1))),
    ).toBe(1)
    expect(await streamBacklog(ledger())).toBe(1)
    for (const line of [head, ...parts]) {
      expect(await ledger().findOperation(1, String(line?.operationId))).toEqual(line)
    }
  })

  it('raises the version of an owner once, and its lines have the final terms', async () => {
    const early = { ...part('a/1', 5), toMs: NOW_MS + 1 }
    const lines = await load('a', [early, part('a/2', 7)])
    const { state } = await loadOne(ledger(), 1)
    expect(state).toMatchObject({ version: 1, buckets: [{ free: 12, toMs: FOREVER_MS }] })
    expect(lines.map(({ version, toMs }) => [version, toMs])).toEqual([
      [1, NOW_MS],
      [1, FOREVER_MS],
      [1, FOREVER_MS],
    ])
    expect(lines.map(({ before, after }) => [before, after])).toEqual([
      [0, 0],
      [0, 5],
      [5, 12],
    ])
  })

  it('credits nothing if one of its buckets cannot be credited', async () => {
    await creditBucket(ledger(), part('first', 10), SETTINGS, NOW_MS)
    const tooMuch = [part('a/1', 500, 0, SHARED_DATA), part('a/2', -11)]
    await expect(load('a', tooMuch)).rejects.toThrow(InsufficientBalanceError)
    expect(await sums()).toEqual([[10], []])
    expect(await ledger().findOperation(1, 'a')).toBeNull()
    expect(await ledger().findOperation(1, 'a/1')).toBeNull()
  })

  it('is executed once under its id, by many processes at once', async () => {
    const others = await Promise.all([1, 2, 3].map(() => openLedger(redis().url)))
    const results = await Promise.all(
      Array.from({ length: 30 }, (_, index) => load('b', topUp('b'), others[index % 3])),
    )
    expect(new Set(results.map((lines) => JSON.stringify(lines))).size).toBe(1)
    expect(await sums()).toEqual([[500], [70]])
    await Promise.all(others.map((one) => one.close()))
  })

  it('is not executed if one of its ids was used before', async () => {
    await load('a', topUp('a'))
    await expect(creditBucket(ledger(), part('a', 1), SETTINGS, NOW_MS)).rejects.toThrow(
      OperationReusedError,
    )
    await creditBucket(ledger(), part('c/2', 1), SETTINGS, NOW_MS)
    await expect(load('c', topUp('c'))).rejects.toThrow(OperationReusedError)
    expect(await sums()).toEqual([[501], [70]])
  })
})
