import { beforeAll, describe, expect, it } from 'vitest'
import { quote } from '../../../src/admin/actions/quote.ts'
import { useActionServer } from '../../support/admin/actions/action-server.ts'
import {
  call,
  type Json,
  perUnit,
  prepaid,
  quoteCaseOf,
  rate,
} from '../../support/billing/quote/case-builder.ts'
import { insertEntity } from '../../support/catalog/store.ts'

const api = useActionServer([quote])
const DOUBLED = { rates: [rate('T01', 'call', perUnit(0.02))] }

interface Answer {
  readonly cases: readonly Json[]
  readonly totals: Json
}

async function compare(params: Json): Promise<Answer> {
  const answer = await api.ask('quote', params, { as: 'json' })
  expect(answer).toMatchObject({ status: 1, input: {} })
  return answer['details'] as Answer
}

describe('comparison of cases', () => {
  it('has each case before and after, changed ones first, and the sums', async () => {
    const other = quoteCaseOf({
      name: 'other rate',
      catalogue: { rates: [rate('T02', 'call', perUnit(0.1))] },
      events: [call(5, { rate: 'T02' })],
    })
    const broken = quoteCaseOf({ name: 'broken', events: [call(1, { color: 'red' })] })
    const long = quoteCaseOf({ name: 'long', events: [call(60), call(40)] })
    const cases = [other, broken, quoteCaseOf({ name: 'short' }), long]
    const granted = { returnCode: 1, desc: 'Success' }
    expect(await compare({ cases, assume: DOUBLED })).toEqual({
      cases: [
        {
          name: 'long',
          before: { aprice: 1, final_charge: 1, granted: 100, ...granted },
          after: { aprice: 2, final_charge: 2, granted: 100, ...granted },
          difference: { aprice: 1, final_charge: 1 },
          changed: true,
        },
        {
          name: 'short',
          before: { aprice: 0.61, final_charge: 0.61, granted: 61, ...granted },
          after: { aprice: 1.22, final_charge: 1.22, granted: 61, ...granted },
          difference: { aprice: 0.61, final_charge: 0.61 },
          changed: true,
        },
        {
          name: 'other rate',
          before: { aprice: 0.5, final_charge: 0.5, granted: 5, ...granted },
          after: { aprice: 0.5, final_charge: 0.5, granted: 5, ...granted },
          difference: { aprice: 0, final_charge: 0 },
          changed: false,
        },
        {
          name: 'broken',
          changed: false,
          error: { field: 'events.0.color', why: 'is not known' },
        },
      ],
      totals: {
        cases: 4,
        changed: 2,
        failed: 1,
        before: { aprice: 2.11, final_charge: 2.11 },
        after: { aprice: 3.72, final_charge: 3.72 },
        difference: { aprice: 1.61, final_charge: 1.61 },
      },
    })
  })

  it('prices the stored document before the change, if it is sent', async () => {
    const base = { rates: [rate('T01', 'call', perUnit(0.015))] }
    const { cases } = await compare({ cases: [quoteCaseOf()], base, assume: DOUBLED })
    expect(cases).toMatchObject([
      { before: { aprice: 0.915 }, after: { aprice: 1.22 }, difference: { aprice: 0.305 } },
    ])
  })

  it('takes the only document of a key for all times, several by their periods', async () => {
    const later = rate('T01', 'call', perUnit(0.02), { from: '2027-01-01', to: '2028-01-01' })
    const { cases } = await compare({ cases: [quoteCaseOf()], assume: { rates: [later] } })
    expect(cases).toMatchObject([{ after: { aprice: 1.22 } }])
    const early = rate('T01', 'call', perUnit(0.03), { to: '2027-01-01' })
    const two = await compare({ cases: [quoteCaseOf()], assume: { rates: [early, later] } })
    expect(two.cases).toMatchObject([{ after: { aprice: 1.83 } }])
  })

  it('shows what an account can no longer pay', async () => {
    const { cases, totals } = await compare({ cases: [prepaid(1)], assume: DOUBLED })
    expect(cases).toMatchObject([
      { before: { aprice: 0.61, granted: 61 }, after: { aprice: 1, granted: 50 }, changed: true },
    ])
    expect(totals).toMatchObject({ difference: { aprice: 0.39 } })
  })

  it('adds taxes, and plans whose other rates a case does not have', async () => {
    const plan = { name: 'P', rates: { ELSEWHERE: { call: perUnit(1) } } }
    const taxes = [{ key: 'DEFAULT_VAT', rate: 0.17 }]
    const assume = { plans: [plan], taxes }
    expect((await compare({ cases: [quoteCaseOf()], assume })).cases).toMatchObject([
      { after: { aprice: 0.61, final_charge: 0.7137 }, difference: { final_charge: 0.1037 } },
    ])
  })

  it('refuses a document that cannot be used, with its path', async () => {
    const bad = { rates: [rate('T01', 'call', perUnit(Number.NaN))] }
    expect(
      await api.ask('quote', { cases: [quoteCaseOf()], assume: bad }, { as: 'json' }),
    ).toMatchObject({
      status: 0,
      code: 17_576,
      fields: [
        {
          path: 'assume.rates.0.rates.call.BASE.rate.0.price',
          reason: 'must be a number or decimal text',
        },
      ],
    })
    const unknown = { cases: [quoteCaseOf()], assume: {}, base: { rate: [] } }
    expect(await api.ask('quote', unknown, { as: 'json' })).toMatchObject({
      status: 0,
      fields: [{ path: 'base.rate', reason: 'is not known' }],
    })
  })

  it.each([
    [{ assume: {} }, 'With assume, one of cases and plan is needed'],
    [{ assume: {}, cases: [], plan: 'P' }, 'With assume, one of cases and plan is needed'],
    [{ assume: {}, cases: [], last: 5 }, 'Field last cannot be combined with cases'],
    [{ assume: {}, cases: [], rate: 'T01' }, 'Field rate cannot be combined with cases'],
    [{ assume: {}, plan: 'P', sid: 5 }, 'Field sid cannot be combined with assume'],
    [{ assume: {}, plan: 'P', last: 101 }, 'Field last must be at most 100'],
    [{ plan: 'P' }, 'Field plan needs assume'],
    [{ base: {}, sid: 5, usaget: 'call', usagev: 1 }, 'Field base needs assume'],
    [{ assume: { rates: Array(1_001).fill(1) }, plan: 'P' }, 'assume.rates has more than 1000'],
  ])('refuses %#', async (params, text) => {
    const message = expect.stringContaining(text)
    expect(await api.ask('quote', params, { as: 'json' })).toMatchObject({ status: 0, message })
  })
})

describe('comparison of the latest lines of a plan', () => {
  const minute = (number: number) => new Date(Date.UTC(2026, 4, 1, 12, number))
  const line = (stamp: string, number: number, more: Json = {}) => ({
    stamp,
    type: 'realtime',
    plan: 'SURF',
    aid: 7,
    sid: 70,
    urt: minute(number),
    usaget: 'data',
    usagev: 2_048,
    priced_usagev: 2_048,
    called_number: '',
    arate_key: 'DATA',
    aprice: 0.02,
    final_charge: 0.02,
    ...more,
  })
  const PRICE = { data: { BASE: { rate: [{ to: 'UNLIMITED', interval: 1024, price: '0.03' }] } } }
  const assume = { rates: [{ key: 'DATA', from: '2030-01-01', rates: PRICE }] }

  beforeAll(async () => {
    const catalog = api.catalog()
    await insertEntity(catalog, 'rates')
    await insertEntity(catalog, 'rates', {
      key: 'CALL',
      rates: { call: { BASE: { rate: [{ from: 0, to: 'UNLIMITED', interval: 1, price: 0.5 }] } } },
    })
    const groups = { DATA: { value: 100_000, usage_types: { data: {} } } }
    await insertEntity(catalog, 'plans', { name: 'SURF', include: { groups } })
    await insertEntity(catalog, 'subscribers', { aid: 7, sid: 70, plan: 'SURF' })
    await catalog.lines.insertMany([
      line('all-priced', 1),
      line('partly-included', 2, { usagev: 4_096, priced_usagev: 1_024, aprice: 0.01 }),
      line('included', 3, { priced_usagev: 0, aprice: 0, final_charge: 0 }),
      line('a-call', 4, { usaget: 'call', usagev: 2, priced_usagev: 2, arate_key: 'CALL' }),
      line('without-subscriber', 5, { sid: 71 }),
      line('unused', 6, { usagev: 0, priced_usagev: 0 }),
      line('top-up', 7, { type: 'balance' }),
      line('other-plan', 8, { plan: 'OTHER' }),
    ] as never)
  })

  it('prices what was not included by the stored catalogue and by the change', async () => {
    const { cases, totals } = await compare({ plan: 'SURF', assume })
    expect(cases).toMatchObject([
      {
        name: 'all-priced',
        line: { sid: 70, urt: minute(1).toISOString(), aprice: 0.02, final_charge: 0.02 },
        before: { aprice: 0.02, granted: 2_048 },
        after: { aprice: 0.06, granted: 2_048 },
        difference: { aprice: 0.04 },
        changed: true,
      },
      {
        name: 'partly-included',
        before: { aprice: 0.01, granted: 4_096 },
        after: { aprice: 0.03, granted: 4_096 },
        changed: true,
      },
      {
        name: 'without-subscriber',
        error: { field: 'sid', why: `there is no subscriber 71 at ${minute(5).toISOString()}` },
      },
      { name: 'a-call', before: { aprice: 1 }, after: { aprice: 1 }, changed: false },
      { name: 'included', before: { aprice: 0, granted: 2_048 }, changed: false },
    ])
    expect(totals).toEqual({
      cases: 5,
      changed: 2,
      failed: 1,
      before: { aprice: 1.03, final_charge: 1.03 },
      after: { aprice: 1.09, final_charge: 1.09 },
      difference: { aprice: 0.06, final_charge: 0.06 },
    })
  })

  it('takes the latest ones, of one rate if wanted', async () => {
    const names = async (params: Json) => {
      const { cases } = await compare({ plan: 'SURF', assume: {}, ...params })
      return cases.map(({ name }) => name)
    }
    expect(await names({ last: 2 })).toEqual(['without-subscriber', 'a-call'])
    expect(await names({ last: 2, rate: 'DATA' })).toEqual(['without-subscriber', 'included'])
    expect(await names({ plan: 'NONE' })).toEqual([])
  })

  it('says which lines an edited rate no longer prices', async () => {
    const rates = [{ key: 'DATA', rates: { sms: { BASE: perUnit(1) } } }]
    const { cases } = await compare({ plan: 'SURF', rate: 'DATA', assume: { rates } })
    expect(cases[0]).toMatchObject({
      name: 'all-priced',
      after: { aprice: 0, granted: 0, returnCode: -3 },
      difference: { aprice: -0.02 },
    })
  })

  it('prices by plans and taxes of the change, and before by those of base', async () => {
    const override = { DATA: { data: perUnit(0.1, 1024) } }
    const plans = [{ name: 'SURF', connection_type: 'prepaid', rates: override }]
    const base = { rates: [{ key: 'DATA', rates: { data: { BASE: perUnit(0.05, 1024) } } }] }
    const { cases } = await compare({ plan: 'SURF', rate: 'DATA', base, assume: { plans } })
    expect(cases[0]).toMatchObject({ before: { aprice: 0.1 }, after: { aprice: 0.2 } })
  })

  it('reads them by an index, in order', async () => {
    const explained = await api
      .catalog()
      .lines.find({ plan: 'SURF', type: 'realtime' } as object)
      .sort({ urt: -1 })
      .explain('queryPlanner')
    const text = JSON.stringify(explained)
    expect(text).toContain('IXSCAN')
    expect(text).not.toMatch(/COLLSCAN|"SORT"/)
  })

  it('needs the permission to read lines', () => {
    const needed = (params: Json) => quote.entityActions?.(new Map(Object.entries(params)))
    expect(needed({ plan: 'SURF' })).toEqual([{ collection: 'lines', action: 'get' }])
    expect(needed({ cases: [] })).toEqual([])
  })
})
