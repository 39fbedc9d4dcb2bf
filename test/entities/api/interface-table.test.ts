/** The actions of each collection of the entity API, over HTTP. */
import { describe, expect, it } from 'vitest'
import {
  type Fields,
  idOf,
  periods,
  stored,
  useApiServer,
} from '../../support/entities/api/api-server.ts'
import { make, makeAny, makeRenewal } from '../../support/entities/api/creators.ts'

const world = useApiServer()

interface Row {
  key: string
  store: string
  /** A field that any update may change. */
  field: string
}

const ROWS: Readonly<Record<string, Row>> = {
  accounts: { key: 'aid', store: 'subscribers', field: 'lastname' },
  subscribers: { key: 'sid', store: 'subscribers', field: 'lastname' },
  plans: { key: 'name', store: 'plans', field: 'description' },
  services: { key: 'name', store: 'services', field: 'description' },
  rates: { key: 'key', store: 'rates', field: 'description' },
  charges: { key: 'key', store: 'charges', field: 'description' },
  discounts: { key: 'key', store: 'discounts', field: 'description' },
  prepaidincludes: { key: 'name', store: 'prepaidincludes', field: 'description' },
  prepaidgroups: { key: 'name', store: 'prepaidgroups', field: 'description' },
  taxes: { key: 'key', store: 'taxes', field: 'description' },
}

/** An entity of a row, and the operations of its tests. */
class Subject {
  readonly row: Row
  readonly filter: Fields
  readonly collection: string
  lastId: string

  private constructor(collection: string, row: Row, key: unknown, id: string) {
    this.collection = collection
    this.row = row
    this.filter = { [row.key]: key }
    if (row.store === 'subscribers') this.filter['type'] = collection.slice(0, -1)
    this.lastId = id
  }

  static async create(collection: string): Promise<Subject> {
    const row = ROWS[collection]
    if (row === undefined) throw new Error(collection)
    const body = await makeAny(world, collection)
    // Rates without a tax, and a tax that is not the default, cause warnings.
    const keys = Object.keys(body).filter((key) => key !== 'warnings')
    expect(keys).toEqual(['status', 'details', 'entity'])
    expect(body.details).toBe(collection === 'subscribers' ? null : true)
    expect(body.entity['from']).toEqual({ sec: Date.UTC(2026, 0, 1) / 1000, usec: 0 })
    const subject = new Subject(collection, row, body.entity[row.key], idOf(body))
    expect(await subject.periods()).toEqual(['2026-01-01 -'])
    return subject
  }

  periods(): Promise<string[]> {
    return periods(world, this.row.store, this.filter)
  }

  async values(): Promise<unknown[]> {
    const found = await stored(world, this.row.store, this.filter)
    return found.map((one) => one[this.row.field])
  }

  /** A write of the last revision. */
  async write(action: string, update: Fields): Promise<Fields> {
    const query = { _id: this.lastId }
    const body = await world.ok(this.collection, action, { query, update })
    expect(body.details).toBe(true)
    this.lastId = idOf(body)
    return body as unknown as Fields
  }
}

async function reads({ collection, row, filter }: Subject): Promise<void> {
  const query = { [row.key]: filter[row.key] }
  for (const action of ['get', 'uniqueget']) {
    const body = await world.ok(collection, action, { query })
    expect(Object.keys(body)).toEqual(['status', 'next_page', 'details'])
    expect(body.next_page).toBe(false)
    expect(body.details).toMatchObject([{ ...query, from: '2026-01-01T00:00:00+0000' }])
    const unknown = await world.rows(collection, { query: { _id: 'f'.repeat(24) } }, action)
    expect(unknown).toEqual([])
  }
}

async function updates(subject: Subject): Promise<void> {
  const { row } = subject
  const body = await subject.write('update', { [row.field]: 'first' })
  expect(body['entity']).toMatchObject({ [row.field]: 'first' })
  expect(await subject.values()).toEqual(['first'])
}

async function closesAndRenews(subject: Subject): Promise<void> {
  await subject.write('closeandnew', { from: '2026-03-01', [subject.row.field]: 'second' })
  expect(await subject.periods()).toEqual(['2026-01-01 2026-03-01', '2026-03-01 -'])
  expect(await subject.values()).toEqual(['first', 'second'])
}

async function changesPermanently({ collection, row, filter, ...subject }: Subject) {
  const query = { [row.key]: filter[row.key], effective_date: '2026-02-01' }
  const update = { from: '2026-02-01', [row.field]: 'third' }
  const body = await world.ok(collection, 'permanentchange', { query, update })
  expect(body).toMatchObject({ details: true, totalUpdated: 2, totalCreated: 1 })
  expect(subject.lastId).toMatch(/^[0-9a-f]{24}$/)
}

async function moves(subject: Subject, month: string): Promise<void> {
  const before = await subject.periods()
  await subject.write('move', { from: month })
  const expected = [...before.slice(0, -2), before.at(-2)?.replace(/\S+$/, month), `${month} -`]
  expect(await subject.periods()).toEqual(expected)
}

async function deletes(subject: Subject): Promise<void> {
  const before = await subject.periods()
  const query = { _id: subject.lastId }
  const body = await world.ok(subject.collection, 'delete', { query })
  expect(body.details).toBe(true)
  subject.lastId = idOf(body)
  const [lastBut] = (before.at(-2) ?? '').split(' ')
  expect(await subject.periods()).toEqual([...before.slice(0, -2), `${lastBut} -`])
}

async function closes(subject: Subject): Promise<void> {
  const before = await subject.periods()
  await subject.write('close', { to: '2026-09-01' })
  const last = before.at(-1)?.replace(/-$/, '2026-09-01')
  expect(await subject.periods()).toEqual([...before.slice(0, -1), last])
}

async function reopens(subject: Subject): Promise<void> {
  const before = await subject.periods()
  await subject.write('reopen', { from: '2026-10-01' })
  expect(await subject.periods()).toEqual([...before, '2026-10-01 -'])
}

async function expectLifeCycle(collection: string, without: readonly string[] = []): Promise<void> {
  const subject = await Subject.create(collection)
  await reads(subject)
  await updates(subject)
  await closesAndRenews(subject)
  if (!without.includes('permanentchange')) {
    await changesPermanently(subject)
    const days = ['2026-01-01 2026-02-01', '2026-02-01 2026-03-01', '2026-03-01 -']
    expect(await subject.periods()).toEqual(days)
    expect(await subject.values()).toEqual(['first', 'third', 'third'])
  }
  if (!without.includes('move')) await moves(subject, '2026-04-01')
  await deletes(subject)
  await closes(subject)
  if (!without.includes('reopen')) await reopens(subject)
}

async function expectMissing(collection: string, without: readonly string[]): Promise<void> {
  const before = await world.digest()
  for (const action of [...without, 'drop', 'constructor', '__proto__', 'toString']) {
    const { http, body } = await world.call(collection, action, { query: {}, update: {} })
    expect([http, body.status, body.code]).toEqual([200, 0, 17_575])
    expect(body.message).toContain(action)
    expect(body.display).toBe(body.message)
  }
  expect(await world.digest()).toBe(before)
}

const LIFE = 'get, uniqueget, create, update, close, closeandnew, reopen, delete'

describe('the actions of', () => {
  it(`accounts: ${LIFE}, permanentchange`, async () => {
    await expectLifeCycle('accounts', ['move'])
    await expectMissing('accounts', ['move', 'export'])
  })

  it(`subscribers: ${LIFE}, move, permanentchange`, async () => {
    await expectLifeCycle('subscribers')
    await expectMissing('subscribers', ['export'])
  })

  it.each(['plans', 'services', 'rates'])(`%s: ${LIFE}, move, permanentchange`, async (name) => {
    await expectLifeCycle(name)
    await expectMissing(name, name === 'rates' ? [] : ['export'])
  })

  it('balances: no create, close, closeandnew, reopen, move, permanentchange', async () => {
    await expectMissing('balances', ['create', 'close', 'closeandnew', 'reopen', 'move'])
    await expectMissing('balances', ['permanentchange', 'import', 'export'])
  })

  it('bills: no create, close, closeandnew, reopen, move, permanentchange', async () => {
    await expectMissing('bills', ['create', 'close', 'closeandnew', 'reopen', 'move'])
    await expectMissing('bills', ['permanentchange', 'import', 'export'])
  })

  it('lines: none that write a recorded line', async () => {
    await expectMissing('lines', ['create', 'update', 'close', 'closeandnew', 'reopen', 'move'])
    await expectMissing('lines', ['permanentchange', 'import', 'export'])
  })
})

describe('the further actions of', () => {
  it('charges: as discounts, and no permanentchange', async () => {
    await expectLifeCycle('charges', ['reopen', 'permanentchange'])
    await expectMissing('charges', ['reopen', 'permanentchange', 'import'])
  })

  it('discounts: no reopen', async () => {
    await expectLifeCycle('discounts', ['reopen'])
    await expectMissing('discounts', ['reopen'])
  })

  it.each(['prepaidincludes', 'prepaidgroups', 'taxes'])('%s: all', async (collection) => {
    await expectLifeCycle(collection)
    await expectMissing(collection, ['import', 'export'])
  })

  it('reports: get, create, update, delete', async () => {
    const { entity } = await make(world, 'reports')
    const query = { key: entity['key'] }
    expect(await world.rows('reports', { query })).toMatchObject([{ entity: 'usage' }])
    const changed = { query: { ...query, effective_date: '2026-02-01' }, update: { type: 0 } }
    expect(await world.ok('reports', 'update', changed)).toMatchObject({ entity: { type: 0 } })
    await world.ok('reports', 'delete', { query: { _id: entity._id.$id } })
    expect(await world.rows('reports', { query })).toEqual([])
    await expectMissing('reports', ['uniqueget', 'close', 'closeandnew', 'reopen', 'move'])
  })

  it('users: get, create, update, delete; a password is never shown', async () => {
    const body = await make(world, 'users')
    const query = { _id: idOf(body) }
    expect(body.entity).not.toHaveProperty('password')
    const update = { roles: ['read', 'write'], password: 'another good one' }
    const changed = await world.ok('users', 'update', { query, update })
    expect(changed).toMatchObject({ details: null, entity: { roles: ['read', 'write'] } })
    expect(changed.entity).not.toHaveProperty('password')
    const [row] = await world.rows('users', { query })
    expect(row).toMatchObject({ username: body.entity['username'] })
    expect(row).not.toHaveProperty('password')
    const [known] = await stored(world, 'users', { username: body.entity['username'] })
    expect(known?.['password']).toMatch(/^\$argon2id\$/)
    expect((await world.ok('users', 'delete', { query })).details).toBeNull()
    expect(await world.rows('users', { query })).toEqual([])
    await expectMissing('users', ['uniqueget', 'close', 'closeandnew', 'reopen', 'move', 'import'])
  })

  it('autorenew: get, create, update, delete', async () => {
    const body = await makeRenewal(world)
    expect(body.details).toBeNull()
    const query = { _id: idOf(body) }
    expect(await world.rows('autorenew', { query })).toMatchObject([
      { cycles: 3, cycles_remaining: 3, interval: 'month', next_renew: '2026-07-15T00:00:00+0000' },
    ])
    const update = { cycles_remaining: 2 }
    const changed = await world.ok('autorenew', 'update', { query, update })
    expect(changed).toMatchObject({ details: true, entity: { cycles_remaining: 2 } })
    await world.ok('autorenew', 'delete', { query })
    expect(await world.rows('autorenew', { query })).toEqual([])
    await expectMissing('autorenew', ['uniqueget', 'close', 'closeandnew', 'reopen', 'move'])
  })

  it('unknown collections: none', async () => {
    for (const name of ['auditlog', 'constructor', '__proto__', 'config', 'counters', 'Plans']) {
      const { code, message } = await world.refused(name, 'get')
      expect([code, message]).toEqual([17_575, expect.stringContaining(name)])
    }
  })
})

describe('a call', () => {
  it.each(['form', 'json', 'multipart'] as const)('is read as %s', async (way) => {
    const { entity } = await make(world, 'plans')
    const { name } = entity
    const query = { name, effective_date: '2026-02-01' }
    const update = { description: `by ${way}: ü€` }
    const body = await world.ok('plans', 'update', { query, update }, way)
    expect(body.entity['description']).toBe(`by ${way}: ü€`)
    const rows = await world.ok('plans', 'get', { query: { name } }, way)
    expect(rows.details).toMatchObject([{ name, description: `by ${way}: ü€` }])
  })

  it('reads by GET, and writes only by POST; the action in any case', async () => {
    const { name } = (await make(world, 'plans')).entity
    const read = await world.ok('plans', 'UniqueGet', { query: { name } }, 'query')
    expect(read.details).toMatchObject([{ name }])
    const { http, body } = await world.call('plans', 'update', { query: { name } }, 'query')
    expect([http, body.status]).toEqual([405, 0])
  })
})
