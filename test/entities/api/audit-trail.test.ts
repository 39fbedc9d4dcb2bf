/** Audit records of each write of the entity API, over HTTP. */
import { describe, expect, it } from 'vitest'
import { ObjectId } from '../../../src/catalog/collections.ts'
import {
  type Body,
  type Fields,
  idOf,
  stored,
  useApiServer,
} from '../../support/entities/api/api-server.ts'
import {
  BEGIN,
  make,
  makeAny,
  makePrepaidGroup,
  makeSubscriber,
} from '../../support/entities/api/creators.ts'

const world = useApiServer()

interface Recorded {
  collection: string
  type: string
  key: string
  user: Fields
  ip: string
  old: Fields | null
  new: Fields | null
  stamp: string
  operation_id?: string
}

/** Records that an action adds, in the order in which they were written. */
async function recordsOf(act: () => Promise<unknown>): Promise<Recorded[]> {
  const { audit } = world.stores().catalog
  const before = new Set((await audit.find().toArray()).map(({ stamp }) => stamp))
  await act()
  const found = await audit.find().sort({ urt: 1, _id: 1 }).toArray()
  return found.filter(({ stamp }) => !before.has(stamp)) as unknown as Recorded[]
}

async function cardCall(params: Fields): Promise<void> {
  const headers = { 'content-type': 'application/json' }
  const sent = { method: 'POST', headers, body: JSON.stringify(params) }
  expect((await world.send('/api/cards', sent)).body).toMatchObject({ status: 1 })
}

function summaries(records: readonly Recorded[]): string[] {
  return records.map(({ collection, type, key }) => `${collection} ${type} ${key}`)
}

/** Begin and end of a document, as dates. */
function period(document: Fields | null): string {
  const day = (value: unknown) => (value as Date).toISOString().slice(0, 10)
  return document === null ? '-' : `${day(document['from'])} ${day(document['to'])}`
}

const COLLECTIONS = ['accounts', 'subscribers', 'plans', 'services', 'rates', 'taxes'] as const
const KEYS: Record<string, string> = {
  accounts: 'aid',
  subscribers: 'sid',
  plans: 'name',
  services: 'name',
  rates: 'key',
  taxes: 'key',
}
const FIELD: Record<string, string> = { accounts: 'lastname', subscribers: 'lastname' }

/** An entity, the parameters that address its revisions, and an update of it. */
async function subjectOf(collection: string) {
  const body = await makeAny(world, collection, { to: '2027-01-01' })
  const key = String(body.entity[KEYS[collection] ?? ''])
  const field = FIELD[collection] ?? 'description'
  const changed = (value: string): Fields => {
    const recurrence = collection === 'services' ? body.entity['recurrence'] : undefined
    const rate = collection === 'taxes' ? body.entity['rate'] : undefined
    return { [field]: value, ...(recurrence !== undefined && { recurrence }), rate }
  }
  return { id: idOf(body), key, field, changed }
}

describe.each(COLLECTIONS)('%s', (collection) => {
  it('create, update and delete add one record each', async () => {
    let key = ''
    let id = ''
    const created = await recordsOf(async () => {
      const subject = await makeAny(world, collection)
      key = String(subject.entity[KEYS[collection] ?? ''])
      id = idOf(subject)
    })
    const [record] = created.filter((one) => one.collection === collection)
    expect(record).toMatchObject({
      type: 'create',
      key,
      old: null,
      new: { _id: new ObjectId(id) },
      user: { name: '', by: 'open', api: false },
      ip: '127.0.0.1',
    })
    const { changed, field } = await subjectOf(collection)
    const updated = await recordsOf(() =>
      world.ok(collection, 'update', { query: { _id: id }, update: changed('next') }),
    )
    expect(summaries(updated)).toEqual([`${collection} update ${key}`])
    expect(updated[0]?.old?.[field]).not.toBe('next')
    expect(updated[0]?.new?.[field]).toBe('next')
    const deleted = await recordsOf(() => world.ok(collection, 'delete', { query: { _id: id } }))
    expect(summaries(deleted)).toEqual([`${collection} delete ${key}`])
    expect(deleted[0]).toMatchObject({ old: { [field]: 'next' }, new: null })
  })

  it('closeandnew adds one record, from the revision that it ends to the new one', async () => {
    const { id, key, field, changed } = await subjectOf(collection)
    const update = { ...changed('later'), from: '2026-03-01' }
    const records = await recordsOf(() =>
      world.ok(collection, 'closeandnew', { query: { _id: id }, update }),
    )
    expect(summaries(records)).toEqual([`${collection} closeandnew ${key}`])
    const [{ old, new: after } = { old: null, new: null }] = records
    expect(period(old)).toBe('2026-01-01 2027-01-01')
    expect(period(after)).toBe('2026-03-01 2027-01-01')
    expect(after?.[field]).toBe('later')
  })

  it('close and reopen add one record each', async () => {
    const isHolder = collection === 'accounts' || collection === 'subscribers'
    const { id, key } = await subjectOf(collection)
    const closed = await recordsOf(() =>
      world.ok(collection, 'close', { query: { _id: id }, update: { to: '2026-09-01' } }),
    )
    expect(summaries(closed)).toEqual([`${collection} close ${key}`])
    expect(closed.map(({ new: after }) => period(after))).toEqual(['2026-01-01 2026-09-01'])
    const reopened = await recordsOf(() =>
      world.ok(collection, 'reopen', { query: { _id: id }, update: { from: '2026-10-01' } }),
    )
    const [first, ...more] = reopened.filter(({ type }) => type === 'reopen')
    expect([first?.key, more]).toEqual([key, []])
    // The revision before no longer has the date at which the subscriber left.
    const derived = reopened.filter((one) => one !== first).map(({ type }) => type)
    expect(derived).toEqual(isHolder ? ['update'] : [])
    expect(period(first?.old ?? null)).toBe('2026-01-01 2026-09-01')
    expect(first?.new?.['from']).toEqual(new Date('2026-10-01T00:00:00Z'))
  })
})

describe('a write of several revisions', () => {
  async function twoRevisions() {
    const body = await make(world, 'plans')
    const query = { _id: idOf(body) }
    const second = await world.ok('plans', 'closeandnew', { query, update: { from: '2026-03-01' } })
    return { first: idOf(body), second: idOf(second), name: String(body.entity['name']) }
  }

  it('records the neighbour that move changes', async () => {
    const { second, name } = await twoRevisions()
    const moved = await recordsOf(() =>
      world.ok('plans', 'move', { query: { _id: second }, update: { from: '2026-04-01' } }),
    )
    expect(summaries(moved).sort()).toEqual([`plans move ${name}`, `plans update ${name}`])
    const begins = moved.map(({ type, old, new: after }) => {
      return [type, period(old).slice(0, 21), period(after).slice(0, 21)]
    })
    expect(begins.find(([type]) => type === 'update')).toEqual([
      'update',
      '2026-01-01 2026-03-01',
      '2026-01-01 2026-04-01',
    ])
    expect(begins.find(([type]) => type === 'move')?.slice(1)).toEqual([
      expect.stringMatching(/^2026-03-01/),
      expect.stringMatching(/^2026-04-01/),
    ])
    const nothing = { query: { _id: second }, update: { from: '2026-04-01' } }
    expect(await recordsOf(() => world.ok('plans', 'move', nothing))).toEqual([])
  })

  it('records the revision that delete extends', async () => {
    const { second, name } = await twoRevisions()
    const deleted = await recordsOf(() => world.ok('plans', 'delete', { query: { _id: second } }))
    expect(summaries(deleted).sort()).toEqual([`plans delete ${name}`, `plans update ${name}`])
  })

  it('records the cut and each changed revision of permanentchange', async () => {
    const { first, name } = await twoRevisions()
    const update = { from: '2026-02-01', description: 'changed' }
    const changed = await recordsOf(() =>
      world.ok('plans', 'permanentchange', { query: { _id: first }, update }),
    )
    expect(summaries(changed)).toEqual(Array(3).fill(`plans permanentchange ${name}`))
    const after = changed.map(
      (one) => `${period(one.new).slice(0, 10)} ${one.new?.['description']}`,
    )
    expect(after.sort()).toEqual(['2026-01-01 A plan', '2026-02-01 changed', '2026-03-01 changed'])
    expect(changed.every(({ old }) => old?.['description'] === 'A plan')).toBe(true)
  })

  it('records a subscriber that begins before its account together with the account', async () => {
    const { aid } = (await make(world, 'accounts')).entity
    const plan = (await make(world, 'plans', { from: '2025-01-01' })).entity['name']
    const fields = { aid, plan, from: '2025-06-01' }
    const records = await recordsOf(() => makeSubscriber(world, fields))
    expect(summaries(records).sort()).toEqual([
      expect.stringMatching(`^accounts update ${aid}$`),
      expect.stringMatching(/^subscribers create \d+$/),
    ])
  })
})

describe('secrets', () => {
  const PLANTED = 'Planted-4711-secret'

  it('are in no record of any collection', async () => {
    const { entity } = await make(world, 'users', { password: PLANTED })
    const query = { username: entity['username'], effective_date: 'now' }
    const more = `${PLANTED}-2`
    const records = await recordsOf(() =>
      world.ok('users', 'update', { query, update: { password: more } }),
    )
    expect(records[0]).toMatchObject({
      collection: 'users',
      type: 'update',
      key: entity['username'],
      old: { password: '(secret)' },
      new: { password: '(secret, changed)' },
    })
    const account = await make(world, 'accounts', {
      payment_gateway: { active: { name: 'Gate', card_token: PLANTED, personal_id: PLANTED } },
    })
    await world.ok('accounts', 'update', {
      query: { _id: idOf(account) },
      update: { payment_gateway: { active: { name: 'Gate', auth_number: PLANTED } } },
    })
    const hash = (await stored(world, 'users', { username: entity['username'] }))[0]?.['password']
    const all = JSON.stringify(await world.stores().catalog.audit.find().toArray())
    expect(all).toContain('"name":"Gate"')
    for (const secret of [PLANTED, String(hash), '$argon2']) expect(all).not.toContain(secret)
  })
})

describe('records of balances', () => {
  async function loaded() {
    const { sid, aid } = (await makeSubscriber(world)).entity
    const { external_id: id } = (await make(world, 'prepaidincludes')).entity
    return { sid, aid, id, query: { sid, pp_includes_external_id: id } }
  }

  function withKey(action: string, params: Fields, key: string) {
    const init = {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': key },
      body: JSON.stringify(params),
    }
    return world.send(`/billapi/balances/${action}`, init)
  }

  it('are added once per operation, however often it is sent', async () => {
    const { sid, aid, id, query } = await loaded()
    const load = () => withKey('update', { query, update: { value: -10 } }, `op-${sid}`)
    const records = await recordsOf(async () => {
      for (let time = 0; time < 3; time += 1) expect((await load()).body.status).toBe(1)
    })
    expect(summaries(records)).toEqual([`balances update ${aid}_${sid}`])
    const balance = { aid, sid, pp_includes_external_id: id }
    expect(records[0]).toMatchObject({
      operation_id: `op-${sid}`,
      old: { ...balance, balance: 0 },
      new: { ...balance, balance: -10, operation: 'inc' },
    })
    const _id = String(records[0]?.new?.['_id'])
    const remove = () => withKey('delete', { query: { _id } }, `gone-${sid}`)
    const deleted = await recordsOf(async () => {
      for (let time = 0; time < 2; time += 1) expect((await remove()).body.status).toBe(1)
    })
    expect(summaries(deleted)).toEqual([`balances delete ${aid}_${sid}`])
    expect(deleted[0]).toMatchObject({ old: { balance: -10 }, new: null })
  })

  it('are not added where nothing was credited', async () => {
    const { query } = await loaded()
    const refused = { query, update: { value: 5 } }
    expect(await recordsOf(() => world.ok('balances', 'update', refused))).toEqual([])
    await world.refused('balances', 'update', { query, update: { value: 'x' } })
  })

  it('are added per balance of a charging plan; that of a card has no secret', async () => {
    const { sid, aid } = await loaded()
    const { name } = (await makePrepaidGroup(world)).entity
    const byPlan = { query: { sid, charging_plan_name: name }, update: {} }
    const records = await recordsOf(() => world.ok('balances', 'update', byPlan))
    expect(summaries(records)).toEqual([`balances update ${aid}_${sid}`])
    expect(records[0]?.new).toMatchObject({ charging_type: 'Chargingplan', source_ref: name })
    const secret = '123456789012'
    const numbers = { batch_number: 1, serial_number: 1 }
    const texts = { service_provider: 'x', additional_information: '', to: '2030-01-01' }
    const card = { secret, ...numbers, ...texts, charging_plan_name: String(name) }
    await cardCall({ method: 'create', cards: [card] })
    await cardCall({ method: 'update', query: numbers, update: { status: 'active' } })
    const byCard = { query: { sid, secret }, update: {} }
    const carded = await recordsOf(() => world.ok('balances', 'update', byCard))
    expect(summaries(carded)).toEqual(['cards redeem 1/1', `balances update ${aid}_${sid}`])
    expect(JSON.stringify(carded)).not.toContain(secret)
    expect(JSON.stringify(carded)).not.toMatch(/[0-9a-f]{128}/)
  })
})

describe('bills and lines', () => {
  it('are recorded when they are changed', async () => {
    const { bills, lines } = world.stores().catalog
    const urt = new Date('2026-06-01T00:00:00Z')
    const [bill, line] = [new ObjectId(), new ObjectId()]
    await bills.insertOne({ _id: bill, type: 'inv', aid: 9, urt, due: 10, amount: 10 })
    await lines.insertOne({ _id: line, stamp: 'st', type: 'credit', aid: 9, sid: 9, urt } as never)
    const at = { query: { _id: String(bill) } }
    const update = { due_date: '2026-07-01', 'charge.not_before': '2026-07-02' }
    const records = await recordsOf(async () => {
      await world.ok('bills', 'update', { ...at, update })
      await world.refused('lines', 'delete', { query: { _id: String(new ObjectId()) } })
      await world.ok('bills', 'delete', at)
      await world.ok('lines', 'delete', { query: { _id: String(line) } })
    })
    expect(summaries(records)).toEqual([
      `bills update ${bill}`,
      `bills delete ${bill}`,
      'lines delete st',
    ])
    expect(records[0]?.old).not.toHaveProperty('due_date')
    const day = (text: string) => new Date(`${text}T00:00:00Z`)
    expect(records[0]?.new).toMatchObject({
      due_date: day('2026-07-01'),
      charge: { not_before: day('2026-07-02') },
    })
    expect(records[1]).toMatchObject({ old: { due: 10 }, new: null })
  })
})

describe('the collection audit', () => {
  it('is read by user, key, time, collection and type, newest first', async () => {
    const { entity } = await make(world, 'plans')
    const name = String(entity['name'])
    world.setNow('2026-06-15T13:00:00Z')
    const query = { _id: idOf({ entity } as Body) }
    await world.ok('plans', 'update', { query, update: { description: 'b' } })
    const at = (more: Fields) => world.rows('audit', { query: { key: name, ...more } })
    const [first, second, ...others] = await at({})
    expect([first?.['type'], second?.['type'], others]).toEqual(['update', 'create', []])
    expect(first).toMatchObject({ urt: '2026-06-15T13:00:00+0000', source: 'audit' })
    expect(first?.['new']).toMatchObject({ from: `${BEGIN}T00:00:00+0000`, description: 'b' })
    expect(first?.['_id']).toEqual({ $id: expect.stringMatching(/^[0-9a-f]{24}$/) })
    for (const [more, count] of [
      [{ type: 'update' }, 1],
      [{ collection: 'plans' }, 2],
      [{ collection: ['rates'] }, 0],
      [{ urt: { $gte: '2026-06-15T13:00:00Z' } }, 1],
      [{ 'user.name': '' }, 2],
      [{ 'user.name': 'nobody' }, 0],
      [{ source: 'audit' }, 2],
    ] as const) {
      expect([more, (await at(more)).length]).toEqual([more, count])
    }
    const page = await world.ok('audit', 'get', { query: { key: name }, size: 1, page: 1 })
    expect(page).toMatchObject({ next_page: false, details: [{ type: 'create' }] })
    const sorted = await world.rows('audit', { query: { key: name }, sort: { urt: 1 } })
    expect(sorted.map(({ type }) => type)).toEqual(['create', 'update'])
  })

  it.each(['create', 'update', 'delete', 'close', 'uniqueget', 'import', 'permanentchange'])(
    'does not have %s',
    async (action) => {
      const [row] = await world.rows('audit', { size: 1 })
      const { _id } = row as { _id: { $id: string } }
      const body = await world.refused('audit', action, {
        query: { _id: _id.$id },
        update: { key: 'x' },
      })
      expect(body.code).toBe(17_575)
    },
  )
})
