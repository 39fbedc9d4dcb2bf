import { beforeEach, describe, expect, it } from 'vitest'
import { balanceIdOf } from '../../../src/catalog/records/usage/balance-id.ts'
import { FOREVER_MS } from '../../../src/domain/time.ts'
import type { LiveBalance } from '../../../src/prepaid/balances/live.ts'
import { type BalanceUpdate, updateBalance } from '../../../src/prepaid/balances/update.ts'
import { EntityRuleError } from '../../../src/requests/errors.ts'
import { insertEntity } from '../../support/catalog/store.ts'
import { readTable } from '../../support/domain/table.ts'
import { useOpened } from '../../support/opened.ts'
import {
  AID,
  dyingAfter,
  NOW_MS,
  openBalanceFixture,
  SID,
  seedCatalogue,
  seedChargingPlan,
} from '../../support/prepaid/balances/balance-fixture.ts'
import { commitOwner } from '../../support/recorder/accounts.ts'

let calls = 0

const scene = useOpened(openBalanceFixture)
beforeEach(async () => {
  await scene().clear()
  await seedCatalogue(scene())
})

const update = (
  query: Record<string, unknown>,
  change: Record<string, unknown> = {},
  more: Partial<BalanceUpdate> = {},
) => {
  calls += 1
  return updateBalance(scene(), { query, update: change, operationId: `call-${calls}`, ...more })
}
const money = (value: unknown, change: Record<string, unknown> = {}) =>
  update({ sid: SID, pp_includes_external_id: 1 }, { value, ...change })
const free = async (sid = SID) => (await scene().owner(sid)).buckets.map((one) => one.free)

describe('loading a prepaid include', () => {
  it('credits a negative value, and returns the balance and the line', async () => {
    const { details, entity, line } = await money('-12.5', { additional: { by: 'shop' } })
    const id = balanceIdOf({ aid: AID, sid: SID, bucketId: 1 })
    expect(details).toBe(true)
    expect(entity).toMatchObject({
      aid: AID,
      sid: SID,
      pp_includes_name: 'MONEY',
      balance: { cost: -12.5 },
      to: new Date('2026-12-21T23:59:59Z'),
    })
    expect(String((entity as LiveBalance)._id)).toBe(id)
    expect(line).toMatchObject({
      type: 'balance',
      source: 'billapi',
      usaget: 'balance',
      operation: 'inc',
      charging_type: 'Prepaidinclude',
      balance_ref: id,
      pp_includes_name: 'MONEY',
      balance_before: 0,
      balance_after: -12.5,
      balance_normalized: 0,
      aprice: -12.5,
      additional: { by: 'shop' },
    })
  })

  it('is possible by its name alone, too; name and number must agree', async () => {
    await update({ sid: SID, pp_includes_name: 'DATA_PACK' }, { value: -100 })
    expect(await free()).toEqual([100])
    const both = { sid: SID, pp_includes_name: 'DATA_PACK', pp_includes_external_id: 1 }
    await expect(update(both, { value: -100 })).rejects.toThrow(
      'prepaid include 1 is MONEY, not DATA_PACK',
    )
  })

  it('credits once per operation id, and returns the same answer', async () => {
    const query = { sid: SID, pp_includes_external_id: 1 }
    const once = { operationId: 'once' }
    const first = await update(query, { value: -30 }, once)
    await money(-15)
    // A second load would be refused now.
    const second = await update(query, { value: -30 }, once)
    expect(second.line).toEqual(first.line)
    expect(await free()).toEqual([45_000_000])
    await expect(update(query, { value: -31 }, once)).rejects.toThrow(EntityRuleError)
  })

  it('sets balances, and opens new ones', async () => {
    await money(-10)
    expect((await money(-4, { operation: 'set' })).line).toMatchObject({ aprice: 6 })
    await money(-7, { operation: 'new' })
    expect(await free()).toEqual([4_000_000, 7_000_000])
    await money(0, { operation: 'set' })
    expect(await free()).toEqual([0, 7_000_000])
  })

  it.each([
    ['prepaid include', { pp_includes_external_id: 1 }],
    ['charging plan', { charging_plan_name: 'TOPUP' }],
  ])('of a %s begins at the start of the second', async (_, named) => {
    await seedChargingPlan(scene(), [{ pp_includes_external_id: 1, total_cost: -5 }])
    const clock = { ...scene().clock, nowMs: () => NOW_MS + 700 }
    calls += 1
    const call = { query: { sid: SID, ...named }, update: { value: -5 } }
    await updateBalance({ ...scene(), clock }, { ...call, operationId: `call-${calls}` })
    const { buckets } = await scene().owner(SID)
    expect(buckets.length).toBeGreaterThan(0)
    for (const { fromMs } of buckets) expect(fromMs).toBe(NOW_MS)
  })

  it('of an account loads a shared balance', async () => {
    const { entity } = await update({ aid: AID, pp_includes_external_id: 3 }, { value: -5 })
    expect(entity).toMatchObject({ aid: AID, sid: 0, shared: true })
    expect(await free(0)).toEqual([5])
  })
})

/**
 * The available credit before, in units of money; the request; the available credit after, or the
 * refusal.
 */
const REFUSALS = readTable(`
  | case                                 | first | operation | value      | free     |
  |--------------------------------------|-------|-----------|------------|----------|
  | debits what is available             | -10   | inc       | 10         | 0        |
  | debits more than that                | -10   | inc       | 10.01      | refused  |
  | credits up to the limit              | -10   | inc       | -40        | 50000000 |
  | credits beyond the limit of the plan | -10   | inc       | -40.000001 | refused  |
  | sets beyond the limit                | -10   | set       | -50.5      | refused  |
  | sets below zero                      | -10   | set       | 1          | refused  |
  | sets to the limit                    | -10   | set       | -50        | 50000000 |
`)

describe('limits', () => {
  it.each(REFUSALS)('$case', async ({ first, operation, value, free: expected }) => {
    await money(first)
    const { details, entity, line } = await money(value, { operation })
    const isRefused = expected === 'refused'
    expect(details).toBe(!isRefused)
    if (isRefused) expect([entity, line]).toEqual([null, null])
    expect(await free()).toEqual([isRefused ? 10_000_000 : Number(expected)])
  })

  it('do not apply to unlimited includes, which never end', async () => {
    const query = { sid: SID, pp_includes_external_id: 4, expiration_date: '2026-12-01' }
    const { entity } = await update(query, { value: -1000 })
    expect(entity).toMatchObject({ unlimited: true, to: new Date(FOREVER_MS) })
  })

  it('reduce concurrent loads, and the line shows the credited amount', async () => {
    const both = await Promise.all([money(-30), money(-30), money(-30)])
    expect((await free()).every((one) => one <= 50_000_000)).toBe(true)
    const moved = both.reduce((sum, { line }) => sum - (line?.aprice ?? 0), 0)
    expect(await free()).toEqual([moved * 1_000_000])
  })
})

describe('the end of a loaded balance', () => {
  it.each([
    ['2026-12-24', '2026-12-24T00:00:00Z'],
    [1_798_761_600, '2027-01-01T00:00:00Z'],
    ['1798761600', '2027-01-01T00:00:00Z'],
    [new Date('2027-05-01T10:00:00Z'), '2027-05-01T10:00:00Z'],
  ])('%s', async (expiration_date, to) => {
    const query = { sid: SID, pp_includes_external_id: 1, expiration_date }
    const { entity } = await update(query, { value: -1 })
    expect(entity).toMatchObject({ to: new Date(to) })
  })

  it('is the end of a day one month later by default, in the default zone', async () => {
    const rating = { ...scene().config.rating, timeZone: 'Asia/Tokyo' }
    const deps = { ...scene(), config: { ...scene().config, rating } }
    deps.clock.set(Date.UTC(2027, 0, 30, 15))
    const query = { sid: SID, pp_includes_external_id: 1 }
    const { entity } = await updateBalance(deps, { query, update: { value: -1 }, operationId: 'z' })
    // In this zone it is the 31st already; February ends with the 28th.
    expect(entity).toMatchObject({ to: new Date('2027-02-28T14:59:59Z') })
  })
})

describe('a single balance', () => {
  const one = (bucketId: number, more: Record<string, unknown> = {}) => ({
    _id: balanceIdOf({ aid: AID, sid: SID, bucketId }),
    ...more,
  })

  it('is addressed by its id before everything else', async () => {
    await money(-1)
    await money(-2, { operation: 'new' })
    const { line } = await update(one(2, { pp_includes_external_id: 4 }), { value: -3 })
    expect(line).toMatchObject({ charging_type: 'Id', bucket_id: 2, balance_after: -5 })
    expect(await free()).toEqual([1_000_000, 5_000_000])
    expect((await update(one(1), { value: -60 })).details).toBe(false)
  })

  it('must exist, and be credit of the owner that the query names', async () => {
    await money(-1)
    await expect(update(one(2), { value: -1 })).rejects.toThrow('there is no balance')
    await expect(update({ _id: 'x' }, { value: -1 })).rejects.toThrow('there is no balance x')
    await expect(update(one(1, { sid: 19 }), { value: -1 })).rejects.toThrow('is not one of sid 19')
  })
})

describe('a load is refused with a reason', () => {
  it.each([
    [{}, {}, 'query must name a balance'],
    [
      { pp_includes_external_id: 1 },
      { value: -1 },
      'MONEY belongs to a subscriber: sid is missing',
    ],
    [{ sid: SID, pp_includes_external_id: 3 }, { value: -1 }, 'aid is missing'],
    [{ sid: SID, pp_includes_external_id: 9 }, { value: -1 }, 'there is no prepaid include 9 now'],
    [{ sid: 77, pp_includes_external_id: 1 }, { value: -1 }, 'there is no subscriber 77 now'],
    [
      { sid: SID, aid: 5, pp_includes_external_id: 1 },
      { value: -1 },
      'belongs to account 17, not 5',
    ],
    [{ sid: SID, pp_includes_external_id: 1 }, {}, 'value is missing'],
    [{ sid: SID, pp_includes_external_id: 1 }, { value: 'x' }, 'value must be a decimal'],
    [{ sid: SID, pp_includes_external_id: 1 }, { value: -1e-7 }, 'at most 6 digits'],
    [{ sid: SID, pp_includes_external_id: 2 }, { value: -1.5 }, 'value must be an integer'],
    [{ sid: SID, pp_includes_external_id: 1 }, { value: -1, operation: 'x' }, 'operation must be'],
    [{ sid: SID, charging_plan: 'NONE' }, {}, 'there is no charging plan NONE now'],
    [
      { sid: SID, pp_includes_external_id: 1, expiration_date: '2026-01-01' },
      { value: -1 },
      'expiration_date must lie in the future',
    ],
    [
      { sid: SID, pp_includes_external_id: 1, expiration_date: 'soon' },
      { value: -1 },
      'expiration_date must be a date',
    ],
  ])('%j %j', async (query, change, text) => {
    const refused = update(query, change)
    await expect(refused).rejects.toThrow(EntityRuleError)
    await expect(refused).rejects.toThrow(text)
    expect((await scene().owner(SID)).buckets).toEqual([])
  })
})

describe('a charging plan', () => {
  const entry = (id: number, amount: Record<string, unknown>, more = {}) => ({
    pp_includes_external_id: id,
    operation: 'default',
    ...amount,
    ...more,
  })

  beforeEach(() =>
    seedChargingPlan(scene(), [
      entry(1, { cost: -20 }, { period: { duration: 30, unit: 'days' } }),
      entry(2, { usagev: -100 }, { operation: 'set', period: { duration: 2, unit: 'weeks' } }),
      { pp_includes_name: 'FAMILY_DATA', value: '-7' },
    ]),
  )

  it('loads all its buckets, with a line above theirs', async () => {
    const query = { aid: AID, sid: SID, charging_plan_name: 'TOPUP' }
    const { details, entity, line } = await update(query, {}, { operationId: 'top' })
    expect(details).toBe(true)
    expect(entity).toMatchObject([
      { pp_includes_name: 'MONEY', sid: SID, to: new Date('2026-12-21T23:59:59Z') },
      { pp_includes_name: 'DATA_PACK', sid: SID, to: new Date('2026-12-05T23:59:59Z') },
      { pp_includes_name: 'FAMILY_DATA', sid: 0, balance: { totals: { data: { usagev: -7 } } } },
    ])
    expect(line).toMatchObject({
      charging_type: 'Chargingplan',
      source_ref: 'TOPUP',
      bucket_id: 0,
      aprice: 0,
      stamp: 'op-17-top',
    })
    expect(line).not.toHaveProperty('balance_ref')
    for (const [index, operation] of ['inc', 'set', 'inc'].entries()) {
      const part = await scene().ledger.findOperation(AID, `top/${index + 1}`)
      expect(part).toMatchObject({ operation, parentRef: 'op-17-top', sourceRef: 'TOPUP' })
    }
  })

  it('repays the debt of each owner that it loads money for', async () => {
    const family = { external_id: 5, name: 'FAMILY_MONEY', shared: true, from: '2026-01-01' }
    const kind = { charging_by: 'total_cost', charging_by_usaget: 'total_cost', priority: 1 }
    await insertEntity(scene().catalog, 'prepaidincludes', { ...family, ...kind })
    const include = [entry(1, { cost: -20 }), { pp_includes_name: 'FAMILY_MONEY', value: '-9' }]
    await seedChargingPlan(scene(), include, { name: 'BOTH' })
    for (const [sid, owed] of [
      [SID, 3],
      [0, 4],
    ] as const) {
      const state = await scene().owner(sid)
      const owing = { ...state, owed: owed * 1_000_000, version: state.version + 1 }
      await commitOwner(scene().ledger, owing, [])
    }
    const { entity } = await update({ aid: AID, sid: SID, charging_plan_name: 'BOTH' })
    expect(entity).toMatchObject([
      { sid: SID, free: 17_000_000, debt: 0 },
      { sid: 0, free: 5_000_000, debt: 0 },
    ])
  })

  it('that is repeated loads nothing twice', async () => {
    const query = { aid: AID, sid: SID, charging_plan: 'TOPUP' }
    const call = { operationId: 'top' }
    const first = await update(query, {}, call)
    // Results of the buckets may be forgotten earlier than that of the heading.
    await scene().ledger.redis.client.del(scene().ledger.keys.operation(AID, 'top/3'))
    const again = await update(query, {}, call)
    expect(again.line).toEqual(first.line)
    expect(await free()).toEqual([20_000_000, 100])
    expect(await free(0)).toEqual([7])
  })

  it('whose process dies loads all its buckets or none', async () => {
    const query = { aid: AID, sid: SID, charging_plan: 'TOPUP' }
    const call = { query, update: {}, operationId: 'top' }
    const dying = { ...scene(), ledger: dyingAfter(scene().ledger, 0) }
    await expect(updateBalance(dying, call)).rejects.toThrow('died')
    expect([await free(), await free(0)]).toEqual([[], []])
    await updateBalance({ ...scene(), ledger: dyingAfter(scene().ledger, 1) }, call)
    expect([await free(), await free(0)]).toEqual([[20_000_000, 100], [7]])
  })

  it('loads all or nothing', async () => {
    await money(-40)
    const query = { aid: AID, sid: SID, charging_plan: 'TOPUP' }
    expect(await update(query)).toMatchObject({ details: false, entity: null, line: null })
    await expect(update({ sid: SID, charging_plan: 'TOPUP' })).rejects.toThrow('aid is missing')
    expect(await free()).toEqual([40_000_000])
    expect(await free(0)).toEqual([])
  })

  it('uses the request for what it leaves open, and its own period', async () => {
    const more = { name: 'OPEN', operation: 'new' }
    await seedChargingPlan(scene(), [entry(1, { total_cost: -1 })], more)
    await seedChargingPlan(scene(), [entry(1, { total_cost: -1 })], { name: 'OPENER' })
    const query = { sid: SID, expiration_date: '2026-12-01' }
    await update({ ...query, charging_plan: 'OPEN' }, { operation: 'set' })
    await update({ ...query, charging_plan: 'OPEN' })
    expect(await free()).toEqual([1_000_000, 1_000_000])
    await update({ ...query, charging_plan: 'OPENER' }, { operation: 'set' })
    expect(await free()).toEqual([1_000_000, 1_000_000])
    const [bucket] = (await scene().owner(SID)).buckets
    expect(bucket?.toMs).toBe(Date.UTC(2026, 11, 1))
  })

  it('must be valid now, and have amounts of its buckets', async () => {
    const ended = { name: 'ENDED', to: '2026-02-01' }
    await seedChargingPlan(scene(), [entry(1, { cost: -1 })], ended)
    await expect(update({ sid: SID, charging_plan: 'ENDED' })).rejects.toThrow('there is no')
    await seedChargingPlan(scene(), [entry(2, { usagev: -1.5 })], { name: 'HALF' })
    await expect(update({ sid: SID, charging_plan: 'HALF' })).rejects.toThrow(
      'include.0 of charging plan HALF must be an integer',
    )
    expect(NOW_MS).toBe(scene().clock.nowMs())
  })
})

it('with a limit that is not an amount is refused by its name', async () => {
  await insertEntity(scene().catalog, 'plans', { name: 'ODD', pp_threshold: { 1: 'much' } })
  await insertEntity(scene().catalog, 'subscribers', { sid: 30, aid: AID, plan: 'ODD' })
  await expect(update({ sid: 30, pp_includes_external_id: 1 }, { value: -1 })).rejects.toThrow(
    'pp_threshold.1 of plan ODD must be a decimal',
  )
})
