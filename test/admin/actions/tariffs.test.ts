/** Tariff change sets: all writes at one instant, or none; taken back together. */
import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, it } from 'vitest'
import { quote } from '../../../src/admin/actions/quote.ts'
import { ACTIONS } from '../../../src/admin/actions/table.ts'
import { type Fields, NOW_MS, useActionServer } from '../../support/admin/actions/action-server.ts'
import { insertEntity } from '../../support/catalog/store.ts'

const TARIFFS = ACTIONS.filter(({ name }) => name.startsWith('tariffs'))
const api = useActionServer([quote, ...TARIFFS], {}, { hasLedger: true })

const T_MS = NOW_MS + 3_600_000
const T = new Date(T_MS).toISOString()
const LATER = new Date(T_MS + 7_200_000).toISOString()

const tier = (price: number) => ({ rate: [{ from: 0, to: 'UNLIMITED', interval: 1, price }] })
const priced = (usaget: string, price: number) => ({ rates: { [usaget]: { BASE: tier(price) } } })
const write = (key: string, usaget: string, price: number) => ({
  ...{ collection: 'rates', action: 'closeandnew', query: { key }, update: priced(usaget, price) },
})

const PAGE = readFileSync(new URL('../../../docs/CATALOGUE.md', import.meta.url), 'utf8')
/** Two rates, at 2 and 5. */
const DOCUMENTED = JSON.parse(/^```json tariff\n(.*?)\n```$/ms.exec(PAGE)?.[1] ?? '')
const BOTH: readonly object[] = DOCUMENTED.writes

beforeAll(async () => {
  for (const [key, usaget] of [
    ['DATA', 'data'],
    ['SMS', 'sms'],
  ] as const) {
    await insertEntity(api.catalog(), 'rates', { key, ...priced(usaget, 1) })
  }
  await insertEntity(api.catalog(), 'plans', { connection_type: 'postpaid' })
  await insertEntity(api.catalog(), 'subscribers', {
    type: 'account',
    sid: undefined,
    plan: undefined,
  })
  await insertEntity(api.catalog(), 'subscribers', {})
})

async function pricesAt(ms: number): Promise<unknown[]> {
  api.at(ms)
  const usage = ['data', 'sms'].map((usaget) => ({ sid: 18, usaget, usagev: 1 }))
  const answers = [
    await api.ask('quote', usage[0] as Fields),
    await api.ask('quote', usage[1] as Fields),
  ]
  return answers.map(({ details }) => (details as Fields)['aprice'])
}

const stateOf = ({ details, text }: Fields) => (details as Fields | undefined)?.['state'] ?? text

/** Later than the set of the first tests. */
async function prepared(name: string, writes: readonly object[], more: Fields = {}) {
  api.at(T_MS + 120_000)
  const done = await api.ask('tariffsprepare', { name, activation: LATER, writes, ...more })
  expect(stateOf(done)).toBe('draft')
}

/** All revisions, also deleted ones. */
async function revisions(key: string) {
  const found = await api.catalog().rates.find({ key }).sort({ from: 1 }).toArray()
  return found.map(({ from, to, deleted = false }) => ({ from, to, deleted }))
}

const CASE = {
  name: 'a message',
  catalogue: { rates: [{ key: 'SMS', ...priced('sms', 1) }], plans: [{ name: 'P' }] },
  subscriber: { plan: 'P' },
  events: [{ usaget: 'sms', usagev: 1 }],
}

it('charges by the old prices until the instant, and by all new ones from then on', async () => {
  api.at(NOW_MS)
  await api.ask('tariffsprepare', { ...DOCUMENTED, name: 'two', activation: T })
  expect(stateOf(await api.ask('tariffsschedule', { name: 'two' }))).toBe('scheduled')
  expect(await pricesAt(T_MS - 1)).toEqual([1, 1])
  expect(await pricesAt(T_MS)).toEqual([2, 5])
  expect(await pricesAt(T_MS + 1)).toEqual([2, 5])
  const [listed] = (await api.ask('tariffs', { name: 'two' }))['details'] as Fields[]
  expect(listed).toMatchObject({ name: 'two', state: 'activated', activation: T })
  const refused = await api.ask('tariffscancel', { name: 'two' })
  expect(refused).toMatchObject({ status: 0, errors: [{ code: 'conflict' }] })
})

it('takes the previous prices from the rollback on, and leaves the time between', async () => {
  api.at(T_MS + 60_000)
  const done = await api.ask('tariffsrollback', { name: 'two' })
  expect(done['details']).toMatchObject({ state: 'rolled_back' })
  expect(await pricesAt(T_MS + 59_999)).toEqual([2, 5])
  expect(await pricesAt(T_MS + 60_000)).toEqual([1, 1])
  const again = await api.ask('tariffsrollback', { name: 'two' })
  expect(again).toMatchObject({ status: 0, errors: [{ code: 'conflict' }] })
  const records = await api.catalog().audit.find({ collection: 'tariffsets' }).toArray()
  expect(records.map(({ type, key, user }) => [type, key, user.name])).toEqual(
    ['prepare', 'check', 'schedule', 'rollback'].map((type) => [type, 'two', 'ada']),
  )
})

describe('a set that is refused', () => {
  it('writes nothing, and names what is wrong with each write', async () => {
    const wrong = {
      ...write('DATA', 'data', 3),
      update: { rates: { data: { BASE: { rate: 1 } } } },
    }
    await prepared('half', [BOTH[1] as object, wrong, write('NONE', 'sms', 1)])
    const before = [await revisions('SMS'), await revisions('DATA')]
    const refused = await api.ask('tariffsschedule', { name: 'half' })
    expect(refused).toMatchObject({ status: 0 })
    expect(pathsIn(refused)).toEqual(['writes.1.rates.data.BASE.rate', 'writes.2'])
    expect([await revisions('SMS'), await revisions('DATA')]).toEqual(before)
    const { details } = await api.ask('tariffs', { name: 'half' })
    expect(details).toMatchObject([{ state: 'failed', errors: [{}, {}] }])
  })

  it('has a case that is not as expected', async () => {
    const cases = [{ ...CASE, expect: [{ aprice: 4 }] }, CASE]
    await prepared('cases', BOTH, { cases })
    const { details } = await api.ask('tariffscheck', { name: 'cases' })
    expect(details).toMatchObject({
      state: 'failed',
      errors: [
        { path: 'cases.0.expect.0.aprice', why: 'is 5, not 4 (a message)' },
        { path: 'cases.1.expect', code: 'missing' },
      ],
    })
    expect(await revisions('SMS')).not.toContainEqual({
      from: new Date(T_MS),
      to: expect.anything(),
    })
  })

  it('has been prepared before others have changed one of its entities', async () => {
    await prepared('late', BOTH)
    await prepared('first', [write('SMS', 'sms', 7)])
    expect(stateOf(await api.ask('tariffsschedule', { name: 'first' }))).toBe('scheduled')
    const refused = await api.ask('tariffsschedule', { name: 'late' })
    expect(refused['errors']).toContainEqual(
      expect.objectContaining({ path: 'writes.1', code: 'conflict' }),
    )
    expect(stateOf(await api.ask('tariffscancel', { name: 'first' }))).toBe('draft')
  })

  it('has writes that are none of a tariff, or another instant', async () => {
    const writes = [
      { collection: 'subscribers', action: 'create', update: {} },
      { collection: 'rates', action: 'delete', query: { key: 'SMS' } },
      { ...write('SMS', 'sms', 2), update: { from: T } },
    ]
    const given = { name: 'bad', activation: T, writes, cases: [false] }
    const refused = await api.ask('tariffsprepare', given)
    expect(pathsIn(refused)).toEqual([
      'writes.0.collection',
      'writes.1.action',
      'writes.2.update.from',
      'cases.0',
    ])
  })

  it('does what its caller may not do', async () => {
    await prepared('denied', [write('SMS', 'sms', 7)])
    const denied = await api.ask(
      'tariffsschedule',
      { name: 'denied' },
      { user: 'rates/closeandnew', role: 'write' },
    )
    expect(denied).toMatchObject({ code: 17575 })
  })

  it('is neither prepared, replaced nor shown without the permissions of its writes', async () => {
    const plan = { collection: 'plans', action: 'close', query: { name: 'GOLD' } }
    await prepared('secret', [write('SMS', 'sms', 7)])
    for (const [name, writes] of [
      ['another', [plan, write('SMS', 'sms', 8)]],
      ['secret', [plan]],
    ] as const) {
      const draft = { name, activation: LATER, writes }
      const denied = { user: 'rates/closeandnew', role: 'write' }
      expect(await api.ask('tariffsprepare', draft, denied)).toMatchObject({ code: 17575 })
    }
    const listed = async (user: string) =>
      (await api.ask('tariffs', { name: 'secret' }, { user, role: 'read' }))['details']
    expect(await listed('eve')).toMatchObject([{ state: 'draft', writes: [{ query: SMS }] }])
    expect(await listed('rates/get')).toEqual([])
  })
})

const SMS = { key: 'SMS' }

it('is removed as a whole before its instant, with entities that it creates', async () => {
  const rate = { collection: 'rates', action: 'create', query: {}, update: { key: 'NEW', ...NEW } }
  const rates = { NEW: { call: tier(3) } }
  const plan = { collection: 'plans', action: 'permanentchange', query: { name: 'GOLD' } }
  await prepared('new', [rate, { ...plan, update: { rates } }, BOTH[0] as object])
  const { catalog } = api
  const planBefore = await catalog()
    .plans.find({ deleted: { $ne: true } })
    .toArray()
  const before = await revisions('DATA')
  expect(stateOf(await api.ask('tariffsschedule', { name: 'new' }))).toBe('scheduled')
  expect(await catalog().plans.countDocuments({ deleted: { $ne: true } })).toBe(2)
  const audited = await catalog().audit.find({ collection: 'rates', key: 'NEW' }).toArray()
  expect(audited.map(({ type }) => type)).toEqual(['create'])
  expect(stateOf(await api.ask('tariffscancel', { name: 'new' }))).toBe('draft')
  expect((await revisions('DATA')).filter(({ deleted }) => !deleted)).toEqual(
    before.filter(({ deleted }) => !deleted),
  )
  expect((await revisions('NEW')).map(({ deleted }) => deleted)).toEqual([true])
  const planAfter = await catalog()
    .plans.find({ deleted: { $ne: true } })
    .toArray()
  expect(planAfter.map(withoutNumber)).toEqual(planBefore.map(withoutNumber))
})

it('is removed where an entity uses what was created after its first write', async () => {
  const plan = { collection: 'plans', action: 'permanentchange', query: { name: 'GOLD' } }
  const rate = {
    collection: 'rates',
    action: 'create',
    query: {},
    update: { key: 'NEWER', ...NEW },
  }
  const uses = { ...plan, update: { rates: { NEWER: { call: tier(3) } } } }
  await prepared('order', [{ ...plan, update: { description: 'first' } }, rate, uses])
  expect(stateOf(await api.ask('tariffsschedule', { name: 'order' }))).toBe('scheduled')
  expect(stateOf(await api.ask('tariffscancel', { name: 'order' }))).toBe('draft')
  expect((await revisions('NEWER')).map(({ deleted }) => deleted)).toEqual([true])
})

it('is removed after a later set of the same entity was, and not before', async () => {
  for (const [name, action, price] of [
    ['older', 'closeandnew', 8],
    ['newer', 'permanentchange', 9],
  ] as const) {
    await prepared(name, [{ ...write('SMS', 'sms', price), action }])
    expect(stateOf(await api.ask('tariffsschedule', { name }))).toBe('scheduled')
  }
  // A revision of this start was deleted before: an index keeps the times of deletion apart.
  api.at(T_MS + 180_000)
  const refused = await api.ask('tariffscancel', { name: 'older' })
  expect(refused['text']).toContain('writes.0 rates SMS has been changed by others')
  for (const name of ['newer', 'older']) {
    expect(stateOf(await api.ask('tariffscancel', { name }))).toBe('draft')
  }
})

const NEW = { pricing_method: 'tiered', ...priced('call', 3) }
const withoutNumber = ({ rev: _, ...document }: Fields) => document

function pathsIn({ errors }: Fields): string[] {
  return (errors as { path: string }[]).map(({ path }) => path)
}
