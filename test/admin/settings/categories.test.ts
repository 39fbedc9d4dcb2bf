import { describe, expect, it } from 'vitest'
import type { Category } from '../../../src/admin/settings/category.ts'
import { compilePeers } from '../../../src/catalog/settings/peers.ts'
import { writeStoredConfig } from '../../../src/catalog/settings/stored-config.ts'
import { FieldError, isObject } from '../../../src/domain/fields.ts'
import { builtInFileTypes } from '../../../src/file-types/built-in.ts'
import { type Fields, useSettingsServer } from '../../support/admin/settings/settings-server.ts'
import { writeEntity } from '../../support/catalog/write.ts'

/** A category with secrets: `password` is never returned, and stays unless it is sent. */
const WITH_SECRETS: Category = {
  name: 'auth',
  about: 'Secrets.',
  readRole: 'admin',
  check(value) {
    if (!isObject(value)) throw new FieldError('auth', 'must be an object')
  },
  view(stored) {
    const { password: _, ...others } = isObject(stored) ? stored : {}
    return others
  },
  merge(value, stored) {
    const password = isObject(stored) ? stored['password'] : undefined
    return password === undefined ? value : { password, ...(value as object) }
  },
}

/** A category whose members are created and ended. */
const WITH_MEMBERS: Category = {
  name: 'shared_secret',
  about: 'Made.',
  readRole: 'admin',
  check: () => undefined,
  view: (stored) => Object.keys(stored as object),
  special: {
    set(stored, data) {
      const { name } = data as { name: string }
      return { value: { ...(stored as object), [name]: 'sealed' }, response: { name, key: 'once' } }
    },
    unset(stored, data) {
      const { [String((data as Fields)['name'])]: gone, ...others } = stored as Fields
      if (gone === undefined) throw new FieldError('shared_secret', 'has none of this name')
      return { value: others, response: true }
    },
  },
}

const api = useSettingsServer([WITH_SECRETS, WITH_MEMBERS])

const set = (category: string, data: unknown, more: Fields = {}) =>
  api.ok({ action: 'set', category, data, ...more })
const refused = (category: string, data: unknown) => api.refused({ action: 'set', category, data })

const [BUILT_IN] = builtInFileTypes().values()

const EVENT = {
  active: true,
  event_code: 'HALF',
  conditions: [{ type: 'reached_percentage', value: '50,90', paths: [{ path: 'balance.cost' }] }],
}

const FRAUD = {
  event_code: 'CALLS',
  recurrence: { type: 'minutely', value: 15 },
  date_range: { type: 'hourly', value: 1 },
  conditions: [[{ field: 'usaget', op: 'in', value: ['call'] }]],
  threshold_conditions: [[{ field: 'usagev', op: 'gt', value: '3600', unit: 'minutes' }]],
}

describe('values that are stored', () => {
  it.each([
    ['rates', { fields: [{ field_name: 'colour', type: 'select', select_options: 'red' }] }],
    ['prepaidgroups', { fields: [] }],
    ['security', { cors: { origins: ['https://crm.example.net'] } }],
    ['permissions', { rules: [{ collection: 'plans', actions: ['get'], roles: ['sales'] }] }],
    ['permissions', { rules: [{ collection: '*', actions: '*', roles: ['sales', 'admin'] }] }],
    ['plays', { plays: [{ name: 'MOBILE', enabled: true, default: true }, { name: 'TV' }] }],
    ['events', { balance: [EVENT], settings: { http: { url: 'https://crm.example.net/told' } } }],
    ['events', { money: [{ event_type: 'overdue', filter: { aid: [7] } }], fraud: [FRAUD] }],
    ['events', { balance: [{ ...EVENT, action: { type: 'bar', usaget: ['data'] } }] }],
    ['events', { balance: [{ ...EVENT, action: { type: 'throttle', policy: 'SLOW' } }] }],
    ['invoices', { seller: { name: 'Tel GmbH', country: 'DE' }, columns: ['tax', 'amount'] }],
    ['invoices', { untaxed: { category: 'AE' }, taxes: { EXPORT: { category: 'G' } } }],
    ['taxation', { mapping: { priorities: [{ filters: [{ tax_field: 'k', rate_field: 'k' }] }] } }],
    ['taxation', {}],
  ])('%s: %j', async (category, data) => {
    expect((await set(category, data)).details).toEqual(data)
    expect((await api.get(category)).details).toEqual(data)
  })
})

describe('values that are refused by path, and change nothing', () => {
  it.each([
    ['rates', { fields: [{ field_name: 'x', mandatry: true }] }, 'rates.fields.0.mandatry is not'],
    ['rates', { felds: [] }, 'rates.felds is not known'],
    ['rates', [1], 'rates must be an object'],
    ['subscribers', { subscriber: { fields: 5 } }, 'subscribers.subscriber.fields must be a list'],
    ['subscribers', { customer: {} }, 'subscribers.customer is not known'],
    ['subscribers.account.x', 1, 'subscribers.account.x is not known'],
    [
      'subscribers.subscriber.fields',
      [{ field_name: 'sid', type: 'text' }],
      'must keep its built-in value',
    ],
    ['security', { sesion: {} }, 'security.sesion is not known; did you mean session?'],
    ['security.session.idle_minutes', 0, 'security.session.idle_minutes must be an integer from 1'],
    ['security.oauth.grants', ['implicit'], 'security.oauth.grants.0 must be one of client_cred'],
    ['security', null, 'security must be an object'],
    ['security.cors.origins', ['*'], 'security.cors.origins.0 does not have the required format'],
    [
      'permissions',
      { rules: [{ collection: 'plans', actions: ['get'] }] },
      'rules.0.roles is miss',
    ],
    ['permissions.rules', [{ collection: 'X', actions: '*', roles: ['a'] }], 'rules.0.collection'],
    ['permissions.rules', [{ collection: '*', actions: 'get', roles: ['a'] }], 'rules.0.actions'],
    [
      'permissions.rules',
      [{ collection: '*', actions: '*', roles: ['A'] }],
      'rules.0.roles.0 must',
    ],
    [
      'permissions.rules',
      [{ collection: '*', actions: '*', roles: [] }],
      'rules.0.roles must have',
    ],
    ['plays', { plays: [{ name: 'A' }, { name: 'A' }] }, "plays.plays.1.name 'A' occurs twice"],
    ['plays', { plays: [{ name: 'A', default: true }] }, 'plays.plays.0.default must not be true'],
    ['plays', { plays: [{ name: '' }] }, 'plays.plays.0.name must be 1 to 64 letters'],
    ['events', { balance: [{ conditions: [] }] }, 'events.balance.0.event_code is missing'],
    ['events', { balance: [{ ...EVENT, conditions: [] }] }, 'events.balance.0.conditions must'],
    [
      'events',
      { balance: [{ ...EVENT, conditions: [{ type: 'not_in' }] }] },
      'events.balance.0.conditions.0.type must be one of is, is_not',
    ],
    ['events', { fraud: [{ event_code: 'F' }] }, 'events.fraud.0.recurrence is missing'],
    [
      'events',
      { fraud: [FRAUD, { ...FRAUD, date_range: { type: 'minutely', value: 5 } }] },
      'events.fraud.1.date_range must not be shorter than recurrence',
    ],
    [
      'events',
      { fraud: [{ ...FRAUD, threshold_conditions: [[{ field: 'cost', op: 'gt', value: 1 }]] }] },
      'events.fraud.0.threshold_conditions.0.0.field must be one of usagev, aprice',
    ],
    ['events', { money: [{ event_code: 'PAID' }] }, 'events.money.0.event_type is missing'],
    [
      'events',
      { money: [{ event_type: 'paid' }] },
      'events.money.0.event_type must be one of invoice_confirmed, invoice_parked',
    ],
    [
      'events',
      { money: [{ event_type: 'overdue' }, { event_type: 'overdue', url: 'https://a.example' }] },
      'events.money.1.event_code belongs to another rule of overdue',
    ],
    [
      'events',
      { money: [{ event_type: 'overdue', filter: { plan: ['A'] } }] },
      'events.money.0.filter.plan is not known',
    ],
    [
      'events',
      {
        balance: [EVENT, { event_code: 'C', conditions: [{ type: 'is', value: 1, path: 'cost' }] }],
      },
      'events.balance.1.conditions.0.path is not a value of a balance: balance.cost',
    ],
    ['events', { balance: [{ ...EVENT, filter: { plans: ['A'] } }] }, 'did you mean plan?'],
    [
      'events',
      { balance: [{ ...EVENT, action: { type: 'block' } }] },
      'events.balance.0.action.type must be one of bar, redirect, throttle',
    ],
    [
      'events',
      { balance: [EVENT, { ...EVENT, action: { type: 'throttle' } }] },
      'events.balance.1.action.policy is missing',
    ],
    [
      'events',
      { balance: [{ ...EVENT, action: { type: 'bar', usaget: [] } }] },
      'events.balance.0.action.usaget must have at least 1 member',
    ],
    [
      'events',
      { balance: [{ ...EVENT, action: { type: 'bar', usagets: ['data'] } }] },
      'did you mean usaget?',
    ],
    ['events.settings.http.url', 'https://ada:pw@crm', 'without user and password'],
    ['events.settings.http.url', 'file:///etc/passwd', 'events.settings.http.url must be an addr'],
    ['taxation', { defalut: 'X' }, 'taxation.defalut is not known'],
    ['taxation.default', 'not a key', 'taxation.default must be capital letters'],
    ['taxation.default', { key: 5 }, 'taxation.default.key must be capital letters'],
    ['taxation.mapping', { priorities: [{}] }, 'taxation.mapping.priorities.0.filters is missing'],
    ['taxation', { tax_type: 'CSI' }, "taxation.tax_type must be usage or vat: 'CSI' needs"],
    ['taxation', { tax_type: 'vat' }, 'taxation.default is missing'],
    ['file_types', [{ file_type: 'X' }], 'file_types.X.'],
    ['file_types', {}, 'file_types.0'],
    ['file_types', 5, 'file_types must be a list'],
    ['peers', [{ name: 'a b' }], 'peers.0.name must be'],
    ['peers', [{ name: 'a', addresses: ['10.0.0.300'] }], 'peers.0.addresses.0 must be'],
  ])('%s: %j', async (category, data, reason) => {
    expect(await refused(category, data)).toContain(reason)
  })

  it('except unknown values that are already stored: they may stay', async () => {
    const kept = { customer: { url: 'x' }, account: { more: 1 } }
    const change = { nowMs: 0, by: 'hand' }
    await writeStoredConfig(api.catalog(), 'subscribers', () => kept, change)
    await set('subscribers.subscriber.fields', [{ field_name: 'size' }])
    expect(await refused('subscribers.customer.url', 'y')).toContain('customer is not known')
    await api.ok({ action: 'unset', category: 'subscribers.customer' })
  })
})

describe('taxation', () => {
  it('names a tax in force', async () => {
    const tax = { key: 'REDUCED', description: 'VAT', rate: 0.07, from: '2020-01-01' }
    const options = { mode: 'insert', timeZone: 'UTC' } as const
    await writeEntity(api.catalog(), 'taxes', { ...tax, to: '2026-01-01' }, options)
    const message = await refused('taxation', { default: 'REDUCED' })
    expect(message).toContain('taxation.default must be the key of a tax in force')
    await writeEntity(api.catalog(), 'taxes', { ...tax, from: '2026-01-01' }, options)
    await set('taxation', { default: 'REDUCED' })
    await set('taxation.default', { key: 'REDUCED' })
    const { effective } = await api.get('taxation')
    expect(effective).toEqual({ default: 'REDUCED', mapping: {}, tax_type: 'usage' })
    await set('taxation.tax_type', 'vat')
    expect((await api.get('taxation')).effective).toMatchObject({ tax_type: 'vat' })
    await set('taxation.tax_type', 'usage')
    await api.catalog().taxes.deleteMany({})
    await set('taxation.mapping', { priorities: [] })
  })
})

describe('file types', () => {
  it('are replaced and added one by one, by name', async () => {
    const document = { ...(BUILT_IN as object), file_type: 'MINE' }
    await set('file_types', document)
    await set('file_types', { ...document, file_type: 'OTHER' })
    await set('file_types', { ...document, enabled: false })
    const names = ((await api.get('file_types')).details as Fields[]).map(
      ({ file_type: name, enabled }) => [name, enabled],
    )
    expect(names).toEqual([
      ['MINE', false],
      ['OTHER', undefined],
    ])
    await set('file_types.MINE.enabled', true)
    expect((await api.get('file_types.MINE.enabled')).details).toBe(true)
    await api.ok({ action: 'unset', category: 'file_types', data: { file_type: 'OTHER' } })
    expect((await api.get('file_types')).details).toHaveLength(1)
    expect(await refused('file_types', [document, document])).toContain('occurs twice')
    expect(await refused('file_types.MINE.parser', { type: 'tap3' })).toContain('file_types.MINE')
  })
})

describe('network elements', () => {
  const SHA = 'ab'.repeat(32)
  const keys = [{ sha256: SHA, created: '2026-01-01T00:00:00Z' }]

  it('keep keys that are hidden, and that are not set here', async () => {
    const change = { nowMs: 0, by: 'cli' }
    await writeStoredConfig(api.catalog(), 'peers', () => [{ name: 'pgw1', keys }], change)
    expect((await api.get('peers')).details).toEqual([{ name: 'pgw1' }])
    await set('peers.pgw1.addresses', ['10.0.0.0/8'])
    const answer = await set('peers', [
      { name: 'pgw1', requests_per_second: 5 },
      { name: 'dra', diameter: { origin_host: 'dra.example.net' } },
    ])
    expect(JSON.stringify(answer)).not.toContain(SHA)
    const stored = await api.catalog().config.findOne({ _id: 'peers' })
    expect(stored?.value).toMatchObject([{ name: 'pgw1', keys }, { name: 'dra' }])
    expect(compilePeers(stored?.value).all.map(({ name }) => name)).toEqual(['pgw1', 'dra'])
    expect(await refused('peers.pgw1.keys', keys)).toContain("use 'tollgate peer'")
    expect(await refused('peers', [{ name: 'x', keys }])).toContain('peers.0.keys cannot be set')
    const unset = { action: 'unset', category: 'peers.pgw1.keys' }
    expect(await api.refused(unset)).toBe('nothing is stored at peers.pgw1.keys')
    const written = [await api.audited(), await api.catalog().confighistory.find().toArray()]
    expect(JSON.stringify(written)).not.toContain(SHA)
  })

  it('do not regain a former key by a restored version', async () => {
    const change = { nowMs: 0, by: 'cli' }
    const write = (value: unknown) => writeStoredConfig(api.catalog(), 'peers', () => value, change)
    await write([
      { name: 'pgw1', keys },
      { name: 'gone', keys: [] },
    ])
    const { rev } = await api.get('peers')
    const next = [{ sha256: 'cd'.repeat(32), created: '2026-01-02T00:00:00Z' }]
    await write([{ name: 'pgw1', keys: next }])
    await api.ok({ action: 'restore', category: 'peers', rev })
    const stored = await api.catalog().config.findOne({ _id: 'peers' })
    expect(stored?.value).toEqual([{ name: 'pgw1', keys: next }, { name: 'gone' }])
  })
})

describe('a category with secrets', () => {
  const SECRET = 'do not tell'

  it('never returns them: in no answer, version or record', async () => {
    const first = await set('auth', { url: 'a', password: SECRET })
    const second = await set('auth', { url: 'b' })
    await set('auth.url', 'c')
    const stored = await api.catalog().config.findOne({ _id: 'auth' })
    expect(stored?.value).toEqual({ url: 'c', password: SECRET })
    const old = await api.get('auth', { rev: second.rev })
    const history = await api.ok({ action: 'history', category: 'auth' })
    const restored = await api.ok({ action: 'restore', category: 'auth', rev: first.rev })
    expect(restored.details).toEqual({ url: 'a' })
    const inside = await api.ask({ category: 'auth.password' })
    expect(inside.message).toBe('nothing is stored at auth.password')
    const kept = await api.catalog().confighistory.find().toArray()
    const answers = [first, second, old, history, restored, kept, await api.audited()]
    expect(JSON.stringify(answers)).not.toContain(SECRET)
    const now = await api.catalog().config.findOne({ _id: 'auth' })
    expect(now?.value).toEqual({ url: 'a', password: SECRET })
  })

  it('has no version to restore if it was changed elsewhere', async () => {
    const change = { nowMs: 0, by: 'cli' }
    const write = (value: unknown) => writeStoredConfig(api.catalog(), 'auth', () => value, change)
    await write({ url: 'a', password: SECRET })
    const { rev } = await api.get('auth')
    await write({ url: 'b' })
    const message = await api.refused({ action: 'restore', category: 'auth', rev })
    expect(message).toBe('the value of this version of auth was not kept: it has secrets')
  })
})

describe('a category whose members are created', () => {
  it('returns the created secret once, and never again', async () => {
    const made = await set('shared_secret', { name: 'crm' })
    expect(made.details).toEqual({ name: 'crm', key: 'once' })
    expect((await api.get('shared_secret')).details).toEqual(['crm'])
    const audited = JSON.stringify(await api.audited())
    expect(audited).not.toMatch(/once|sealed/)
    expect(await refused('shared_secret.crm', {})).toContain('cannot be set by path')
    await set('shared_secret', { name: 'b' })
    await api.ok({ action: 'unset', category: 'shared_secret', data: { name: 'crm' } })
    expect(await api.refused({ action: 'unset', category: 'shared_secret' })).toContain('must name')
    const again = { action: 'unset', category: 'shared_secret.crm' }
    expect(await api.refused(again)).toBe('shared_secret has none of this name')
    await api.ok({ action: 'unset', category: 'shared_secret.b' })
    expect((await api.get('shared_secret')).details).toEqual([])
    const restore = { action: 'restore', category: 'shared_secret', rev: made.rev }
    expect(await api.refused(restore)).toContain('cannot be restored')
  })
})
