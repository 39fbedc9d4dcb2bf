import { beforeEach, describe, expect, it } from 'vitest'
import { balanceIdOf, balanceObjectId } from '../../../src/catalog/records/usage/balance-id.ts'
import { creditBucket } from '../../../src/ledger/operations.ts'
import { type BalancePage, findBalances } from '../../../src/prepaid/balances/find.ts'
import { debtWhere } from '../../../src/recorder/gauges.ts'
import { EntityRuleError } from '../../../src/requests/errors.ts'
import { bucketOf } from '../../support/ledger/fixture.ts'
import { useOpened } from '../../support/opened.ts'
import {
  AID,
  NOW_MS,
  openBalanceFixture,
  SID,
  seedCatalogue,
} from '../../support/prepaid/balances/balance-fixture.ts'
import { commitOwner } from '../../support/recorder/accounts.ts'

const DAY_MS = 86_400_000
const FAR_AID = 2 ** 41

const scene = useOpened(openBalanceFixture)
beforeEach(async () => {
  await scene().clear()
  await seedCatalogue(scene())
  await put(AID, SID, 1, 10)
  await put(AID, SID, 2, 20, { kind: 'units', usaget: 'data', toMs: NOW_MS })
  await put(AID, 19, 1, 30, { fromMs: NOW_MS, toMs: NOW_MS + DAY_MS })
  await put(AID, 0, 3, 40, { kind: 'units', usaget: 'data' })
  await put(FAR_AID, 70, 1, 50)
})

/** Opens a bucket; the buckets of an owner have different definitions. */
async function put(aid: number, sid: number, include: number, amount: number, more = {}) {
  const terms = bucketOf(0, { prepaidIncludeId: include, ...more })
  const identity = { aid, sid, operationId: `put-${sid}-${include}` }
  const operation = { mode: 'transfer_in', terms, amount, counted: 0 } as const
  await creditBucket(scene().ledger, { ...operation, ...identity }, { attemptsMax: 8 }, NOW_MS)
}

const PAGE: BalancePage = { sort: {}, skip: 0, limit: 100 }

/** Credited amounts, which identify the buckets. */
async function found(filter: Record<string, unknown>, page: Partial<BalancePage> = {}) {
  const { balances } = await findBalances(scene(), filter, { ...PAGE, ...page })
  return balances.map(({ credited }) => credited)
}

describe('finds balances of', () => {
  it.each([
    ['a subscriber', { sid: SID }, [10, 20]],
    ['some subscribers', { sid: { $in: [SID, 19] } }, [10, 20, 30]],
    ['an account, with what it shares', { aid: AID }, [40, 10, 20, 30]],
    ['what an account shares', { aid: AID, sid: 0 }, [40]],
    ['either', { $or: [{ sid: 19 }, { aid: AID, sid: 0 }] }, [40, 30]],
    ['both demands', { $and: [{ sid: SID }, { priority: 0 }], pp_includes_name: 'MONEY' }, [10]],
    ['nobody', { sid: { $in: [] } }, []],
    ['somebody else', { sid: 999 }, []],
    ['a wrong account', { aid: 1, sid: SID }, []],
  ] as const)('%s', async (_whom, filter, expected) => {
    expect(await found(filter)).toEqual(expected)
  })

  it('finds current balances', async () => {
    const now = new Date(NOW_MS)
    const current = { from: { $lte: now }, to: { $gt: now } }
    expect(await found({ sid: { $in: [SID, 19] }, ...current })).toEqual([10, 30])
    const ended = { sid: SID, to: { $lte: now } }
    expect(await found(ended)).toEqual([20])
  })

  it('finds one id, also if it has a hash, which the projection resolves', async () => {
    const place = { aid: AID, sid: SID, bucketId: 2 }
    expect(await found({ _id: balanceObjectId(place) })).toEqual([20])
    const far = { aid: FAR_AID, sid: 70, bucketId: 1 }
    expect(await found({ _id: balanceObjectId(far) })).toEqual([])
    await scene().project([FAR_AID, 70])
    expect(await found({ _id: { $in: [balanceObjectId(far)] } })).toEqual([50])
    expect(balanceIdOf(far)).toMatch(/^[89a-f]/)
  })
})

it('an expired balance has nothing available, and reports its forfeited amount', async () => {
  const { balances } = await findBalances(scene(), { sid: SID }, PAGE)
  expect(balances).toMatchObject([
    { free: 10, balance: { cost: -0.00001 } },
    { free: 0, lapsed: 20, credited: 20, balance: { totals: { data: { usagev: 0 } } } },
  ])
  expect(balances[0]).not.toHaveProperty('lapsed')
})

describe('debt', () => {
  /** Uncovered over-use, as settlement leaves it. */
  async function owe(sid: number, micros: number) {
    const state = await scene().owner(sid)
    await commitOwner(scene().ledger, { ...state, owed: micros, version: state.version + 1 }, [])
  }

  it('is on each balance of the owner that owes it', async () => {
    await owe(0, 600_000)
    const { balances } = await findBalances(scene(), { aid: AID }, PAGE)
    expect(balances.map(({ sid, debt }) => [sid, debt])).toEqual([
      [0, 0.6],
      [SID, 0],
      [SID, 0],
      [19, 0],
    ])
  })

  it('is an entry of its own if its owner has no balance', async () => {
    await owe(20, 5)
    await scene().project([AID, 20])
    const place = { aid: AID, sid: 20, bucketId: 0 }
    const shown = { sid: 20, bucket_id: 0, counter: 'debt', debt: 0.000005 }
    for (const filter of [{ aid: AID, sid: 20 }, { _id: balanceObjectId(place) }, { sid: 20 }]) {
      const { balances } = await findBalances(scene(), filter, PAGE)
      if ('sid' in filter && !('aid' in filter)) expect(balances).toEqual([])
      else expect(balances).toMatchObject([shown])
    }
    const { balances } = await findBalances(scene(), { counter: 'debt' }, PAGE)
    expect(balances).toMatchObject([shown])
    expect(await debtWhere(scene().catalog, { sid: { $gt: 0 } })).toMatchObject({
      micros: 5,
      owners: 1,
    })
    expect(await debtWhere(scene().catalog, { sid: 0 })).toEqual({ micros: 0, owners: 0 })
  })
})

it('pages in the requested order', async () => {
  const page = { sort: { pp_includes_name: -1, to: 1 }, skip: 1, limit: 2 } as const
  expect(await found({ aid: AID }, { sort: page.sort })).toEqual([30, 10, 40, 20])
  expect(await found({ aid: AID }, page)).toEqual([10, 40])
  const { hasMore } = await findBalances(scene(), { aid: AID }, page)
  expect(hasMore).toBe(true)
  const last = await findBalances(scene(), { aid: AID }, { ...page, skip: 2 })
  expect(last.hasMore).toBe(false)
})

describe('finds balances without an owner', () => {
  beforeEach(() => scene().project([AID, SID], [AID, 19], [AID, 0], [FAR_AID, 70]))

  it.each([
    [{}, {}, [40, 10, 20, 30, 50]],
    [{ pp_includes_external_id: 1 }, {}, [10, 30, 50]],
    [{ sid: 0 }, {}, [40]],
    [{ pp_includes_name: { $regex: '^include_[12]$', $options: 'i' } }, {}, []],
    [{ pp_includes_name: { $regex: '^mon', $options: 'i' } }, {}, [10, 30, 50]],
    [{}, { sort: { to: 1 }, skip: 1, limit: 2 }, [30, 40]],
  ] as const)('%j, %j', async (filter, page, expected) => {
    expect(await found(filter, page)).toEqual(expected)
  })

  it('finds the state of the ledger, not the recorded one', async () => {
    const close = { mode: 'close', bucketId: 1, aid: AID, sid: 19, operationId: 'x' } as const
    await creditBucket(scene().ledger, close, { attemptsMax: 8 }, NOW_MS)
    await put(AID, SID, 9, 1)
    const { balances } = await findBalances(scene(), {}, PAGE)
    expect(balances.map(({ credited }) => credited)).toEqual([40, 10, 20, 50])
    expect(balances[1]?.v).toBe(3)
    expect((await findBalances(scene(), {}, { ...PAGE, limit: 2 })).hasMore).toBe(true)
    expect((await findBalances(scene(), {}, { ...PAGE, limit: 4 })).hasMore).toBe(false)
  })

  it('refuses an expression that might never terminate', async () => {
    const filter = { pp_includes_name: { $regex: '(a+)+(?=b)' } }
    await expect(found(filter)).rejects.toThrow(EntityRuleError)
  })
})
