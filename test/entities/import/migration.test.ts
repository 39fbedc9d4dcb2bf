/** Documents of the replaced system are kept: ids, numbers, dates and all revisions. */
import { describe, expect, it } from 'vitest'
import { insertEntity } from '../../support/catalog/store.ts'
import {
  insertAccounts,
  insertPlan,
  useImports,
} from '../../support/entities/import/import-fixture.ts'

const scene = useImports()
const id = (digits: number) => ({ $oid: digits.toString(16).padStart(24, '0') })
const at = (day: string) => ({ $date: `${day}T00:00:00Z` })
const day = (text: string) => new Date(text)
const END = at('2175-01-01')

const account = (number: number, more: object = {}) => ({
  _id: id(number),
  type: 'account',
  aid: 17,
  from: at('2026-01-01'),
  to: END,
  ...{ firstname: 'Ada', lastname: 'Byron', email: 'ada@example.org', country: 'UK' },
  ...{ address: '1 Mill Rd', zip_code: 'AB1' },
  ...more,
})
const subscriber = (number: number, more: object = {}) => ({
  _id: id(number),
  type: 'subscriber',
  ...{ sid: 18, aid: 100, plan: 'GOLD', from: at('2026-01-01'), to: END },
  ...{ firstname: 'Ada', lastname: 'Byron', address: '1 Mill Rd' },
  ...more,
})

async function customers(): Promise<void> {
  await insertPlan(scene.catalog())
  await insertAccounts(scene.catalog(), 1)
}

const subscribers = () =>
  scene.catalog().subscribers.find({ type: 'subscriber' }).sort({ from: 1 }).toArray()

describe('revisions', () => {
  const [first, second, third] = [
    subscriber(1, { to: at('2026-02-01'), plan: 'SILVER' }),
    subscriber(2, { from: at('2026-02-01'), to: at('2026-03-01') }),
    subscriber(3, { from: at('2026-03-01') }),
  ] as const

  it.each([
    ['in order', [[first, second, third]]],
    ['in another order', [[third, first, second]]],
    ['in several files', [[second], [third], [first]]],
  ])('have the derived dates of all of them, %s', async (_, files) => {
    await customers()
    await insertEntity(scene.catalog(), 'plans', { name: 'SILVER' })
    for (const rows of files) {
      const result = await scene.migrate('subscribers', rows)
      expect(result.failed, JSON.stringify(result.details)).toBe(0)
    }
    const all = { activation_date: day('2026-01-01'), deactivation_date: day('2175-01-01') }
    const gold = { ...all, plan_activation: day('2026-02-01'), former_plan: 'SILVER' }
    expect(await subscribers()).toMatchObject([
      { ...all, plan_activation: day('2026-01-01'), plan_deactivation: day('2026-02-01') },
      { ...gold, to: day('2026-03-01') },
      { ...gold, to: day('2175-01-01') },
    ])
  })

  it('keep when the plan began, if earlier ones are missing', async () => {
    await customers()
    const began = { activation_date: at('2024-01-01'), plan_activation: at('2025-01-01') }
    await scene.migrate('subscribers', [{ ...second, ...began, former_plan: 'OLD' }, third])
    const kept = {
      activation_date: day('2024-01-01'),
      plan_activation: day('2025-01-01'),
      former_plan: 'OLD',
    }
    expect(await subscribers()).toMatchObject([kept, kept])
  })

  it.each([
    ['overlaps one of the file', [first, { ...third, from: at('2026-01-15') }], 2],
    ['overlaps a stored one', [{ ...third, from: at('2026-01-15') }], 1],
  ])('is refused if it %s', async (what, rows, row) => {
    await customers()
    await insertEntity(scene.catalog(), 'plans', { name: 'SILVER' })
    if (what.includes('stored')) await scene.migrate('subscribers', [first])
    const { details } = await scene.migrate('subscribers', rows)
    expect(details[row]).toMatch(/overlaps the revision of sid 18|row 1 has sid 18 too/)
    expect(await subscribers()).toHaveLength(1)
  })

  it('of a rate are kept, too', async () => {
    const rate = (number: number, more: object) => ({
      ...{ _id: id(number), key: 'CALL', from: at('2026-01-01'), to: END },
      ...{ pricing_method: 'tiered', tariff_category: 'retail' },
      rates: { call: { BASE: { rate: [{ from: 0, to: 'UNLIMITED', interval: 1, price: 1 }] } } },
      ...more,
    })
    const rows = [rate(1, { from: at('2026-02-01') }), rate(2, { to: at('2026-02-01') })]
    expect((await scene.migrate('rates', rows)).failed).toBe(0)
    expect(await scene.catalog().rates.countDocuments({ key: 'CALL' })).toBe(2)
  })

  it('of prepaid includes have one external_id', async () => {
    const include = (number: number, name: string) => ({
      ...{ _id: id(number), name, external_id: 7, priority: 1, from: at('2026-01-01'), to: END },
      ...{ charging_by: 'total_cost', charging_by_usaget: 'total_cost' },
    })
    const { details } = await scene.migrate('prepaidincludes', [include(1, 'A'), include(2, 'B')])
    expect(details).toEqual({ 1: true, 2: 'external_id must be unique: 7 belongs to row 1' })
  })
})

describe('a row that was migrated before', () => {
  it('changes nothing', async () => {
    await scene.migrate('accounts', [account(1)])
    const before = await scene.catalog().subscribers.find().toArray()
    const { succeeded } = await scene.migrate('accounts', [account(1, { address: '2 Mill Rd' })])
    expect([succeeded, await scene.catalog().subscribers.find().toArray()]).toEqual([1, before])
  })

  it('is reported if its dates have changed', async () => {
    await scene.migrate('accounts', [account(1)])
    const { details } = await scene.migrate('accounts', [account(1, { to: at('2026-05-01') })])
    expect(details[1]).toBe(
      'it was imported before, and is aid 17 from 2026-01-01 to 2175-01-01 here: ' +
        'change it by the entity API',
    )
  })

  it('is reported if it was deleted', async () => {
    await scene.migrate('accounts', [account(1)])
    await scene.catalog().subscribers.updateMany({}, { $set: { deleted: true } } as never)
    const { details } = await scene.migrate('accounts', [account(1)])
    expect(details[1]).toBe('it was imported before, and was deleted since')
  })
})

describe('a row is refused', () => {
  it.each([
    [{ _id: 'x' }, '_id must be an id of 24 hexadecimal digits'],
    [{ _id: undefined }, '_id must be an id of 24 hexadecimal digits'],
    [{ type: 'subscriber' }, 'type must be account, is subscriber'],
    [{ aid: 0 }, 'aid must be an integer from 1 to 1000000000000000'],
    [{ aid: 1.5 }, 'aid must be an integer from 1 to 1000000000000000'],
    [{ aid: 2e15 }, 'aid must be an integer from 1 to 1000000000000000'],
    [{ aid: undefined }, 'aid must be an integer from 1 to 1000000000000000'],
    [{ from: undefined }, /^from must be a date/],
    [{ to: 'never' }, /^to must be a date/],
    [{ to: at('2025-01-01') }, /^create: to must be after 2026-01-01/],
    [{ creation_time: {} }, /^creation_time must be a date/],
    [{ email: 'nobody' }, /email/],
    [{ lastname: '' }, /lastname/],
  ])('with %j', async (more, text) => {
    const { details } = await scene.migrate('accounts', [account(1), account(2, { ...more })])
    expect(details[2]).toEqual(typeof text === 'string' ? text : expect.stringMatching(text))
    expect(await scene.catalog().subscribers.countDocuments()).toBe(1)
  })

  it('if its account or plan is missing, or its time is invoiced', async () => {
    await customers()
    const invoice = { billrun_key: '202605', billed: 1, end_date: day('2026-05-01') }
    await scene.catalog().billrun.insertOne({ ...invoice, aid: 100 } as never)
    const rows = [
      subscriber(1, { aid: 99 }),
      subscriber(2, { plan: 'NONE', from: at('2026-05-01') }),
      subscriber(3),
      subscriber(4, { sid: 19, from: at('2026-05-01') }),
    ]
    const { details } = await scene.migrate('subscribers', rows)
    expect(details).toEqual({
      1: 'aid: there is no account 99',
      2: 'plan: there is no plan NONE at 2026-05-01',
      3: 'create: from must not be before 2026-05-01, until which account 100 is invoiced',
      4: true,
    })
  })
})

it('numbers of new entities are above the kept ones', async () => {
  await scene.migrate('accounts', [account(1, { aid: 4711 }), account(2, { aid: 5 })])
  expect(await scene.catalog().counters.findOne({ _id: 'sequence:subscribers' })).toMatchObject({
    seq: 4711,
  })
})

it('a dry run writes nothing', async () => {
  const rows = [account(1), account(2, { from: at('2026-03-01') }), account(3, { aid: 18 })]
  const { details, isDryRun } = await scene.migrate('accounts', rows, true)
  const found = [details, isDryRun, await scene.catalog().subscribers.countDocuments()]
  expect(found).toEqual([{ 1: true, 2: expect.stringContaining('row 1'), 3: true }, true, 0])
  expect(await scene.catalog().counters.countDocuments()).toBe(0)
})

it('services keep their begin, before the revision', async () => {
  await customers()
  await insertEntity(scene.catalog(), 'services', { name: 'TV', from: '2020-01-01' })
  const tv = { name: 'TV', from: at('2025-06-10'), to: END, service_id: 1_700_000_000_000_002 }
  const { details } = await scene.migrate('subscribers', [subscriber(1, { services: [tv] })])
  expect(details).toEqual({ 1: true })
  const [found] = await subscribers()
  expect(found).toMatchObject({
    services: [{ from: day('2025-06-10'), service_id: 1_700_000_000_000_002 }],
  })
})
