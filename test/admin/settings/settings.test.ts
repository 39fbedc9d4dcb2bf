import { describe, expect, it } from 'vitest'
import { openCatalog } from '../../../src/catalog/connection.ts'
import {
  answerOf,
  askAt,
  type Fields,
  NOW_MS,
  openSettingsServer,
  useSettingsServer,
} from '../../support/admin/settings/settings-server.ts'

const api = useSettingsServer()
const COLOUR = { field_name: 'colour', type: 'text', title: 'Colour' }
const SIZE = { field_name: 'size', type: 'integer' }

const set = (category: string, data: unknown, more: Fields = {}) =>
  api.ok({ action: 'set', category, data, ...more })

describe('a setting', () => {
  it('is empty if nothing was stored', async () => {
    const { details, rev, input } = await api.get('rates')
    expect([details, rev]).toEqual([{}, 0])
    expect(input).toEqual({ action: 'get', category: 'rates', path: '' })
    expect((await api.get('file_types')).details).toEqual([])
  })

  it('is stored as a whole, and read again, in every encoding', async () => {
    const data = { fields: [COLOUR] }
    const first = await set('rates', data)
    expect(first.details).toEqual(data)
    expect(first.headers.get('cache-control')).toBe('no-store')
    const body = { action: 'set', category: 'plans', data }
    expect((await api.ask(body, { json: true })).details).toEqual(data)
    const address = `${api.url()}?category=plans&path=fields.0`
    expect((await answerOf(await fetch(address))).details).toEqual(COLOUR)
    const { details, rev } = await api.get('rates')
    expect([details, rev]).toEqual([data, first.rev])
  })

  it('is changed at a path: by key, position, and name', async () => {
    await set('subscribers.subscriber', { fields: [COLOUR] })
    await set('subscribers', [COLOUR, SIZE], { path: 'account.fields' })
    await set('subscribers.account.fields.1.title', 'Size')
    await set('subscribers.account.fields.colour', true, { path: 'mandatory' })
    await set('subscribers.account.fields.2', { field_name: 'a.b' })
    const answer = await set('subscribers.account.fields.a.b.title', 'Both')
    expect(answer.details).toBe('Both')
    expect((await api.get('subscribers')).details).toEqual({
      subscriber: { fields: [COLOUR] },
      account: {
        fields: [
          { ...COLOUR, mandatory: true },
          { ...SIZE, title: 'Size' },
          { field_name: 'a.b', title: 'Both' },
        ],
      },
    })
    await api.ok({ action: 'unset', category: 'subscribers.account.fields.size' })
    const names = (await api.get('subscribers.account.fields')).details as Fields[]
    expect(names.map(({ field_name: name }) => name)).toEqual(['colour', 'a.b'])
    await api.ok({ action: 'unset', category: 'subscribers' })
    expect((await api.get('subscribers')).details).toEqual({})
  })

  it('is returned with its effective value', async () => {
    await set('security.session.idle_minutes', 5)
    const security = await api.get('security')
    expect(security.details).toEqual({ session: { idle_minutes: 5 } })
    expect(security.effective).toMatchObject({
      session: { idle_minutes: 5, absolute_minutes: 720 },
      lockout: { attempts: 5 },
    })
    const inside = await api.get('security.lockout.attempts')
    expect([inside.details, inside.effective]).toEqual([null, 5])
    const { effective } = await api.get('taxation')
    expect(effective).toEqual({ default: null, mapping: {}, tax_type: 'usage' })
    const rates = (await api.get('rates')).effective as { fields: Fields[] }
    expect(rates.fields.map(({ field_name: name }) => name)).toContain('tariff_category')
  })

  it('that cannot be changed at run time is refused with the configuration key', async () => {
    expect((await api.get('billrun.charging_day')).details).toBe(1)
    expect((await api.get('timezone')).details).toBe('UTC')
    const params = { action: 'set', category: 'billrun.charging_day', data: 5 }
    expect(await api.refused(params)).toMatch(
      /billrun\.charging_day cannot be changed .* rating\.cycleDay/,
    )
  })

  it('is listed', async () => {
    const { details } = await api.ok({ action: 'list' })
    expect(details).toContainEqual({
      category: 'currency',
      settable: false,
      about: expect.stringContaining('ISO 4217'),
      instead: expect.stringContaining('rating.currencyCode'),
    })
    expect((details as Fields[]).map(({ category }) => category)).toEqual([
      'auth',
      'billrun',
      'bills',
      'charges',
      'currency',
      'discounts',
      'events',
      'file_types',
      'invoices',
      'lines',
      'payment_gateways',
      'payments',
      'peers',
      'permissions',
      'plans',
      'plays',
      'prepaidgroups',
      'rates',
      'security',
      'services',
      'shared_secret',
      'subscribers',
      'taxation',
      'taxes',
      'timezone',
    ])
  })
})

describe('a request is refused by name:', () => {
  it.each([
    [{ category: 'taxatoin' }, "there is no category 'taxatoin': did you mean 'taxation'?"],
    [{}, 'category is missing: one of auth, billrun,'],
    [{ action: 'set', category: 'security', data: [] }, 'security must be an object'],
    [{ action: 'drop', category: 'rates' }, 'action must be one of get, list, history, set'],
    [{ category: ['rates'] }, 'category must be a text'],
    [{ action: 'set', category: 'rates' }, 'data is missing'],
    [{ action: 'set', category: 'rates', data: undefined, rev: 'x' }, 'rev must be an integer'],
    [{ category: 'rates', path: 'fields.9' }, 'nothing is stored at rates.fields.9'],
    [{ action: 'unset', category: 'rates.fields' }, 'nothing is stored at rates.fields'],
    [{ action: 'unset', category: 'rates', data: [1] }, 'data is not allowed for this category'],
    [{ action: 'unset', category: 'file_types', data: {} }, 'data.file_type is missing'],
    [{ action: 'restore', category: 'rates' }, 'rev is missing'],
    [{ action: 'restore', category: 'rates', rev: 7 }, 'rates has no version 7'],
    [{ action: 'history', category: 'rates.fields' }, 'the path must be empty'],
    [{ category: `rates.${'x'.repeat(300)}` }, 'has more than 256 characters'],
  ])('%j', async (params: Fields, reason) => {
    const { status, message } = await api.ask(params, { json: true })
    expect([status, message]).toEqual([0, expect.stringContaining(reason)])
  })

  it.each(['__proto__', 'constructor', 'prototype', '$where', 'a..b', '.', 'x\0y'])(
    'a path with %j',
    async (step) => {
      for (const params of [
        { category: `rates.${step}` },
        { category: 'rates', path: `fields.${step}.x` },
      ]) {
        const message = await api.refused({ action: 'set', ...params, data: { polluted: 1 } })
        expect(message).toMatch(/path .* (is a name|is not the name)/)
      }
      expect(({} as Fields)['polluted']).toBeUndefined()
    },
  )

  it('data that name a prototype, or nest too deep', async () => {
    const evil = '{"fields":[{"__proto__":{"x":1}}]}'
    const body = new URLSearchParams({ action: 'set', category: 'rates', data: evil })
    const answer = await answerOf(await fetch(api.url(), { method: 'POST', body }))
    expect(answer.message).toContain('data.fields.0.__proto__ is a name that is not allowed')
    const deep = `${'['.repeat(60)}${']'.repeat(60)}`
    const nested = new URLSearchParams({ action: 'set', category: 'rates', data: deep })
    const refused = await answerOf(await fetch(api.url(), { method: 'POST', body: nested }))
    expect(refused.message).toContain('nested deeper than')
  })

  it.each([
    ['rates.fields.x', { field_name: 'x' }, 'rates.fields has no member x'],
    ['rates.fields.0.title.more', 1, 'rates.fields.0.title has no parts'],
    ['rates.fields.2', { field_name: 'x' }, 'rates.fields has no member 2'],
  ])('a path that ends before %s', async (category, data, reason) => {
    await set('rates', { fields: [COLOUR] })
    expect(await api.refused({ action: 'set', category, data })).toContain(reason)
  })

  it('a body or value that is too large', async () => {
    const long = (length: number) => ({ description: 'x'.repeat(length) })
    await set('rates', { fields: [{ ...COLOUR, ...long(700_000) }] })
    const data = { ...SIZE, ...long(700_000) }
    const message = await api.refused({ action: 'set', category: 'rates.fields.1', data })
    expect(message).toMatch(/^rates would have 14\d{5} bytes: at most 1048576 are kept$/)
    const body = { action: 'set', category: 'rates', data: long(1_100_000) }
    expect((await api.ask(body)).http).toBe(413)
  })

  it('a change by GET, and other methods', async () => {
    for (const action of ['set', 'unset', 'restore']) {
      const address = `${api.url()}?action=${action}&category=rates&data={}&rev=1`
      const response = await fetch(address)
      expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST'])
    }
    const put = await fetch(api.url(), { method: 'DELETE' })
    expect([put.status, put.headers.get('allow')]).toEqual([405, 'GET, POST'])
    expect(await api.catalog().config.countDocuments()).toBe(0)
  })
})

describe('access to settings', () => {
  const settings = ['rates', 'file_types', 'peers', 'plays', 'taxation', 'events']

  it.each(['security', 'permissions'])('read %s: admins only', async (category) => {
    const refused = await api.ask({ category }, { role: 'read,write' })
    expect([refused.status, refused.message]).toEqual([0, 'needs admin'])
    expect((await api.ask({ category }, { role: 'admin' })).status).toBe(1)
  })

  it.each([...settings, 'billrun'])('read %s: users with role read', async (category) => {
    expect((await api.ask({ category }, { role: 'read' })).status).toBe(1)
    expect((await api.ask({ category }, { role: 'reports' })).message).toBe('needs read')
    expect((await api.ask({ category }, { role: '-' })).message).toBe('not logged in')
  })

  it.each(['set', 'unset', 'restore', 'history'])('%s: admins only', async (action) => {
    for (const category of ['rates', 'billrun', 'nothing']) {
      const answer = await api.ask({ action, category, data: {}, rev: 1 }, { role: 'read,write' })
      expect([answer.status, answer.message]).toEqual([0, 'needs admin'])
    }
    expect(await api.catalog().config.countDocuments()).toBe(0)
  })

  it('the list of categories: users who are logged in', async () => {
    expect((await api.ask({ category: 'taxatoin' }, { role: '-' })).message).toBe('not logged in')
    expect((await api.ask({ action: 'list' }, { role: '-' })).message).toBe('not logged in')
  })
})

describe('two concurrent changes', () => {
  it('by rev: the second one is refused, and writes nothing', async () => {
    const { rev } = await set('rates', { fields: [COLOUR] }, { rev: 0 })
    const next = await set('rates.fields.1', SIZE, { rev })
    const late = { action: 'set', category: 'rates', data: {}, rev }
    const other = `it is at rev ${next.rev}, not at rev ${rev}`
    expect(await api.refused(late)).toBe(`rates was changed by others: ${other}`)
    const unset = { action: 'unset', category: 'rates.fields.0', rev: 0 }
    expect(await api.refused(unset)).toContain('was changed by others')
  })

  it('at different paths do not overwrite each other', async () => {
    const parts = ['session.idle_minutes', 'lockout.attempts', 'password.characters_min']
    await Promise.all(parts.map((part) => set(`security.${part}`, 9)))
    expect((await api.get('security')).details).toEqual({
      session: { idle_minutes: 9 },
      lockout: { attempts: 9 },
      password: { characters_min: 9 },
    })
  })
})

describe('versions', () => {
  it('have a user and a time, can be read, and are in force again when restored', async () => {
    const first = await set('rates', { fields: [COLOUR] })
    const second = await set('rates', { fields: [SIZE] })
    const { details } = await api.ok({ action: 'history', category: 'rates' })
    const actor = { by: 'session', id: 'u1', name: 'ada', address: '192.0.2.1' }
    const who = { changed: new Date(NOW_MS).toISOString(), changed_by: 'ada', actor }
    expect(details).toEqual([
      { rev: second.rev, ...who },
      { rev: first.rev, ...who },
    ])
    const old = await api.get('rates', { rev: first.rev })
    expect([old.details, old.rev]).toEqual([{ fields: [COLOUR] }, first.rev])
    const restored = await api.ok({ action: 'restore', category: 'rates', rev: first.rev })
    expect(restored.details).toEqual({ fields: [COLOUR] })
    expect(restored.rev).toBeGreaterThan(second.rev)
    expect((await api.get('rates')).details).toEqual({ fields: [COLOUR] })
  })

  it('that are invalid are not restored', async () => {
    const broken = { _id: 'rates', value: { fields: [{ field_name: 'a b' }] } }
    await api.catalog().config.insertOne({
      ...broken,
      rev: 1,
      changed: new Date(0),
      changed_by: 'hand',
    })
    const message = await api.refused({ action: 'restore', category: 'rates', rev: 1 })
    expect(message).toContain('rates.fields.0.field_name must be letters')
  })
})

describe('the audit', () => {
  it('has every change with its user, before and after', async () => {
    await set('rates', { fields: [COLOUR] })
    await api.ok({ action: 'unset', category: 'rates.fields.colour' })
    await api.refused({ action: 'set', category: 'rates', data: { fields: 5 } })
    const user = { _id: 'u1', name: 'ada', api: false, by: 'session' }
    const common = { collection: 'settings', key: 'rates', user, ip: '192.0.2.1' }
    expect(await api.audited()).toMatchObject([
      { ...common, type: 'set', old: {}, new: { fields: [COLOUR] }, urt: new Date(NOW_MS) },
      { ...common, type: 'unset', old: { fields: [COLOUR] }, new: { fields: [] } },
    ])
  })
})

describe('without MongoDB', () => {
  it('requests get a 503 that says so', async () => {
    const away = { url: 'mongodb://127.0.0.1:1', database: 'x', timeoutMs: 200, appName: 'test' }
    const catalog = await openCatalog(away)
    const { server, url } = await openSettingsServer(catalog)
    try {
      for (const params of [
        { category: 'rates' },
        { action: 'set', category: 'rates', data: { fields: [] } },
        { action: 'history', category: 'rates' },
      ]) {
        const answer = await askAt(url, params)
        expect([answer.http, answer.message]).toEqual([503, expect.stringContaining('MongoDB')])
      }
    } finally {
      await server.close()
      await catalog.close()
    }
  })
})
