/** `validate`: a write runs as usual, nothing is stored, and all invalid fields are named. */
import { expect, test } from 'vitest'
import {
  type Body,
  type Fields,
  idOf,
  sendTo,
  useApiServer,
} from '../../support/entities/api/api-server.ts'

const api = useApiServer()

const TIER = { from: 0, to: 'UNLIMITED', interval: 1, price: 1 }
const RATE = {
  from: '2026-01-01',
  pricing_method: 'tiered',
  rates: { call: { BASE: { rate: [TIER] } } },
}
const PLAN = {
  from: '2026-01-01',
  connection_type: 'prepaid',
  upfront: false,
  price: [{ from: 0, to: 'UNLIMITED', price: 0 }],
  recurrence: { frequency: 1, start: 1 },
}
const INCLUDE = {
  name: 'MONEY',
  external_id: 1,
  priority: 1,
  charging_by: 'total_cost',
  charging_by_usaget: 'total_cost',
}
const ACCOUNT = {
  from: '2026-01-01',
  firstname: 'A',
  lastname: 'B',
  email: 'a@example.org',
  address: 'C',
  zip_code: '1',
  country: 'UK',
}

/** A write that is only tried, which must not change the store. */
async function tried(collection: string, action: string, params: Fields): Promise<Body> {
  const counters = () => api.stores().catalog.counters.find().toArray()
  // Transactions of the admin itself raise the version meanwhile.
  const head = async () => {
    const found = await api.stores().catalog.transactions.findOne({ _id: 'head' })
    return [found?.numbers, found?.audit]
  }
  const outbox = () => api.stores().catalog.outbox.countDocuments()
  const state = async () => [await api.digest(), await counters(), await head(), await outbox()]
  const before = await state()
  const { body, http } = await api.call(collection, action, { ...params, validate: true })
  expect(http).toBe(200)
  expect(await state()).toEqual(before)
  return body
}

function fieldsIn(body: Body): Record<string, string> {
  const { errors } = body as unknown as { errors: { path: string; why: string }[] }
  return Object.fromEntries(errors.map(({ path, why }) => [path, why]))
}

test('a valid create shows the document as it would be stored, and stores nothing', async () => {
  await api.ok('prepaidincludes', 'create', { update: { ...INCLUDE, from: '2026-01-01' } })
  const body = await tried('rates', 'create', { update: { key: 'R1', ...RATE } })
  expect(body).toMatchObject({
    status: 1,
    valid: true,
    details: true,
    entity: { key: 'R1', add_to_retail: true, tariff_category: 'retail' },
    warnings: [expect.stringMatching(/rate R1 has no tax/)],
  })
  const account = await tried('accounts', 'create', { update: ACCOUNT })
  const again = await tried('accounts', 'create', { update: ACCOUNT })
  expect(account.entity['aid']).toBe(again.entity['aid'])
  const stored = await api.ok('accounts', 'create', { update: ACCOUNT })
  expect(stored.entity['aid']).toBe(account.entity['aid'])
})

test('all invalid fields are named, with their full paths', async () => {
  const body = await tried('rates', 'create', {
    update: {
      ...RATE,
      key: 'r1',
      pricing_method: 'sometimes',
      rounding_rules: { rounding_type: 'sideways' },
      rates: {
        call: {
          BASE: {
            access: 'free',
            rate: [
              { from: 0, to: 10, interval: 0, price: 1 },
              { from: 5, to: 20, interval: 1, price: 1 },
              { from: 20, to: 'UNLIMITED', interval: 1, price: -1, colour: 'red' },
            ],
          },
          GOLD: { rate: 'none' },
        },
        sms: {
          BASE: { rate: [{ ...TIER, price: 'x' }], bands: [{ name: 'b', days: [8], rate: [] }] },
        },
      },
    },
  })
  expect(body).toMatchObject({ status: 0, code: 17576 })
  const fields = fieldsIn(body)
  expect(Object.keys(fields).sort()).toEqual([
    'key',
    'pricing_method',
    'rates.call.BASE.access',
    'rates.call.BASE.rate.0.interval',
    'rates.call.BASE.rate.2.colour',
    'rates.call.BASE.rate.2.price',
    'rates.call.GOLD.rate',
    'rates.sms.BASE.bands.0.days.0',
    'rates.sms.BASE.bands.0.rate',
    'rates.sms.BASE.rate.0.price',
    'rounding_rules.rounding_type',
  ])
  expect(fields['rates.call.BASE.rate.2.price']).toMatch(/^must not be negative/)
  const display = JSON.parse(String(body.display)) as { name: string; error: number }[]
  expect(display.map(({ name }) => name).sort()).toEqual(Object.keys(fields).sort())
  for (const [path, reason] of Object.entries(fields)) {
    expect(body.message).toContain(`${path} ${reason}`)
  }
})

test('mandatory fields, rules, uniqueness and references are found together', async () => {
  await api.ok('plans', 'create', { update: { name: 'P1', ...PLAN } })
  const plan = await tried('plans', 'create', {
    update: {
      name: 'P1',
      connection_type: 'postpaid',
      price: [{ from: 5, to: 1, price: 'x' }],
      include: {
        groups: { G: { value: 1.5, usage_types: { 'a b': {} } }, H: { rates: ['NO'], value: 1 } },
      },
      rates: { NONE: { call: { percentage: 1 } } },
    },
  })
  expect(Object.keys(fieldsIn(plan)).sort()).toEqual([
    'include.groups.G.usage_types.a b',
    'include.groups.G.value',
    'include.groups.H.rates.0',
    'name',
    'price.0.price',
    'price.0.to',
    'rates.NONE',
    'recurrence',
    'upfront',
  ])
  const subscriber = await tried('subscribers', 'create', {
    update: { aid: 99, plan: 'NONE', services: ['TV', 'RADIO'], time_zone: 'Mars' },
  })
  expect(fieldsIn(subscriber)).toMatchObject({
    aid: 'there is no account 99',
    firstname: 'is mandatory',
    'services.0': expect.stringMatching(/^there is no service TV/),
    'services.1': expect.stringMatching(/^there is no service RADIO/),
    plan: expect.stringMatching(/^there is no plan NONE/),
    time_zone: expect.stringMatching(/^must be a time zone/),
  })
})

test('every other write of an entity can be tried, and answers as the write does', async () => {
  const { entity } = await api.ok('plans', 'create', { update: { name: 'P2', ...PLAN } })
  const query = { _id: idOf({ entity } as Body) }
  const calls: [string, Fields][] = [
    ['update', { description: 'new' }],
    ['closeandnew', { from: '2026-07-01', description: 'new' }],
    ['permanentchange', { from: '2026-07-01', description: 'new' }],
    ['move', { from: '2026-02-01' }],
    ['close', { to: '2026-07-01' }],
    ['delete', {}],
  ]
  for (const [action, update] of calls) {
    const body = await tried('plans', action, { query, update })
    expect([action, body.status, body.details]).toEqual([action, 1, true])
    expect(body).toHaveProperty('valid', true)
  }
  const refused = await tried('plans', 'closeandnew', {
    query,
    update: { from: '2025-01-01', price: [{ from: 0, to: 'UNLIMITED', price: -1 }] },
  })
  expect(refused).toMatchObject({ status: 0, message: expect.stringMatching(/from must be later/) })
  await api.ok('plans', 'close', { query, update: { to: '2026-07-01' } })
  const reopened = await tried('plans', 'reopen', { query, update: { from: '2026-08-01' } })
  expect(reopened).toHaveProperty('valid', true)
})

test('what is not about a field is refused as by the write itself', async () => {
  const query = { _id: '65f0c0ffee0123456789ffff' }
  const gone = await tried('plans', 'update', { query, update: { description: 'x' } })
  expect(gone).toMatchObject({ status: 0, code: 500 })
  const both = await tried('plans', 'update', { query: { nam: 1 }, update: { upfront: 'perhaps' } })
  expect(Object.keys(fieldsIn(both)).sort()).toEqual(['query.nam', 'upfront'])
  const odd = await api.refused('plans', 'create', { update: PLAN, validate: 'perhaps' })
  expect(odd.message).toBe('validate must be true or false')
})

test('writes that can only be done are refused, not done', async () => {
  for (const [collection, action] of [
    ['balances', 'update'],
    ['balances', 'delete'],
    ['subscribers', 'erase'],
  ] as const) {
    const body = await api.refused(collection, action, { validate: true, query: {}, update: {} })
    expect(body.message).toBe(`validate: ${collection}/${action} can only be done, not tried`)
  }
})

test('a change of settings can be tried', async () => {
  const change = async (data: unknown) => {
    const before = await api.digest()
    const params = { action: 'set', category: 'plays', data, validate: true }
    const { body } = await sendTo(`${api.urls[0]}/api/settings`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(params),
    })
    expect(await api.digest()).toBe(before)
    return body
  }
  const plays = { plays: [{ name: 'A', enabled: true }] }
  expect(await change(plays)).toMatchObject({ status: 1, valid: true, details: plays, rev: 0 })
  const body = await change({ plays: [{ name: '!' }, { name: 'B', enabled: 'no' }] })
  expect(Object.keys(fieldsIn(body))).toEqual(['plays.plays.0.name', 'plays.plays.1.enabled'])
})

test('a trial in the way of a writer neither fails it nor is done', async () => {
  const calls = Array.from({ length: 12 }, (_, index) => {
    const update = { key: `C${index}`, ...RATE }
    return api.call('rates', 'create', { update, ...(index % 2 === 1 && { validate: true }) })
  })
  const bodies = (await Promise.all(calls)).map(({ body }) => body)
  expect(bodies.map(({ status }) => status)).toEqual(bodies.map(() => 1))
  const stored = await api.rows('rates', { query: { key: { $regex: '^C' } } })
  expect(stored.map(({ key }) => key).sort()).toEqual(['C0', 'C10', 'C2', 'C4', 'C6', 'C8'])
})
