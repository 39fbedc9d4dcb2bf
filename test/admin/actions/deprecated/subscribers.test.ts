/** `POST /api/subscribers`: query, update and delete. */
import { beforeEach, describe, expect, it } from 'vitest'
import { NOW_MS } from '../../../support/admin/actions/action-server.ts'
import {
  addDeprecatedTenant,
  useDeprecated,
} from '../../../support/admin/actions/deprecated-tenant.ts'

const api = useDeprecated()
const HOUR_MS = 3_600_000
let hours = 0

beforeEach(async () => {
  const catalog = api.catalog()
  for (const name of ['subscribers', 'plans', 'rates', 'taxes', 'prepaidincludes'] as const) {
    await (catalog[name] as { deleteMany(filter: object): Promise<unknown> }).deleteMany({})
  }
  await catalog.prepaidgroups.deleteMany({})
  await addDeprecatedTenant(catalog)
  await catalog.subscribers.updateOne({ sid: 7 }, {
    $set: { imsi: ['4250100'], msisdn: '97250' },
  } as never)
  // Operations of the ledger, and revisions, are later than those of the test before.
  hours += 1
  api.at(NOW_MS + hours * HOUR_MS)
})

const ask = (method: string, params: object = {}) => api.ask('subscribers', { method, ...params })
const revisions = (sid: number) =>
  api.catalog().subscribers.find({ sid }).sort({ from: 1 }).toArray()
const recharge = (sid: number, id = 1) =>
  api.ask('balances', {
    ...{ method: 'update', sid, query: { pp_includes_external_id: id } },
    upsert: { value: 10, operation: 'set' },
  })
const balancesOf = async (sid: number) => {
  const params = { method: 'query', sid, completeAvailableBalances: 0 }
  const { details = [] } = await api.ask('balances', params)
  return details as { balance: object }[]
}

describe('POST /api/subscribers, method query', () => {
  it.each([
    [{ sid: 7 }],
    [{ sid: '7' }],
    [{ imsi: '4250100' }],
    [{ msisdn: '97250' }],
    [{ sid: 7, imsi: '4250100', msisdn: '97250' }],
  ])('finds the current record by %j', async (query) => {
    const answer = await ask('query', { query })
    expect(answer).toMatchObject({
      status: 1,
      desc: 'Success querying subscriber',
      input: { method: 'query' },
    })
    expect(answer['details']).toMatchObject([
      {
        ...{ from: '2020-01-01T00:00:00+0000', to: '', imsi: ['4250100'], msisdn: '97250' },
        ...{ aid: 1001, sid: 7, plan: 'GOLD', language: '', service_provider: '' },
      },
    ])
  })

  it('finds the records of a period', async () => {
    await ask('update', { query: { sid: 7 }, update: { msisdn: '97251' } })
    const query = { sid: 7, from: '2026-01-01T00:00:00Z', to: '2027-01-01T00:00:00Z' }
    const { details } = await ask('query', { query })
    expect(details).toMatchObject(
      [
        { msisdn: '97250', to: /^2026/ },
        { msisdn: '97251', to: '' },
      ].map(({ msisdn, to }) => ({ msisdn, to: to === '' ? '' : expect.stringMatching(to) })),
    )
    expect(await ask('query', { query: { sid: 9 } })).toMatchObject({ status: 0 })
    const past = { sid: 9, from: '2026-05-10', to: '2026-05-11' }
    expect(await ask('query', { query: past })).toMatchObject({
      details: [{ sid: 9, to: '2026-06-01T00:00:00+0000' }],
    })
  })

  it.each([
    [{}, 1021, 'query must have sid, imsi, msisdn or aid'],
    [{ query: {} }, 1021, 'query must have sid, imsi, msisdn or aid'],
    [{ query: { sid: 4711 } }, 1023, 'Subscriber not found'],
    [{ query: { sid: 'x' } }, 999, 'Field query.sid should be of type Integer'],
    [{ query: { msisdn: { $ne: '' } } }, 999, 'Field query.msisdn should be of type String'],
    [{ query: { sid: 7, from: 'x' } }, 999, /query.from must be a date/],
    [{ query: 'x' }, 0, /query is not JSON/],
  ])('refuses %j', async (params, code, desc) => {
    const text = typeof desc === 'string' ? desc : expect.stringMatching(desc)
    const answer = await ask('query', params)
    expect(answer).toMatchObject({ http: 200, status: 0, desc: text, message: text })
    if (code !== 0) expect(answer).toMatchObject({ display: { code } })
  })
})

describe('POST /api/subscribers, method update', () => {
  it('closes the current revision, and begins a new one', async () => {
    const update = { msisdn: '97299', imsi: '4250199' }
    const answer = await ask('update', { query: { sid: 7 }, update })
    expect(answer).toMatchObject({
      status: 1,
      desc: 'Success updating subscriber',
      details: {
        before: { msisdn: '97250', imsi: ['4250100'] },
        after: { msisdn: '97299', imsi: ['4250199'], to: '' },
      },
    })
    const [old, added] = await revisions(7)
    expect(old?.to).toEqual(added?.from)
    expect(added?.from.getTime()).toBe(NOW_MS + hours * HOUR_MS)
  })

  it('without track_history changes the revision', async () => {
    const params = { query: { sid: 7 }, update: { msisdn: '97299' }, track_history: 0 }
    expect(await ask('update', params)).toMatchObject({ details: { after: { msisdn: '97299' } } })
    expect(await revisions(7)).toHaveLength(1)
  })

  it('finds the revision by its id, too', async () => {
    const [current] = await revisions(7)
    for (const _id of [String(current?._id), { $id: String(current?._id) }]) {
      const params = { query: { _id }, update: { msisdn: '97299' }, track_history: 0 }
      expect(await ask('update', params)).toMatchObject({ status: 1 })
    }
  })

  it('adds a service to those of the subscriber', async () => {
    await api.catalog().services.deleteMany({})
    await api.catalog().services.insertMany(
      ['TV', 'MUSIC'].map((name) => ({
        ...{ rev: 1, from: new Date('2020-01-01'), to: new Date('2170-01-01'), name },
        ...{ description: name, price: [{ from: 0, to: 'UNLIMITED', price: 1 }] },
      })) as never,
    )
    await ask('update', { query: { sid: 7 }, update: { service: 'TV' } })
    const answer = await ask('update', {
      query: { sid: 7 },
      update: { service: { name: 'MUSIC' } },
      track_history: 0,
    })
    expect(answer).toMatchObject({
      details: { after: { services: [{ name: 'TV' }, { name: 'MUSIC' }] } },
    })
  })

  it('moves the subscriber and its balances to another account', async () => {
    const { subscribers } = api.catalog()
    const account = await subscribers.findOne({ type: 'account', aid: 1001 } as never)
    await subscribers.insertOne({ ...account, _id: undefined, aid: 1002 } as never)
    expect(await recharge(7)).toMatchObject({ status: 1 })
    const answer = await ask('update', { query: { sid: 7 }, update: { aid: 1002 } })
    expect(answer).toMatchObject({ status: 1, details: { after: { aid: 1002 } } })
    expect(await balancesOf(7)).toMatchObject([{ aid: 1002, balance: { cost: -10 } }])
    const back = { query: { sid: 7 }, update: { aid: 1001 }, keep_balances: 0 }
    api.at(NOW_MS + hours * HOUR_MS + 60_000)
    expect(await ask('update', back)).toMatchObject({ status: 1 })
    expect(await balancesOf(7)).toEqual([])
  })

  it.each([
    [{ update: { plan: 'GOLD' } }, 1042, 'query.sid is missing'],
    [{ query: { _id: 'x' }, update: { plan: 'GOLD' } }, 1043, 'query._id is not an id'],
    [{ query: { sid: 4711 }, update: { plan: 'GOLD' } }, 1037, 'Subscriber not found'],
    [{ query: { sid: 7 } }, 999, 'update has no fields to change'],
    [{ query: { sid: 7 }, update: { sid: 8 } }, 999, /update.sid cannot change/],
    [{ query: { sid: 7 }, update: { from: '2020-01-01' } }, 999, /update.from cannot be changed/],
    [{ query: { sid: 7 }, update: { plan: 'NONE' } }, 999, /NONE/],
    [{ query: { sid: 7 }, update: { plan: 'GOLD' }, keep_lines: 0 }, 999, /keep_lines/],
  ])('refuses %j, and writes nothing', async (params, code, desc) => {
    const text = typeof desc === 'string' ? desc : expect.stringMatching(desc)
    const answer = await ask('update', params)
    expect(answer).toMatchObject({ http: 200, status: 0, desc: text, display: { code } })
    expect(await revisions(7)).toHaveLength(1)
  })
})

describe('POST /api/subscribers, method delete', () => {
  it('closes the revision now, and the open balances', async () => {
    await recharge(7)
    await recharge(7, 2)
    const answer = await ask('delete', { query: { sid: 7, imsi: '4250100' } })
    expect(answer).toMatchObject({ status: 1, desc: 'Success deleting subscriber' })
    const [closed, ...others] = await revisions(7)
    expect(closed?.to.getTime()).toBe(NOW_MS + hours * HOUR_MS)
    expect(others).toEqual([])
    expect(await balancesOf(7)).toEqual([])
    const audited = await api.catalog().audit.find({ type: 'close' }).toArray()
    expect(audited.length).toBeGreaterThan(0)
  })

  it('keeps the balances if asked to', async () => {
    await recharge(7)
    const answer = await ask('delete', { query: { sid: 7 }, keep_balances: 'true' })
    expect(answer).toMatchObject({ status: 1 })
    expect(await balancesOf(7)).toMatchObject([{ balance: { cost: -10 } }])
  })

  it.each([
    [{}, 1012, 'query is missing'],
    [{ query: { imsi: '4250100' } }, 1014, 'query.sid is missing'],
    [{ query: { sid: 7, imsi: 'another' } }, 1015, 'Subscriber not found'],
    [{ query: { sid: 9 } }, 1015, 'Subscriber not found'],
  ])('refuses %j', async (params, code, desc) => {
    expect(await ask('delete', params)).toMatchObject({ status: 0, desc, display: { code } })
  })
})

it.each([
  [{}, 'No method supplied'],
  [{ method: 'create' }, 'Unsupported method'],
])('POST /api/subscribers refuses %j', async (params, desc) => {
  expect(await api.ask('subscribers', params)).toMatchObject({ status: 0, desc })
})
