/** The rows of the interface that only read: inputs, outputs, error texts, limits. */
import { beforeAll, describe, expect, it } from 'vitest'
import {
  addDeprecatedTenant,
  addLines,
  CYCLE,
  megabytes,
  useDeprecated,
} from '../../../support/admin/actions/deprecated-tenant.ts'

const api = useDeprecated()
beforeAll(async () => {
  const catalog = api.catalog()
  await addDeprecatedTenant(catalog)
  await addLines(
    catalog,
    { usaget: 'call', called_number: '972501', urt: new Date('2026-06-10T10:00:00Z') },
    { usaget: 'incoming_call', calling_number: '972502', urt: new Date('2026-06-11T10:00:00Z') },
    { usaget: 'sms', usagev: 1, called_number: '972503', urt: new Date('2026-06-12T10:00:00Z') },
    { usaget: 'call', urt: new Date('2026-05-01T10:00:00Z'), billrun: '202606' },
    { usaget: 'data', usagev: megabytes(400), urt: new Date('2026-06-13T10:00:00Z') },
    { usaget: 'data', usagev: megabytes(212.5), urt: new Date('2026-06-13T11:00:00Z') },
    { usaget: 'data', usagev: megabytes(100), sid: 8 },
    { usaget: 'data', usagev: megabytes(900), sid: 8, plan: 'OTHER' },
    { usaget: 'data', usagev: megabytes(900), sid: 8, billrun: '202606' },
  )
})
const refused = (desc: unknown) => ({ http: 200, status: 0, desc, message: desc })

describe('GET /api/datausage', () => {
  const valid = {
    plan: 'GOLD',
    data_usage: '512',
    from_account_id: '1',
    to_account_id: '2000',
    billrun: CYCLE,
  }
  const ask = (params: Record<string, unknown>) =>
    api.ask('datausage', params, { method: 'GET', as: 'query' })

  it('lists the subscribers who have used more, in megabytes', async () => {
    expect(await ask(valid)).toMatchObject({
      status: 1,
      desc: 'success',
      subscribers_count: 1,
      output: { aid: { 1001: { subs: { 7: '612.50' } } } },
    })
  })

  it('has an empty list without any', async () => {
    const answer = await ask({ ...valid, data_usage: '612.5' })
    expect(answer).toMatchObject({ status: 1, subscribers_count: 0, output: [] })
    expect(await ask({ ...valid, from_account_id: '1002' })).toMatchObject({ subscribers_count: 0 })
  })

  it.each(Object.keys(valid))('error: the mandatory field %s is missing', async (name) => {
    const desc = `Missing required parameter: ${name}`
    const { [name as keyof typeof valid]: _, ...others } = valid
    expect(await ask(others)).toMatchObject(refused(desc))
    expect(await ask({ ...valid, [name]: '' })).toMatchObject(refused(desc))
  })

  it.each([
    [{ data_usage: 'much' }, 'Field data_usage should be of type Float'],
    [{ data_usage: '-1' }, 'Field data_usage should be of type Float'],
    [{ from_account_id: 'x' }, 'Field from_account_id should be of type Integer'],
    [{ to_account_id: '1.5' }, 'Field to_account_id should be of type Integer'],
    [{ billrun: '2026' }, 'Illegal billrun key'],
  ])('refuses %j', async (change, desc) => {
    expect(await ask({ ...valid, ...change })).toMatchObject(refused(desc))
  })
})

describe('POST /api/activity', () => {
  const all = { sid: 7, include_incoming: 1, include_outgoing: 1, include_sms: 1 }

  it('lists calls and messages of 30 days, the oldest first', async () => {
    const answer = await api.ask('activity', all)
    expect(answer).toMatchObject({ status: 1, desc: 'success', input: { sid: '7' } })
    expect(answer['details']).toEqual([
      { date: '2026-06-10 10:00:00', called_number: '972501', usagev: 60, usaget: 'call' },
      {
        date: '2026-06-11 10:00:00',
        calling_number: '972502',
        usagev: 60,
        usaget: 'incoming_call',
      },
      { date: '2026-06-12 10:00:00', called_number: '972503', usagev: 1, usaget: 'sms' },
    ])
  })

  it.each([
    [{ include_sms: 1 }, ['sms']],
    [{ include_incoming: 1, include_outgoing: 0 }, ['incoming_call']],
    [{ include_outgoing: 1, from_date: '2026-04-01' }, ['call', 'call']],
    [{ include_outgoing: 1, from_date: '2026-04-01', to_date: '2026-05-02 00:00:00' }, ['call']],
    [{ include_outgoing: 1, from_date: Date.UTC(2026, 5, 11) / 1000 }, []],
  ])('filters by %j', async (params, usagets) => {
    const { details } = await api.ask('activity', { sid: 7, ...params })
    expect((details as { usaget: string }[]).map(({ usaget }) => usaget)).toEqual(usagets)
  })

  it('error: subscriber not found', async () => {
    for (const sid of [4711, '', 0]) {
      expect(await api.ask('activity', { ...all, sid })).toMatchObject(
        refused('Subscriber not exists'),
      )
    }
  })

  it.each([
    [{ ...all, sid: 'x' }, 'Field sid should be of type Integer'],
    [{ sid: 7 }, 'At least one of include_incoming, include_outgoing, include_sms is needed'],
    [{ ...all, include_sms: 'maybe' }, 'Field include_sms should be of type Boolean'],
    [{ ...all, from_date: 'someday' }, 'Field from_date should be of type Date'],
    [{ ...all, from_date: '2026-06-10', to_date: '2026-06-09' }, 'from_date is after to_date'],
  ])('refuses %j', async (params, desc) => {
    expect(await api.ask('activity', params)).toMatchObject(refused(desc))
  })
})

describe('POST /api/find', () => {
  const ids = (answer: Record<string, unknown>) => Object.keys(answer['details'] as object)

  it('has the documents by their ids, with dates as texts', async () => {
    const answer = await api.ask('find', { collection: 'plans', query: { name: 'GOLD' } })
    expect(answer).toMatchObject({ status: 1, desc: 'success', next_page: false })
    const [id = ''] = ids(answer)
    expect(id).toMatch(/^[0-9a-f]{24}$/)
    expect(answer['details']).toMatchObject({
      [id]: { _id: { $id: id }, name: 'GOLD', from: '2020-01-01T00:00:00+0000' },
    })
    expect(answer['input']).toMatchObject({ collection: 'plans' })
  })

  it('has an empty list without any, and for what is not stored here', async () => {
    const none = await api.ask('find', { collection: 'plans', query: { name: 'NONE' } })
    expect(none).toMatchObject({ status: 1, details: [] })
    for (const collection of ['log', 'queue', 'archive']) {
      expect(await api.ask('find', { collection })).toMatchObject({ status: 1, details: [] })
    }
  })

  it.each([
    ['lines', { aid: 1001, usaget: 'data' }, 5],
    ['lines', { aid: '1001', sid: { $in: [8] } }, 3],
    ['lines', { usagev: { $gt: 60, $lt: 1e12 }, sid: 7 }, 2],
    ['lines', { urt: { $gte: '2026-06-12T00:00:00Z' }, sid: 7 }, 3],
    ['lines', { $or: [{ usaget: 'sms' }, { called_number: '972501' }] }, 2],
    ['lines', { called_number: { $regex: '^97250[12]' } }, 1],
    ['lines', { calling_number: { $exists: true } }, 1],
    ['subscribers', { type: 'account', aid: 1001 }, 1],
    ['subscribers', { aid: 1001 }, 3],
    ['plans', { 'price.price': 10 }, 1],
    ['plans', { price: { $elemMatch: { price: { $gte: 10 } } } }, 1],
    ['prepaidincludes', { shared: true }, 1],
    ['rates', {}, 6],
  ])('finds in %s by %j', async (collection, query, count) => {
    const answer = await api.ask('find', { collection, query })
    expect(answer).toMatchObject({ status: 1 })
    expect(ids(answer)).toHaveLength(count)
  })

  it('sorts, pages and projects', async () => {
    const params = { collection: 'rates', sort: { key: -1 }, size: 2, project: { key: 1 } }
    const first = await api.ask('find', { ...params, page: 0 })
    expect(first['next_page']).toBe(true)
    const keys = Object.values(first['details'] as object).map(({ key }) => key)
    expect(keys).toEqual(['UNTAXED', 'ROUNDED'])
    for (const row of Object.values(first['details'] as object)) {
      expect(Object.keys(row).sort()).toEqual(['_id', 'key'])
    }
    const last = await api.ask('find', { ...params, page: 2 })
    expect(last).toMatchObject({ next_page: false })
    expect(ids(last)).toHaveLength(2)
  })

  it('limit: the page size is 1000 by default', async () => {
    const many = Array.from({ length: 1_001 }, (_, index) => ({ sid: 99, usagev: index }))
    await addLines(api.catalog(), ...many)
    const answer = await api.ask('find', { collection: 'lines', query: { sid: 99 } })
    expect(answer).toMatchObject({ next_page: true })
    expect(ids(answer)).toHaveLength(1_000)
  })

  it.each([
    [{}, 'Illegal collection name: '],
    [{ collection: 'config' }, 'Illegal collection name: config'],
    [{ collection: '__proto__' }, 'Illegal collection name: __proto__'],
    [{ collection: 'bills' }, 'Illegal collection name: bills'],
    [{ collection: 'plans', query: 'name' }, 'Illegal query: name'],
    [{ collection: 'plans', query: '[1]' }, 'Illegal query: [1]'],
    [{ collection: 'plans', sort: '7' }, 'Illegal sort: 7'],
    [{ collection: 'plans', project: 'name' }, 'Illegal project: name'],
    [{ collection: 'users', query: { password: { $regex: '^a' } } }, /password cannot be used/],
    [{ collection: 'users', query: { $or: [{ password: 'a' }] } }, /password cannot be used/],
    [{ collection: 'users', sort: { password: 1 } }, 'sort: password cannot be used'],
    [{ collection: 'lines', query: { $where: 'true' } }, /\$where/],
    [{ collection: 'lines', query: { aid: { $where: 'true' } } }, /\$where/],
    [{ collection: 'lines', query: { $expr: { $eq: [1, 1] } } }, /\$expr/],
    [{ collection: 'lines', query: { 'a.$b': 1 } }, /begins with \$/],
    [{ collection: 'lines', query: { plan: { $regex: '(a+)+$' } } }, /bounded time/],
    [{ collection: 'lines', query: { _id: 'x' } }, /_id must be an id/],
    [{ collection: 'lines', size: 0 }, 'Field size must be at least 1'],
    [{ collection: 'lines', page: -1 }, 'Field page must be at least 0'],
  ])('refuses %j', async (params, desc) => {
    const text = typeof desc === 'string' ? desc : expect.stringMatching(desc)
    expect(await api.ask('find', params)).toMatchObject(refused(text))
  })

  it('never shows passwords', async () => {
    await api.catalog().users.insertOne({
      ...{ rev: 1, from: new Date(0), to: new Date('2170-01-01') },
      ...{ username: 'ada@example.org', password: 'a-hash', roles: ['read'] },
    } as never)
    const answer = await api.ask('find', { collection: 'users' })
    expect(answer.text).toContain('ada@example.org')
    expect(answer.text).not.toContain('a-hash')
  })
})

describe('GET /api/rates', () => {
  const ask = (params: Record<string, unknown>) =>
    api.ask('rates', params, { method: 'GET', as: 'query' })

  it('has the rates in force with their prices', async () => {
    const answer = await ask({ query: { key: 'CALL_A' } })
    expect(answer).toMatchObject({ status: 1, desc: 'success' })
    expect(answer['details']).toEqual([
      {
        key: 'CALL_A',
        rates: {
          call: {
            unit: '',
            category: 'retail',
            access: 0,
            rate: [{ duration: 2_147_483_647, interval: 60, charge: 0.1 }],
          },
        },
        plans: [],
      },
    ])
    const { details } = await ask({})
    expect((details as { key: string }[]).map(({ key }) => key)).not.toContain('EXPIRED')
  })

  it('finds by date, and by ids whatever the date', async () => {
    const { details } = await ask({ query: { to: '2021-01-01' } })
    expect(details).toMatchObject([{ key: 'EXPIRED' }])
    const [expired] = await api.catalog().rates.find({ key: 'EXPIRED' }).toArray()
    const query = { _id: [String(expired?._id)] }
    expect(await ask({ query })).toMatchObject({ details: [{ key: 'EXPIRED' }] })
  })

  it('has only columns with strip', async () => {
    const { details } = await ask({ query: { key: 'FEE_A' }, strip: ['key', 'description', 'x'] })
    expect(details).toEqual({ key: ['FEE_A'], description: ['FEE_A'], x: [] })
  })

  it('leaves out what is hidden from the API', async () => {
    const { rates } = api.catalog()
    await rates.updateOne({ key: 'ROUNDED' }, { $set: { hidden_from_api: true } } as never)
    expect(await ask({ query: { key: 'ROUNDED' } })).toMatchObject({ details: [] })
    await rates.updateOne({ key: 'ROUNDED' }, { $unset: { hidden_from_api: 1 } } as never)
  })

  it.each([
    [{ query: 'x' }, /query is not JSON/],
    [{ query: { _id: ['x'] } }, 'query._id must have ids of 24 hexadecimal digits'],
    [{ query: { from: 'someday' } }, /query.from/],
    [{ query: { $where: 1 } }, /\$where/],
    [{ strip: ['$a'] }, 'strip must be a list of names of fields'],
    [{ strip: { a: 1 } }, 'strip must be a list of names of fields'],
  ])('refuses %j', async (params, desc) => {
    const text = typeof desc === 'string' ? desc : expect.stringMatching(desc)
    expect(await ask(params)).toMatchObject(refused(text))
  })
})

describe('GET /api/plans', () => {
  const ask = (params: Record<string, unknown>) =>
    api.ask('plans', params, { method: 'GET', as: 'query' })

  it('has the plans in force', async () => {
    const answer = await ask({ query: { name: 'GOLD' } })
    expect(answer).toMatchObject({
      status: 1,
      details: [{ name: 'GOLD', description: 'Gold', price: [{ price: 10 }] }],
    })
    expect(await ask({ query: { name: 'NONE' } })).toMatchObject({ status: 1, details: [] })
  })

  it('has only columns with strip', async () => {
    const { details } = await ask({ strip: ['name', 'price'] })
    expect(details).toMatchObject({ name: ['GOLD'], price: [{ price: 10 }] })
  })
})

describe('GET /api/querybillrun', () => {
  const ask = (params: Record<string, unknown>) =>
    api.ask('querybillrun', params, { method: 'GET', as: 'query' })

  beforeAll(async () => {
    const invoice = { aid: 1001, subs: [{ sid: 7 }], totals: {} }
    await api.catalog().billrun.insertMany([
      { ...invoice, billrun_key: '202605', invoice_id: 1 },
      { ...invoice, billrun_key: '202606', invoice_id: 2 },
      { ...invoice, aid: 1002, subs: [{ sid: 70 }], billrun_key: '202606', invoice_id: 3 },
    ] as never)
  })

  it.each([
    [{ aid: '1001' }, [1, 2]],
    [{ aid: '1001,1002', billrun: '202606' }, [2, 3]],
    [{ aid: [1001], billrun: ['202605'] }, [1]],
    [{ sid: '7' }, [1, 2]],
    [{ aid: '1001', sid: '70' }, []],
    [{ aid: '9' }, []],
  ])('has the invoices of %j', async (params, ids) => {
    const answer = await ask(params)
    expect(answer).toMatchObject({ status: 1, desc: 'success' })
    const found = answer['details'] as { invoice_id: number }[]
    expect(found.map(({ invoice_id: id }) => id)).toEqual(ids)
  })

  it('error: neither aid nor sid is valid', async () => {
    for (const params of [{}, { aid: '' }, { aid: 'x' }, { aid: 'x', sid: 'y' }, { sid: '-1' }]) {
      expect(await ask(params)).toMatchObject(refused('Require to supply aid or sid'))
    }
  })

  const many = Array.from({ length: 1_001 }, (_, index) => index + 1)
  it('error and limit: more than 1000 aids', async () => {
    const answer = await api.ask('querybillrun', { aid: many })
    expect(answer).toMatchObject(refused('Maximum of aid is 1000'))
    expect(await api.ask('querybillrun', { aid: many.slice(1) })).toMatchObject({ status: 1 })
  })

  it('error: more than 1000 sids', async () => {
    const answer = await api.ask('querybillrun', { sid: many.join() })
    expect(answer).toMatchObject(refused('Maximum of sid is 1000'))
  })
})

it('limit: POST /api/activity has at most 100,000 rows', async () => {
  const line = { sid: 9, usaget: 'sms', usagev: 1 }
  for (let batch = 0; batch < 10; batch += 1) {
    await addLines(api.catalog(), ...Array.from({ length: 10_000 }, () => line))
  }
  const params = { sid: 9, include_sms: 1 }
  expect((await api.ask('activity', params))['details']).toHaveLength(100_000)
  await addLines(api.catalog(), { ...line, urt: new Date('2026-06-01T10:00:00Z') })
  const { details } = await api.ask('activity', params)
  expect(details).toHaveLength(100_000)
  expect((details as { date: string }[])[0]?.date).toBe('2026-06-01 10:00:00')
})
