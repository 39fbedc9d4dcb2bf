/** `POST /api/subscribersautorenew`: its row of the interface, and wrong input. */
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { subscribersautorenew } from '../../../src/admin/actions/subscribersautorenew.ts'
import { type Fields, NOW_MS, useActionServer } from '../../support/admin/actions/action-server.ts'
import { insertEntity } from '../../support/catalog/store.ts'

const api = useActionServer([subscribersautorenew])
const INCLUDE = [{ pp_includes_external_id: 1, value: -20, operation: 'default' }]

beforeAll(async () => {
  const catalog = api.catalog()
  await insertEntity(catalog, 'plans')
  await insertEntity(catalog, 'subscribers', { sid: 7, aid: 3 })
  const groups = [{ name: 'TOPUP20', external_id: 44 }, { name: 'TOPUP50' }, { name: 'DATA' }]
  for (const group of groups) {
    const more = { description: 'x', operation: 'inc', include: INCLUDE, from: '2026-01-01' }
    await insertEntity(catalog, 'prepaidgroups', { ...more, ...group })
  }
})
beforeEach(async () => {
  api.at(NOW_MS)
  await api.catalog().autorenew.deleteMany({})
  await api.catalog().audit.deleteMany({})
})

const ask = (method: string, params: Fields) =>
  api.ask('subscribersautorenew', { method, ...params })
const update = (query: Fields = {}, upsert: Fields = {}) =>
  ask('update', {
    query: { sid: 7, charging_plan: 'TOPUP20', from: '2026-06-15', ...query },
    upsert: { to: '2027-06-15', ...upsert },
  })
const query = (more: Fields = {}) => ask('query', { query: { sid: 7, ...more } })
const plansOf = (answer: Fields) =>
  (answer['details'] as Fields[]).map(({ charging_plan_name: name }) => name)

describe('/api/subscribersautorenew update', () => {
  it('creates an auto-renewal by charging plan and dates', async () => {
    const answer = await update()
    expect(answer).toMatchObject({ status: 1, desc: 'Success upserting auto renew' })
    expect(answer['details']).toMatchObject([
      {
        aid: 3,
        sid: 7,
        charging_plan_name: 'TOPUP20',
        charging_plan_external_id: 44,
        interval: 'month',
        operation: 'inc',
        from: '2026-06-15T00:00:00+0000',
        to: '2027-06-15T23:59:59+0000',
        creation_time: '2026-06-15T12:00:00+0000',
        last_renew_date: null,
        next_renew_date: '2026-07-15T00:00:00+0000',
        done: 0,
        remain: 12,
        includes: INCLUDE,
      },
    ])
    expect(await api.catalog().autorenew.findOne({})).toMatchObject({
      bucket_group: 'TOPUP20',
      cycles: 12,
      cycles_remaining: 12,
      immediate: false,
    })
    const [record] = await api.catalog().audit.find().toArray()
    expect(record).toMatchObject({ collection: 'autorenew', type: 'create', old: null })
  })

  it('changes the one of the same plan and day; what was charged stays counted', async () => {
    await update({}, { operation: 'set', interval: 'week', to: '2026-07-20' })
    const charged = { cycles_remaining: 3, last_renew: new Date('2026-06-29T00:00:05Z') }
    const next = { next_renew: new Date('2026-07-06T00:00:00Z') }
    await api.catalog().autorenew.updateOne({}, { $set: { ...charged, ...next } })
    api.at(Date.UTC(2026, 6, 1))
    const answer = await update({ from: '2026-06-15T09:00:00Z' }, { to: '2026-09-06' })
    expect(answer['details']).toMatchObject([
      {
        interval: 'month',
        operation: 'inc',
        next_renew_date: '2026-07-06T00:00:00+0000',
        last_renew_date: '2026-06-29T00:00:05+0000',
        done: 2,
        remain: 3,
      },
    ])
    expect(await api.catalog().autorenew.countDocuments()).toBe(1)
    await update({ from: '2026-07-02' })
    expect(await api.catalog().autorenew.countDocuments()).toBe(2)
    const records = await api.catalog().audit.find().sort({ urt: 1 }).toArray()
    expect(records.map(({ type }) => type)).toEqual(['create', 'update', 'create'])
  })

  it('counts the dates before now as done if it began in the past', async () => {
    const answer = await update({ from: '2026-03-31' }, { to: '2026-12-31' })
    expect(answer['details']).toMatchObject([
      { done: 2, remain: 7, next_renew_date: '2026-06-30T00:00:00+0000' },
    ])
    expect(await api.catalog().autorenew.findOne({})).toMatchObject({ anchor_day: 31 })
  })

  it.each([
    [{ sid: undefined }, {}, 'query.sid is missing'],
    [{ sid: 'x' }, {}, 'query.sid must be a positive integer'],
    [{ sid: 8 }, {}, 'sid: there is no subscriber 8 now'],
    [{ charging_plan: undefined }, {}, 'query.charging_plan is missing'],
    [{ charging_plan: 7 }, {}, 'query.charging_plan must be the name of a charging plan'],
    [{ charging_plan: 'NONE' }, {}, 'there is no charging plan NONE now'],
    [{ from: undefined }, {}, 'query.from is missing'],
    [{ from: 'x' }, {}, 'query.from must be a date'],
    [{ imsi: '1' }, {}, 'query.imsi is not one of sid, charging_plan, from'],
    [{}, { to: undefined }, 'upsert.to is missing'],
    [{}, { to: [] }, 'upsert.to must be a date'],
    [{}, { to: '2026-07-14' }, 'to: there is no renewal until then; the first is on 2026-07-15'],
    [{}, { to: '2026-01-01' }, 'to: there is no renewal until then'],
    [{}, { interval: 'year' }, 'upsert.interval must be one of day, week, month'],
    [{}, { operation: 'new' }, 'upsert.operation must be one of inc, set'],
    [{}, { cycles: 3 }, 'upsert.cycles is not one of to, interval, operation'],
  ])('refuses %j with %j', async (wrong, wrongUpsert, text) => {
    const answer = await update(wrong, wrongUpsert)
    expect(answer).toMatchObject({ http: 200, status: 0, display: { code: 1320 } })
    expect(answer['desc']).toContain(text)
    expect(await api.catalog().autorenew.countDocuments()).toBe(0)
  })
})

describe('/api/subscribersautorenew query', () => {
  beforeEach(async () => {
    api.at(Date.UTC(2026, 2, 1))
    await update({ from: '2026-03-01' }, { to: '2026-05-31' })
    api.at(NOW_MS)
    await update({ charging_plan: 'TOPUP50' })
    await update({ charging_plan: 'DATA', from: '2026-09-01' })
  })

  it.each([
    [{}, ['TOPUP50']],
    [{ from: '*' }, ['TOPUP50', 'DATA']],
    [{ to: '*' }, ['TOPUP20', 'TOPUP50']],
    [{ from: '*', to: '*' }, ['TOPUP20', 'TOPUP50', 'DATA']],
    [{ from: '2026-05-01', to: '2026-05-02' }, ['TOPUP20']],
    [{ from: '2026-05-01' }, ['TOPUP20', 'TOPUP50']],
    [{ to: '2026-09-01' }, ['TOPUP50', 'DATA']],
    [{ from: '2020-01-01', to: '2030-01-01' }, ['TOPUP20', 'TOPUP50', 'DATA']],
    [{ from: '2020-01-01', to: '2020-01-02' }, []],
  ])('of %j finds %j', async (dates, plans) => {
    const answer = await query(dates)
    expect(answer).toMatchObject({ status: 1, desc: 'Success querying auto renew' })
    expect(plansOf(answer)).toEqual(plans)
  })

  it.each([
    [{}, 'query is missing'],
    [{ query: {} }, 'query.sid is missing'],
    [{ query: { sid: 7, from: 'x' } }, 'query.from must be a date'],
    [{ query: { sid: { $gt: 0 } } }, 'query.sid must be a positive integer'],
    [{ query: { sid: 7, charging_plan: 'DATA' } }, 'query.charging_plan is not one of'],
  ])('refuses %j', async (params, text) => {
    const answer = await ask('query', params)
    expect(answer).toMatchObject({ http: 200, status: 0, display: { code: 1300 } })
    expect(answer['desc']).toContain(text)
  })
})

describe('/api/subscribersautorenew bydelta', () => {
  it('ends what is not expected, changes what is, and creates the rest', async () => {
    await update({ from: '2026-03-01' })
    await update({ charging_plan: 'TOPUP50' })
    await update({ charging_plan: 'TOPUP20', from: '2026-12-01' })
    api.at(Date.UTC(2026, 6, 1))
    const expected = [
      { charging_plan: 'TOPUP50', to: '2026-12-31', interval: 'week' },
      JSON.stringify({ charging_plan: 'DATA', to: '2026-12-31', operation: 'set' }),
    ]
    const answer = await ask('bydelta', { sid: 7, expected })
    expect(answer).toMatchObject({ status: 1, desc: 'Success updating auto renew by delta' })
    expect(answer['details']).toMatchObject([
      { charging_plan_name: 'TOPUP50', to: '2026-12-31T23:59:59+0000', interval: 'week' },
      {
        charging_plan_name: 'DATA',
        from: '2026-07-01T00:00:00+0000',
        operation: 'set',
        next_renew_date: '2026-08-01T00:00:00+0000',
        remain: 5,
      },
    ])
    expect(plansOf(await query({ from: '*' }))).toEqual(['TOPUP20', 'TOPUP50', 'DATA'])
    api.at(Date.UTC(2026, 6, 1) + 1)
    expect(plansOf(await query({ from: '*' }))).toEqual(['TOPUP50', 'DATA'])
    const again = await ask('bydelta', { sid: 7, expected })
    expect(again['details']).toEqual(answer['details'])
    expect(plansOf((await ask('bydelta', { sid: 7, expected: [] })) as Fields)).toEqual([])
    api.at(Date.UTC(2026, 6, 1) + 2)
    expect(plansOf(await query({ from: '*' }))).toEqual([])
  })

  it.each([
    [{ expected: [] }, 'sid is missing'],
    [{ sid: 7 }, 'expected is missing'],
    [{ sid: 7, expected: '{}' }, 'Field expected should be of type Array'],
    [{ sid: 7, expected: [1] }, 'expected.0 must be an object'],
    [{ sid: 7, expected: [{}] }, 'expected.0.charging_plan is missing'],
    [{ sid: 7, expected: [{ charging_plan: 'DATA' }] }, 'expected.0.to is missing'],
    [{ sid: 7, expected: [{ charging_plan: 'DATA', to: 'x' }] }, 'expected.0.to must be a date'],
    [{ sid: 7, expected: [{ charging_plan: 'DATA', to: '2027-01-01', x: 1 }] }, 'expected.0.x'],
    [
      { sid: 7, expected: [{ charging_plan: 'DATA', to: '2026-06-20' }] },
      'expected.0.to: there is no renewal until then',
    ],
    [
      {
        sid: 7,
        expected: [
          { charging_plan: 'DATA', to: '2027-01-01' },
          { charging_plan: 'DATA', to: '2027-01-01' },
        ],
      },
      'expected.1.charging_plan DATA is repeated',
    ],
  ])('refuses %j, and changes nothing', async (params, text) => {
    await update()
    const before = await api.catalog().autorenew.find().toArray()
    const answer = await ask('bydelta', params)
    expect(answer).toMatchObject({ http: 200, status: 0 })
    expect(answer['desc']).toContain(text)
    expect(await api.catalog().autorenew.find().toArray()).toEqual(before)
  })
})

it('has three methods', async () => {
  expect((await ask('delete', {}))['desc']).toBe(
    'Field method must be one of query, update, bydelta',
  )
  expect((await api.ask('subscribersautorenew', {}))['desc']).toBe(
    'Following field/s are missing: method',
  )
})
