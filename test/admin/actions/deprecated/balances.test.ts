/** `POST /api/balances`: query and update. */

import { MongoClient } from 'mongodb'

import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  addDeprecatedTenant,
  useDeprecated,
} from '../../../support/admin/actions/deprecated-tenant.ts'
import { insertEntity } from '../../../support/catalog/store.ts'
import { emptyLedger } from '../../../support/ledger.ts'

const api = useDeprecated()
beforeAll(() => addDeprecatedTenant(api.catalog()))
beforeEach(async () => {
  await emptyLedger(api.ledger())
})

interface Shown {
  _id?: { $id: string }
  sid: number
  pp_includes_name: string
  pp_includes_external_id: number
  balance: unknown
}
const recharge = (query: object, upsert: object = {}, more: object = {}, key?: string) =>
  api.ask('balances', { method: 'update', sid: 7, query, upsert, ...more }, key ? { key } : {})
const money = (value: unknown, upsert: object = {}) =>
  recharge({ pp_includes_external_id: 1 }, { value, ...upsert })
const query = async (params: object = {}) => {
  const answer = await api.ask('balances', { method: 'query', sid: 7, ...params })
  expect(answer, answer.text).toMatchObject({ status: 1, desc: 'Success querying balances' })
  return answer['details'] as Shown[]
}

/** All documents of MongoDB. */
async function storedText(): Promise<string> {
  const { url, database } = api.mongo()
  const client = await MongoClient.connect(url)
  try {
    const collections = await client.db(database).collections()
    expect(collections.length).toBeGreaterThan(10)
    return JSON.stringify(await Promise.all(collections.map((one) => one.find().toArray())))
  } finally {
    await client.close()
  }
}

describe('POST /api/balances, method query', () => {
  it('shows every prepaid include, with 0 without a balance', async () => {
    await money(5)
    expect(await query()).toMatchObject([
      { pp_includes_external_id: 1, pp_includes_name: 'MONEY', balance: { cost: -5 }, sid: 7 },
      { pp_includes_external_id: 2, balance: { totals: { data: { usagev: 0 } } }, sid: 7 },
      { pp_includes_external_id: 3, balance: { totals: { data: { usagev: 0 } } }, sid: 0 },
    ])
  })

  it('shows only what exists with completeAvailableBalances 0', async () => {
    await money(5)
    expect(await query({ completeAvailableBalances: 0 })).toHaveLength(1)
  })

  it('sums the balances of a prepaid include, unless aggregate is 0', async () => {
    await money(5, { operation: 'new', expiration_date: '2026-07-01' })
    await money(7, { operation: 'new', expiration_date: '2026-08-01' })
    const sums = await query({ pp_includes_name: 'MONEY' })
    expect(sums).toMatchObject([{ balance: { cost: -12 }, to: '2026-08-01T23:59:59+0000' }])
    const each = await query({ pp_includes_external_id: 1, aggregate: 0 })
    expect(each.map(({ balance }) => balance)).toEqual(
      expect.arrayContaining([{ cost: -5 }, { cost: -7 }]),
    )
    expect(each).toHaveLength(2)
    expect(each[0]?._id?.$id).toMatch(/^[0-9a-f]{24}$/)
    expect(each[0]).not.toHaveProperty('owner')
  })

  it('sorts', async () => {
    const ids = async (params: object) =>
      (await query(params)).map((one) => one.pp_includes_external_id)
    expect(await ids({ sortOrder: -1 })).toEqual([3, 2, 1])
    expect(await ids({ sort: 'pp_includes_name' })).toEqual([2, 3, 1])
    expect(await ids({ sort: 'priority,pp_includes_external_id', sortOrder: '-1' })).toEqual([
      3, 2, 1,
    ])
  })

  it('shows what is valid at some time of a period', async () => {
    await money(5, { operation: 'new', expiration_date: '2026-07-01' })
    const only = { completeAvailableBalances: 0 }
    expect(await query({ ...only, from: '2026-06-20', to: '2026-06-21' })).toHaveLength(1)
    const later = { ...only, from: '2026-08-01T00:00:00Z', to: '2026-08-02T00:00:00Z' }
    const answer = await api.ask('balances', { method: 'query', sid: 7, ...later })
    expect(answer).toMatchObject({ status: 0, desc: 'Balances not found', display: { code: 1234 } })
  })

  it.each([
    [{ sid: '' }, 1231, 'sid is missing'],
    [{ sid: 'x' }, 1231, 'Field sid should be of type Integer'],
    [{ sid: 4711 }, 1231, 'Subscriber not found'],
    [{ pp_includes_name: 'A', pp_includes_external_id: 1 }, 1232, /cannot be combined/],
    [{ pp_includes_external_id: 'x' }, 999, /pp_includes_external_id should be of type Integer/],
    [{ pp_includes_name: 'NONE' }, 1234, 'Balances not found'],
    [{ from: '2026-01-01' }, 999, 'from and to must be given together'],
    [{ from: '2026-01-02', to: '2026-01-01' }, 999, 'from is after to'],
    [{ sort: 'secret' }, 999, /sort: secret is not one of/],
    [{ sortOrder: 2 }, 999, 'sortOrder must be 1 or -1'],
    [{ aggregate: 'x' }, 999, 'Field aggregate should be of type Boolean'],
  ])('refuses %j', async (params, code, desc) => {
    const text = typeof desc === 'string' ? desc : expect.stringMatching(desc)
    const answer = await api.ask('balances', { method: 'query', sid: 7, ...params })
    expect(answer).toMatchObject({ http: 200, status: 0, desc: text, display: { code } })
  })
})

describe('POST /api/balances, method update', () => {
  it('recharges a prepaid include: positive here, negative in the balance', async () => {
    const answer = await money('12.50', { expiration_date: '2026-07-20' })
    expect(answer).toMatchObject({
      status: 1,
      desc: 'Success updating balances',
      input: { sid: '7' },
      details: [
        {
          ...{ aid: 1001, sid: 7, pp_includes_name: 'MONEY', balance: { cost: -12.5 } },
          to: '2026-07-20T23:59:59+0000',
        },
      ],
    })
    expect(await money(-2.5)).toMatchObject({ details: [{ balance: { cost: -10 } }] })
    expect(await money(3, { operation: 'set' })).toMatchObject({
      details: [{ balance: { cost: -3 } }],
    })
  })

  it('by name, by id, and for the account if the prepaid include is shared', async () => {
    const named = await recharge({ pp_includes_name: 'DATA_PACK' }, { value: 1000 })
    const usage = { totals: { data: { usagev: -1000 } } }
    expect(named).toMatchObject({ details: [{ balance: usage }] })
    const [{ _id } = {}] = named['details'] as Shown[]
    for (const target of [{ id: _id?.$id }, { _id }]) {
      expect(await recharge(target, { value: 500 })).toMatchObject({ status: 1 })
    }
    const shared = await recharge({ pp_includes_external_id: 3 }, { value: 100 })
    expect(shared).toMatchObject({ status: 1, details: [{ sid: 0, aid: 1001 }] })
    const [first] = shared['details'] as Shown[]
    expect(await recharge({ id: first?._id?.$id }, { value: 100 })).toMatchObject({ status: 1 })
    expect(await query({ completeAvailableBalances: 0 })).toMatchObject([
      { balance: { totals: { data: { usagev: -2000 } } } },
      { balance: { totals: { data: { usagev: -200 } } } },
    ])
  })

  it.each([
    [{ charging_plan_name: 'TOPUP' }],
    [{ charging_plan: 'TOPUP' }],
    [{ charging_plan_external_id: 77 }],
    [{ recurring: 1 }],
  ])('loads the charging plan of %j', async (target) => {
    await api.catalog().autorenew.deleteMany({})
    await insertEntity(api.catalog(), 'autorenew', {
      ...{ sid: 7, aid: 1001, bucket_group: 'TOPUP', cycles: 12, from: '2026-01-01' },
      next_renew: '2026-07-01',
    })
    expect(await recharge(target)).toMatchObject({
      status: 1,
      details: [{ balance: { cost: -20 } }, { balance: { totals: { data: { usagev: -1000 } } } }],
    })
  })

  it('once per Idempotency-Key', async () => {
    const target = { pp_includes_external_id: 1 }
    const first = await recharge(target, { value: 5 }, {}, 'topup-1')
    const again = await recharge(target, { value: 5 }, {}, 'topup-1')
    expect(again['details']).toEqual(first['details'])
    expect(await query({ completeAvailableBalances: 0 })).toMatchObject([{ balance: { cost: -5 } }])
  })

  it('keeps additional values with the operation, and audits it', async () => {
    const more = { additional: { shop: 'north' } }
    const upsert = { value: 1, additional_information: 'receipt 7' }
    await recharge({ pp_includes_external_id: 1 }, upsert, more, 'audited-1')
    const found = await api.ledger().findOperation(1001, 'audited-1')
    expect(found?.additional).toEqual({ shop: 'north', additional_information: 'receipt 7' })
    const audited = await api.catalog().audit.find({ collection: 'balances' }).toArray()
    expect(audited.length).toBeGreaterThan(0)
  })

  describe('redeems a card', () => {
    const secret = '123456789012'
    beforeEach(async () => {
      await api.catalog().cards.deleteMany({})
      const answer = await api.ask('cards', {
        method: 'create',
        cards: [
          {
            ...{ secret, batch_number: 1, serial_number: 1, charging_plan_name: 'TOPUP' },
            ...{ service_provider: 'ACME', to: '2027-01-01', additional_information: '' },
          },
        ],
      })
      expect(answer.text).toContain('Success creating cards')
      await api.ask('cards', {
        ...{ method: 'update', query: { batch_number: 1, serial_number: 1 } },
        update: { status: 'active' },
      })
    })

    it('once, also if it is redeemed twice at once', async () => {
      const answers = await Promise.all([1, 2, 3].map(() => recharge({ secret })))
      expect(answers.map(({ status }) => status).sort()).toEqual([0, 0, 1])
      expect(await recharge({ secret })).toMatchObject({
        status: 0,
        desc: 'there is no active card with this secret',
      })
      const [money] = await query({ pp_includes_external_id: 1 })
      expect(money).toMatchObject({ balance: { cost: -20 } })
    })

    it.each([
      ['an object', { secret }],
      ['JSON', JSON.stringify({ secret })],
      ['JSON with escape sequences', `{"secr\\u0065t":"${secret}"}`],
    ])('without its secret in answers or stores, sent as %s', async (_name, sent) => {
      const ask = () => api.ask('balances', { method: 'update', sid: 7, query: sent })
      const done = await ask()
      expect(done).toMatchObject({ status: 1, input: { method: 'update', sid: '7' } })
      const others = [
        await ask(),
        await api.ask('balances', { method: 'query', sid: 7, query: sent }),
        await api.ask('balances', { method: 'update', sid: 7, query: { secret, id: '1' } }),
        await api.ask('balances', { method: 'update', sid: 8_888, query: sent }),
      ]
      for (const { text } of [done, ...others]) expect(text).not.toContain(secret)
      expect(await storedText()).not.toContain(secret)
    })
  })

  it('refuses what would take more than there is', async () => {
    await money(5)
    const answer = await money(-6)
    expect(answer).toMatchObject({
      status: 0,
      desc: expect.stringMatching(/^Balance is not updated/),
    })
    expect(await query({ pp_includes_external_id: 1 })).toMatchObject([{ balance: { cost: -5 } }])
  })

  const target = { pp_includes_external_id: 1 }
  it.each([
    [{ sid: '', query: target, upsert: { value: 1 } }, 'sid is missing'],
    [{ sid: 4711, query: target, upsert: { value: 1 } }, 'Subscriber not found'],
    [{ query: {}, upsert: { value: 1 } }, /query must have exactly one of/],
    [{ query: { ...target, pp_includes_name: 'MONEY' } }, /query must have exactly one of/],
    [{ query: { aid: 1 } }, 'query.aid is not known here'],
    [{ query: target }, 'upsert.value is missing'],
    [{ query: target, upsert: { value: 'x' } }, 'Field upsert.value should be of type Float'],
    [{ query: target, upsert: { value: '0.0000001' } }, /6 digits/],
    [
      { query: target, upsert: { value: 1, operation: 'add' } },
      /operation must be inc, set or new/,
    ],
    [{ query: target, upsert: { value: 1, expiration_date: 'x' } }, /expiration_date must be/],
    [{ query: target, upsert: { value: 1, expiration_date: '2020-01-01' } }, /future/],
    [{ query: { id: 'x' }, upsert: { value: 1 } }, 'query.id is not an id'],
    [{ query: { id: 'a'.repeat(24) }, upsert: { value: 1 } }, /there is no balance/],
    [{ query: { charging_plan: 'NONE' } }, /there is no charging plan NONE/],
    [{ query: { charging_plan_external_id: 78 } }, /no charging plan with external_id 78/],
    [{ query: { charging_plan_external_id: 'x' } }, /should be of type Integer/],
    [{ query: { secret: '000000000000' } }, /no active card/],
    [{ query: target, upsert: 'x' }, /upsert is not JSON/],
  ])('refuses %j', async (params, desc) => {
    const text = typeof desc === 'string' ? desc : expect.stringMatching(desc)
    const answer = await api.ask('balances', { method: 'update', sid: 7, ...params })
    expect(answer).toMatchObject({ http: 200, status: 0, desc: text })
  })
})

it.each([
  [{}, 'No method supplied'],
  [{ method: 'delete' }, 'Unsupported method'],
])('POST /api/balances refuses %j', async (params, desc) => {
  expect(await api.ask('balances', params)).toMatchObject({ status: 0, desc })
})
