import { beforeEach, describe, expect, it } from 'vitest'
import { assertConserved, type OwnerState } from '../../../src/domain/bucket.ts'
import type { Ledger } from '../../../src/ledger/ledger.ts'
import { openSessionsOf } from '../../../src/ledger/open-sessions.ts'
import { type CreditOperation, creditBucket } from '../../../src/ledger/operations.ts'
import { releaseSession } from '../../../src/ledger/release.ts'
import {
  planTransfer,
  runTransfer,
  type TransferPlan,
} from '../../../src/prepaid/balances/transfer.ts'
import { bucketOf } from '../../support/ledger/fixture.ts'
import { useOpened } from '../../support/opened.ts'
import {
  dyingAfter,
  moveBuckets,
  NOW_MS,
  openBalanceFixture,
} from '../../support/prepaid/balances/balance-fixture.ts'
import { DATA_PACK, openSession, topUp } from '../../support/recorder/accounts.ts'

const SID = 18
const asked = { sid: SID, fromAid: 17, toAid: 40, operationId: 'move' }
const settings = { attemptsMax: 8 }
const DAY_MS = 86_400_000

const scene = useOpened(openBalanceFixture)
beforeEach(() => scene().clear())

const run = (operationId: string, operation: Record<string, unknown>) =>
  creditBucket(
    scene().ledger,
    { aid: 17, sid: SID, operationId, ...operation } as CreditOperation,
    settings,
    NOW_MS,
  )
const into = { mode: 'transfer_in', counted: 0 }
const COUNTER = bucketOf(0, {
  prepaidIncludeId: 0,
  kind: 'units',
  counter: 'group/GOLD/0/CALLS',
  limit: 600,
  fromMs: NOW_MS - DAY_MS,
  toMs: NOW_MS + DAY_MS,
})

/** A pack with a reservation, money, an expired bucket, a used-up bucket and a counter. */
async function seedBuckets(): Promise<void> {
  await topUp(scene().ledger, 17, SID, 100, 'a')
  await run('b', { ...into, terms: bucketOf(0, { toMs: NOW_MS + DAY_MS }), amount: 5_000 })
  await run('c', { ...into, terms: bucketOf(0, { toMs: NOW_MS - 1 }), amount: 70 })
  await run('d', { ...into, terms: bucketOf(0), amount: 0 })
  await run('e', { ...into, terms: COUNTER, amount: 0, counted: 45 })
  const identity = { aid: 17, sid: SID, origin: 'http', sessionId: 'open' }
  await openSession(scene().ledger, identity, 30, NOW_MS + 60_000)
}

const move = (ledger: Ledger = scene().ledger) => moveBuckets(ledger, asked, settings, NOW_MS)
const amounts = ({ buckets }: OwnerState) =>
  buckets.map(({ credited, spent, reserved, free }) => [credited, spent, reserved, free])

async function checkMoved(): Promise<void> {
  const [from, to] = [await scene().owner(SID, 17), await scene().owner(SID, 40)]
  assertConserved(from)
  assertConserved(to)
  expect(amounts(from)).toEqual([
    [30, 0, 30, 0],
    [0, 0, 0, 0],
    [70, 0, 0, 70],
    [0, 0, 0, 0],
    [0, 45, 0, -45],
  ])
  expect(amounts(to)).toEqual([
    [70, 0, 0, 70],
    [5_000, 0, 0, 5_000],
    [0, 45, 0, -45],
  ])
  expect(to.buckets[1]).toMatchObject({ toMs: NOW_MS + DAY_MS, prepaidIncludeId: 1 })
  expect(to.buckets[2]).toMatchObject({ counter: COUNTER.counter, fromMs: COUNTER.fromMs })
}

it('carries available units and counters; reserved and overdrawn units stay', async () => {
  await seedBuckets()
  const { lines } = await move()
  expect(lines.map(({ operation, amount, counted = 0 }) => [operation, amount, counted])).toEqual([
    ['transfer_in', 70, 0],
    ['transfer_in', 5_000, 0],
    ['transfer_in', 0, 45],
  ])
  await checkMoved()
  expect((await move()).lines).toHaveLength(2)
  await checkMoved()
})

describe('a transfer that stopped', () => {
  // Debit, credit and end of three buckets, one of which has nothing to credit, and the counter.
  it.each(Array.from({ length: 9 }, (_, writes) => writes))(
    'after %i writes is completed by repeating it',
    async (writes) => {
      await seedBuckets()
      const stopped = move(dyingAfter(scene().ledger, writes))
      await (writes < 8 ? expect(stopped).rejects.toThrow('died') : stopped)
      await move()
      await checkMoved()
    },
  )

  it('is completed from its stored plan, although other operations ran in between', async () => {
    await seedBuckets()
    const plan = await planTransfer(scene().ledger, asked)
    const noted = JSON.parse(JSON.stringify(plan)) as TransferPlan
    expect(noted).toEqual(plan)
    await expect(
      runTransfer(dyingAfter(scene().ledger, 1), noted, settings, NOW_MS),
    ).rejects.toThrow('died')
    await topUp(scene().ledger, 17, SID, 9, 'late')
    for await (const session of openSessionsOf(scene().ledger, { aid: 17, sid: SID })) {
      await releaseSession(scene().ledger, session, { attemptsMax: 8, replayMs: 1 }, NOW_MS)
    }
    await runTransfer(scene().ledger, noted, settings, NOW_MS)
    const [from, to] = [await scene().owner(SID, 17), await scene().owner(SID, 40)]
    // It was credited after the bucket was carried, so the transfer does not remove it.
    expect(from.buckets[0]).toMatchObject({ credited: 39, free: 39 })
    expect(amounts(to)[0]).toEqual([70, 0, 0, 70])
    await runTransfer(scene().ledger, { ...noted, operationId: 'rest' }, settings, NOW_MS)
    const sum = (await scene().owner(SID, 40)).buckets.reduce((all, { free }) => all + free, 0)
    expect(sum).toBe(70 + 39 + 5_000 - 45)
    expect((await scene().owner(SID, 17)).buckets[0]).toMatchObject({ credited: 0, free: 0 })
  })
})

it('carries what was planned, and skips what was deleted', async () => {
  await seedBuckets()
  const plan = await planTransfer(scene().ledger, asked)
  await run('deleted', { mode: 'close', bucketId: 2 })
  const fresh = { include: DATA_PACK, amount: 8, fromMs: NOW_MS, toMs: NOW_MS + 1, mode: 'new' }
  await run('fresh', fresh)
  await runTransfer(scene().ledger, plan, settings, NOW_MS)
  expect(amounts(await scene().owner(SID, 40))).toEqual([
    [70, 0, 0, 70],
    [0, 45, 0, -45],
  ])
})

it('does not take later credit, however often it is repeated', async () => {
  await seedBuckets()
  const plan = await planTransfer(scene().ledger, asked)
  await runTransfer(scene().ledger, plan, settings, NOW_MS)
  const back = { ...asked, fromAid: 40, toAid: 17, operationId: 'back' }
  await moveBuckets(scene().ledger, back, settings, NOW_MS)
  const before = await scene().owner(SID, 17)
  await runTransfer(scene().ledger, plan, settings, NOW_MS)
  expect((await scene().owner(SID, 17)).buckets).toEqual(before.buckets)
})

it('there and back restores the amounts, and counts usage once', async () => {
  await seedBuckets()
  await move()
  const back = { ...asked, fromAid: 40, toAid: 17, operationId: 'back' }
  await moveBuckets(scene().ledger, back, settings, NOW_MS)
  const from = await scene().owner(SID, 17)
  expect(from.buckets.filter(({ counter }) => counter !== '')).toMatchObject([{ spent: 45 }])
  const free = from.buckets.reduce((all, one) => all + Math.max(0, one.free), 0)
  expect(free).toBe(70 + 5_000 + 70)
})

it('to the same account moves nothing', async () => {
  await seedBuckets()
  const same = { ...asked, toAid: 17 }
  expect(await moveBuckets(scene().ledger, same, settings, NOW_MS)).toEqual({ lines: [] })
})
