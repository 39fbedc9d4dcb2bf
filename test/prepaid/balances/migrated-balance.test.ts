/** Balances of the replaced system become credit, or counters of the current period. */
import { describe, expect, it } from 'vitest'
import { readCatalogue } from '../../../src/catalog/feed/read-catalogue.ts'
import { FOREVER_MS } from '../../../src/domain/time.ts'
import { type MigratedPart, migratedParts } from '../../../src/prepaid/balances/migrated-balance.ts'
import { insertEntity } from '../../support/catalog/store.ts'
import { useMade, useOpened } from '../../support/opened.ts'
import {
  AID,
  openBalanceFixture,
  SID,
  seedCatalogue,
} from '../../support/prepaid/balances/balance-fixture.ts'

const FROM = { from: '2026-01-01' }
const PACK = 1_700_000_000_000_001
const group = (value: number, more: object = {}) => ({
  ...{ value, usage_types: { call: { unit: 'seconds' } }, rates: 'ALL_RATES' },
  ...more,
})
const service = (name: string, groups: object, more: object = {}) =>
  insertEntity(scene().catalog, 'services', { ...FROM, name, include: { groups }, ...more })

const scene = useOpened(openBalanceFixture)
const stores = useMade(async () => {
  await seedCatalogue(scene())
  const { catalog } = scene()
  await insertEntity(catalog, 'plans', {
    ...{ ...FROM, name: 'POSTPAID', connection_type: 'postpaid' },
    include: {
      groups: {
        CALLS: group(100),
        SHARED: group(500, { account_shared: true }),
        MONEY: { cost: 10, rates: 'ALL_RATES' },
      },
    },
  })
  await service('MORE', { CALLS: group(50) })
  await service('WEEK', { WEEKLY: group(70) }, { balance_period: '+1 weeks' })
  const entry = { from: new Date('2026-11-18'), quantity: 1 }
  await insertEntity(catalog, 'subscribers', {
    ...{ sid: 20, aid: AID, plan: 'POSTPAID' },
    services: [
      { ...entry, name: 'MORE', service_id: 1, to: new Date('2170-01-01') },
      { ...entry, name: 'WEEK', service_id: PACK, to: new Date('2026-11-25') },
    ],
  })
  const account = { type: 'account', aid: AID, sid: undefined, plan: undefined }
  await insertEntity(catalog, 'subscribers', { ...account, ...FROM })
  return { ...scene(), catalogue: await readCatalogue(catalog) }
})

/** The clock shows 2026-11-21. */
const prepaid = {
  ...{ aid: AID, sid: SID, from: '2026-11-01T00:00:00Z', to: '2026-12-31T23:59:59Z' },
  ...{ connection_type: 'prepaid', pp_includes_external_id: 1, balance: { cost: -12.5 } },
}
const cycle = { from: '2026-11-01T00:00:00Z', to: '2026-12-01T00:00:00Z' }
const counted = { aid: AID, sid: 20, ...cycle, connection_type: 'postpaid', priority: 0 }
const used = (usagev: number) => ({ balance: { groups: { CALLS: { usagev } } } })

const short = ({ terms, amount, counted: count, sid }: MigratedPart) => [
  terms.counter === '' ? terms.prepaidIncludeId : terms.counter,
  sid,
  amount === 0 ? count : amount,
]
const partsOf = async (row: object) => (await migratedParts({ ...row }, stores())).map(short)
const [fromMs, toMs] = [Date.UTC(2026, 10, 1), Date.UTC(2026, 11, 31, 23, 59, 59)]

describe('a prepaid balance', () => {
  it('is credit with its dates and priority', async () => {
    const [part] = await migratedParts({ ...prepaid, priority: 3 }, stores())
    expect(part).toMatchObject({
      ...{ mode: 'transfer_in', amount: 12_500_000, counted: 0, aid: AID, sid: SID },
      terms: { prepaidIncludeId: 1, kind: 'totalCost', priority: 3, fromMs, toMs, limit: 0 },
    })
  })

  it('that is unlimited never ends', async () => {
    const row = { ...prepaid, pp_includes_external_id: 4 }
    const [part] = await migratedParts(row, stores())
    expect(part?.terms.toMs).toBe(FOREVER_MS)
  })

  it.each([
    ['money with noise', { balance: { cost: -12.499999999999998 } }, [1, SID, 12_500_000]],
    [
      'units',
      { pp_includes_external_id: 2, balance: { totals: { data: { usagev: -1024 } } } },
      [2, SID, 1024],
    ],
    [
      'units of the account',
      { sid: 0, pp_includes_external_id: 3, balance: { totals: { data: { usagev: '-5' } } } },
      [3, 0, 5],
    ],
    ['credit of the future', { from: '2026-12-01T00:00:00Z' }, [1, SID, 12_500_000]],
  ])('has %s', async (_, more, expected) => {
    expect(await partsOf({ ...prepaid, ...more })).toEqual([expected])
  })

  it('that is empty is nothing', async () => {
    expect(await partsOf({ ...prepaid, balance: { cost: 0 } })).toEqual([])
  })

  it.each([
    [{ aid: 'x' }, 'aid must be an integer from 1 on'],
    [{ sid: -1 }, 'sid must be an integer from 0 on'],
    [{ from: null }, /^from must be a date/],
    [{ to: '2026-11-21T00:00:00Z' }, 'it has ended: its rest is forfeited'],
    [{ balance: [] }, 'balance must be an object'],
    [{ balance: {} }, 'balance.cost is missing'],
    [{ balance: { cost: 'much' } }, /^balance.cost must be a decimal/],
    [{ balance: { cost: 1 } }, 'balance.cost: more was used than credited'],
    [{ pp_includes_external_id: 99 }, 'there is no prepaid include 99 now'],
    [{ sid: 99 }, 'there is no subscriber 99 now'],
    [{ aid: 99 }, `subscriber ${SID} belongs to account ${AID}, not 99`],
    [{ charging_by: 'usagev' }, 'charging_by is usagev, that of MONEY is total_cost here'],
    [{ sid: 0, pp_includes_external_id: 1 }, 'MONEY belongs to a subscriber: sid is missing'],
    [{ sid: 0, aid: 99, pp_includes_external_id: 3 }, 'there is no account 99 now'],
    [
      { pp_includes_external_id: 2, balance: { totals: { data: { usagev: -1.5 } } } },
      'balance.totals.data.usagev must be an integer, is -1.5',
    ],
  ])('with %j is refused', async (more, text) => {
    await expect(migratedParts({ ...prepaid, ...more }, stores())).rejects.toThrow(text)
  })
})

describe('a postpaid balance', () => {
  it.each([
    ['of a plan', used(60), [['group/POSTPAID/0/CALLS', 20, 60]]],
    [
      'of a plan, then of a service with the same group',
      used(130),
      [
        ['group/POSTPAID/0/CALLS', 20, 100],
        ['group/MORE/1/CALLS', 20, 30],
      ],
    ],
    [
      'of all, and the excess',
      used(200),
      [
        ['group/POSTPAID/0/CALLS', 20, 100],
        ['group/MORE/1/CALLS', 20, 100],
      ],
    ],
    [
      'of money',
      { balance: { groups: { MONEY: { cost: 2.5 } } } },
      [['group/POSTPAID/0/MONEY', 20, 2_500_000]],
    ],
    [
      'of an account',
      { sid: 0, balance: { groups: { SHARED: { usagev: 9 } } } },
      [['group/POSTPAID/0/SHARED', 0, 9]],
    ],
    [
      'of a service with its own period',
      {
        ...{ from: '2026-11-18T00:00:00Z', to: '2026-11-25T00:00:00Z' },
        ...{
          service_name: 'WEEK',
          priority: PACK,
          balance: { cost: 1, groups: { WEEKLY: { usagev: 7 } } },
        },
      },
      [[`term/WEEK/${PACK}/WEEKLY`, 20, 7]],
    ],
    ['of credit', { balance: { cost: 3.5, groups: [] } }, [['credit', 20, 3_500_000]]],
    ['that is empty', { balance: { cost: 0, groups: [] } }, []],
  ])('is the counters %s', async (_, more, expected) => {
    expect(await partsOf({ ...counted, ...more })).toEqual(expected)
  })

  it('of a prepaid plan counts no credit', async () => {
    expect(await partsOf({ ...counted, sid: SID, balance: { cost: 3 } })).toEqual([])
  })

  it.each([
    [{ to: '2026-12-02T00:00:00Z' }, 'from and to must be those of the current cycle'],
    [{ sid: 99 }, `there is no subscriber 99 of account ${AID} now`],
    [{ aid: 99, sid: 0 }, 'account 99 has no subscriber now'],
    [{ balance: { groups: 'x' } }, 'balance.groups must be an object'],
    [{ balance: { groups: { NONE: {} } } }, 'balance.groups.NONE: no offer of subscriber 20'],
    [{ balance: { groups: { CALLS: { cost: 1 } } } }, 'balance.groups.CALLS.usagev is missing'],
    [{ balance: { groups: { CALLS: { usagev: -1 } } } }, /CALLS.usagev must not be below 0/],
  ])('with %j is refused', async (more, text) => {
    await expect(migratedParts({ ...counted, ...used(1), ...more }, stores())).rejects.toThrow(text)
  })
})
