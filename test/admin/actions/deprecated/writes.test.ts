/** The rows of the interface that write lines, plans, rates and statistics. */
import { beforeAll, describe, expect, it } from 'vitest'
import { ACTIONS } from '../../../../src/admin/actions/table.ts'
import { NOW_MS, useActionServer } from '../../../support/admin/actions/action-server.ts'
import {
  addDeprecatedTenant,
  addLines,
  useDeprecated,
} from '../../../support/admin/actions/deprecated-tenant.ts'

const api = useDeprecated()
beforeAll(() => addDeprecatedTenant(api.catalog()))
const byGet = { method: 'GET', as: 'query' } as const
const entries = (collection: string) => api.catalog().audit.find({ collection }).toArray()

describe('GET /api/remove', () => {
  const credit = (stamp: string, more: object = {}) =>
    addLines(api.catalog(), { stamp, type: 'credit', usaget: 'charge', ...more })
  const exists = async (stamp: string) => (await api.catalog().lines.findOne({ stamp })) !== null

  it('deletes credits of the active cycle, and counts them', async () => {
    await credit('a1')
    await credit('a2', { billrun: '202608' })
    await addLines(api.catalog(), { stamp: 'usage1' })
    await credit('old1', { billrun: '202606' })
    const stamps = ['a1', 'a2', 'usage1', 'old1', 'none']
    const answer = await api.ask('remove', { stamps }, { ...byGet, user: 'grace' })
    expect(answer).toMatchObject({ http: 405, desc: 'remove must be sent by POST' })
    const done = await api.ask('remove', { stamps }, { user: 'grace' })
    expect(done).toMatchObject({
      status: 2,
      desc: 'success',
      input: { stamps: '["a1","a2","usage1","old1","none"]' },
    })
    expect([await exists('a1'), await exists('a2')]).toEqual([false, false])
    expect([await exists('usage1'), await exists('old1')]).toEqual([true, true])
    const audited = (await entries('lines')).filter(({ key }) => key === 'a1' || key === 'a2')
    expect(audited).toHaveLength(2)
  })

  it('has status 0 if there were none', async () => {
    const answer = await api.ask('remove', { stamps: 'none' })
    expect(answer).toMatchObject({ http: 200, status: 0, desc: 'success' })
  })

  it('error: an invalid stamp', async () => {
    for (const stamps of [undefined, '', [], ['a', { $ne: 1 }], 'a;b', ['']]) {
      const answer = await api.ask('remove', stamps === undefined ? {} : { stamps })
      expect(answer).toMatchObject({
        http: 200,
        status: false,
        desc: 'failed - invalid stamps input',
        input: expect.anything(),
      })
    }
  })

  it('error: some could not be removed', async () => {
    await credit('queued', { in_queue: true })
    const answer = await api.ask('remove', { stamps: 'queued' })
    expect(answer).toMatchObject({ http: 200, status: false, desc: 'remove failed' })
    expect(await exists('queued')).toBe(true)
  })
})

describe('POST /admin/save', () => {
  const at = (sql: string) => Date.parse(sql)
  const revisions = async (key: string) => {
    const filter = { key, deleted: { $ne: true } } as never
    return (await api.catalog().rates.find(filter).sort({ from: 1 }).toArray()) as unknown as {
      _id: unknown
      from: Date
      to: Date
      description: string
      rates: object
    }[]
  }
  const idOf = async (key: string) => String((await revisions(key)).at(-1)?._id)

  it('update: changes the revision', async () => {
    const data = { description: 'Local calls' }
    const id = await idOf('CALL_A')
    const answer = await api.ask('admin/save', { id, coll: 'rates', type: 'update', data })
    expect(answer).toMatchObject({ status: 1, input: { coll: 'rates', type: 'update' } })
    expect(await revisions('CALL_A')).toMatchObject([{ description: 'Local calls' }])
  })

  it('close_and_new: closes it, and saves a new one', async () => {
    const data = { from: '2026-07-01', description: 'From July' }
    const id = await idOf('CALL_A')
    const answer = await api.ask('admin/save', { id, coll: 'rates', type: 'close_and_new', data })
    expect(answer).toMatchObject({ status: 1 })
    const [old, added] = await revisions('CALL_A')
    expect(old?.to.getTime()).toBe(at('2026-07-01T00:00:00Z'))
    expect(added).toMatchObject({ description: 'From July', from: new Date('2026-07-01') })
  })

  it('duplicate: saves a copy with another key', async () => {
    const data = { key: 'CALL_B', from: '2026-06-01' }
    const id = await idOf('CALL_A')
    const answer = await api.ask('admin/save', { id, coll: 'rates', type: 'duplicate', data })
    expect(answer).toMatchObject({ status: 1 })
    const [original] = await revisions('CALL_A')
    expect(await revisions('CALL_B')).toMatchObject([{ rates: original?.rates }])
  })

  it('new: saves a plan', async () => {
    const data = {
      ...{ name: 'SILVER', description: 'Silver', from: '2026-06-01', upfront: false },
      ...{ connection_type: 'postpaid', recurrence: { frequency: 1, start: 1 } },
      price: [{ from: 0, to: 'UNLIMITED', price: 5 }],
    }
    const answer = await api.ask('admin/save', { coll: 'plans', type: 'new', data })
    expect(answer).toMatchObject({ status: 1 })
    expect(await api.catalog().plans.countDocuments({ name: 'SILVER' })).toBe(1)
    expect((await entries('plans')).map(({ type }) => type)).toContain('create')
  })

  it.each([
    [{ coll: 'rates', type: 'update', id: 'x', data: { a: 1 } }, /Field id must be an id/],
    [{ coll: 'rates', type: 'new' }, 'Data is empty !!!'],
    [{ coll: 'rates', type: 'new', data: {} }, 'Data is empty !!!'],
    [{ coll: 'rates', type: 'new', data: '[]' }, 'Data is empty !!!'],
    [{ coll: 'rates', type: 'new', data: [1] }, 'Field data should be of type Object'],
    [{ coll: 'rates', type: 'new', data: { key: 'lower' } }, /key/],
    [{ coll: 'users', type: 'new', data: { a: 1 } }, 'Field coll must be one of rates, plans'],
    [{ coll: 'rates', type: 'drop' }, /^Field type must be one of update/],
    [{ type: 'new' }, 'Following field/s are missing: coll'],
    [{ coll: 'rates', type: 'duplicate', id: 'a'.repeat(24), data: { key: 'X' } }, /no revision/],
    [{ coll: 'plans', type: 'new', data: { a: 1 }, duplicate_rates: 1 }, /not supported/],
  ])('refuses %j', async (params, desc) => {
    const text = typeof desc === 'string' ? desc : expect.stringMatching(desc)
    expect(await api.ask('admin/save', params)).toMatchObject({ http: 200, status: 0, desc: text })
  })
})

describe('POST /api/statistics', () => {
  const create = (statistics: unknown) => api.ask('statistics', { method: 'create', statistics })
  const query = async (params: object = {}) => {
    const answer = await api.ask('statistics', { method: 'query', ...params })
    expect(answer['desc']).toEqual(answer['details'])
    return (answer['details'] as { n: number }[]).map(({ n }) => n)
  }

  it('create: stores them, and returns them in input', async () => {
    const day = 24 * 3_600_000
    for (const n of [1, 2, 3]) {
      api.at(NOW_MS + (n - 2) * day)
      const answer = await create({ n, at: '2026-01-01T00:00:00Z', list: [{ a: 1 }] })
      expect(answer).toMatchObject({ status: 1, desc: 'create', input: { n, list: [{ a: 1 }] } })
      expect(answer['input']).toMatchObject({
        at: '2026-01-01T00:00:00Z',
        creation_date: `2026-06-1${3 + n}T12:00:00+0000`,
      })
    }
    api.at(NOW_MS)
    expect(await entries('statistics')).toHaveLength(3)
  })

  it('query: all, from a day, up to a day', async () => {
    expect(await query()).toEqual([1, 2, 3])
    expect(await query({ from: '2026-06-15' })).toEqual([2, 3])
    expect(await query({ to: '2026-06-15' })).toEqual([1, 2])
    expect(await query({ from: '2026-06-15', to: '2026-06-15' })).toEqual([2])
    expect(await query({ from: '2027-01-01' })).toEqual([])
  })

  it.each([
    [{}, 'No method supplied'],
    [{ method: 'drop' }, 'Unsupported method'],
    [{ method: 'create' }, 'No statistics specified for save!'],
    [{ method: 'create', statistics: '{}' }, 'No statistics specified for save!'],
    [{ method: 'create', statistics: '[1]' }, 'Field statistics should be of type Object'],
    [{ method: 'create', statistics: 'x' }, /statistics is not JSON/],
    [{ method: 'create', statistics: { $a: 1 } }, /begins with \$/],
    [{ method: 'query', from: '2026-13-01' }, 'from must be a day such as 2026-01-31'],
    [{ method: 'query', to: 'today' }, 'to must be a day such as 2026-01-31'],
  ])('refuses %j', async (params, desc) => {
    const text = typeof desc === 'string' ? desc : expect.stringMatching(desc)
    expect(await api.ask('statistics', params)).toMatchObject({ status: 0, desc: text })
  })
})

describe('POST /api/recreateinvoices', () => {
  it('lists the accounts that did not fail', async () => {
    const answer = await api.ask('recreateinvoices', { account_id: '1001, 4711' })
    expect(answer).toMatchObject({ status: 1, desc: 'success', successfulAccounts: [1001, 4711] })
    expect(answer['input']).toEqual({ account_id: '1001, 4711' })
  })

  it('limit: accepts more than 500 accounts', async () => {
    const aids = Array.from({ length: 501 }, (_, index) => 5_000 + index)
    const answer = await api.ask('recreateinvoices', { account_id: aids.join() })
    expect(answer).toMatchObject({ status: 1 })
    expect(answer['successfulAccounts']).toHaveLength(501)
  })

  it.each([
    [{}, 'Please supply at least one account id'],
    [{ account_id: 'x,y' }, 'Illegal aids'],
  ])('refuses %j', async (params, desc) => {
    expect(await api.ask('recreateinvoices', params)).toMatchObject({ status: 0, desc })
  })
})

describe('resetlines and operations', () => {
  it('queue lines for rating, once, and show them', async () => {
    const params = { aid: [1001, 1002], billrun_key: '202606', query: { usaget: 'data' } }
    const first = await api.ask('resetlines', params)
    expect(first).toMatchObject({
      status: 1,
      details: [
        { aid: 1001, billrun_key: '202606', conditions: { usaget: 'data' }, state: 'waiting' },
        { aid: 1002 },
      ],
    })
    expect((await api.ask('resetlines', params))['details']).toEqual(first['details'])
    expect(await api.catalog().rebalance.countDocuments({})).toBe(2)
    expect(await entries('rebalance_queue')).toHaveLength(2)
    const shown = await api.ask('operations', { state: 'waiting' })
    expect(shown['details']).toMatchObject([
      { action: 'resetlines', filtration: { conditions: { usaget: 'data' } }, end_time: null },
      { action: 'resetlines' },
    ])
  })

  it('take the current cycle by default', async () => {
    const answer = await api.ask('resetlines', { aid: '1001' })
    expect(answer).toMatchObject({ details: [{ billrun_key: '202607', conditions: {} }] })
  })

  it.each([
    [{}, 'Please supply at least one aid'],
    [{ aid: [] }, 'Please supply at least one aid'],
    [{ aid: 'x' }, 'Illegal aid'],
    [{ aid: 1, billrun_key: '2026' }, 'Illegal billrun key'],
    [{ aid: 1, query: 'x' }, 'Illegal query'],
    [{ aid: 1, query: { $where: 1 } }, /^Illegal query: /],
  ])('refuse %j', async (params, desc) => {
    const text = typeof desc === 'string' ? desc : expect.stringMatching(desc)
    expect(await api.ask('resetlines', params)).toMatchObject({ status: 0, desc: text })
  })
})

describe('without the setting', () => {
  const closed = useActionServer(ACTIONS)
  it('GET /api/remove deletes nothing', async () => {
    await closed.catalog().lines.insertOne({ stamp: 'a', type: 'credit' } as never)
    const answer = await closed.ask('remove', { stamps: 'a' })
    expect(answer).toMatchObject({ http: 200, status: false, desc: 'remove is not enabled' })
    expect(await closed.catalog().lines.countDocuments({})).toBe(1)
  })
})
