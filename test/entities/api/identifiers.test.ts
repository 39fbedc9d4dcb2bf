/** Values that identify subscribers are unique at any instant. */
import { describe, expect, it } from 'vitest'
import {
  type Body,
  type Fields,
  idOf,
  requestOf,
  sendTo,
  useApiServer,
} from '../../support/entities/api/api-server.ts'
import { fresh, makeSubscriber } from '../../support/entities/api/creators.ts'

const IDENTIFICATION = { '*': [{ src_key: 'device', target_key: 'device_id' }] }
const env = { TOLLGATE_RATING_CUSTOMER_IDENTIFICATION: JSON.stringify(IDENTIFICATION) }
const world = useApiServer({ admins: 2, env })

let last = 447_700_100_000

function number(): string {
  last += 1
  return String(last)
}

async function isTaken(call: Promise<Body>, field: string, value: string, sid: unknown) {
  const text = `${field} must be unique: ${value} belongs to sid ${String(sid)}`
  expect((await call).message).toContain(text)
}

async function creation(fields: Fields): Promise<Fields> {
  const { aid, plan } = (await makeSubscriber(world)).entity
  const person = { firstname: 'A', lastname: 'B', address: 'C' }
  return { update: { from: '2026-01-01', aid, plan, ...person, ...fields } }
}

describe.each(['msisdn', 'imsi'])('%s', (field) => {
  it('of another subscriber is refused on create, at the same time only', async () => {
    const value = number()
    const { sid } = (await makeSubscriber(world, { [field]: value, to: '2026-03-01' })).entity
    const again = await creation({ [field]: value, from: '2026-02-28' })
    await isTaken(world.refused('subscribers', 'create', again), field, value, sid)
    await makeSubscriber(world, { [field]: value, from: '2026-03-01' })
  })

  it('of another one is refused in update, closeandnew, permanentchange and reopen', async () => {
    const value = number()
    const { sid } = (await makeSubscriber(world, { [field]: value })).entity
    const other = await makeSubscriber(world)
    const query = { _id: idOf(other) }
    const change = { query, update: { from: '2026-08-01', [field]: value } }
    for (const action of ['update', 'closeandnew', 'permanentchange']) {
      await isTaken(world.refused('subscribers', action, change), field, value, sid)
    }
    await world.ok('subscribers', 'close', { query, update: { to: '2026-07-01' } })
    await isTaken(world.refused('subscribers', 'reopen', change), field, value, sid)
  })

  it('of another one is refused where a move, a later end or a deletion restores it', async () => {
    const value = number()
    const first = await makeSubscriber(world, { [field]: value, to: '2026-03-01' })
    const { sid } = (await makeSubscriber(world, { [field]: value, from: '2026-03-01' })).entity
    const query = { _id: idOf(first) }
    const later = { query, update: { to: '2026-04-01' } }
    await isTaken(world.refused('subscribers', 'move', later), field, value, sid)
    await isTaken(world.refused('subscribers', 'close', later), field, value, sid)
    const reopen = { query, update: { from: '2026-04-01' } }
    await isTaken(world.refused('subscribers', 'reopen', reopen), field, value, sid)
  })

  it('requested by many concurrently, on two processes, is assigned once', async () => {
    const value = number()
    const params = await creation({ [field]: value })
    const answers = await Promise.all(
      Array.from({ length: 16 }, (_, index) => {
        const [query, init] = requestOf(params, 'json')
        return sendTo(`${world.urls[index % 2]}/billapi/subscribers/create${query}`, init)
      }),
    )
    expect(answers.filter(({ body }) => body.status === 1)).toHaveLength(1)
    const holders = await world.rows('subscribers', { query: { [field]: value } })
    expect(holders).toHaveLength(1)
  })
})

describe('a number in the form of a spreadsheet', () => {
  it('is stored as digits by create, update, and the deprecated action', async () => {
    const [one, two, three, sim] = [number(), number(), number(), number()]
    const spaced = (digits: string) => `+${digits.slice(0, 2)} ${digits.slice(2)}`
    const made = await makeSubscriber(world, {
      msisdn: spaced(one),
      imsi: sim.replace(/^44/, '44-'),
    })
    expect(made.entity).toMatchObject({ msisdn: one, imsi: [sim] })
    const query = { _id: idOf(made) }
    const changed = await world.ok('subscribers', 'update', {
      query,
      update: { msisdn: spaced(two) },
    })
    expect(changed.entity['msisdn']).toBe(two)
    const { sid } = made.entity
    const update = { msisdn: spaced(three) }
    const action = { method: 'update', query: { sid }, update, track_history: false }
    const [params, init] = requestOf(action, 'json')
    await sendTo(`${world.urls[0]}/api/subscribers${params}`, init)
    const [stored] = await world.rows('subscribers', { query: { sid } })
    expect(stored?.['msisdn']).toBe(three)
  })

  it('is refused with field and reason if digits are lost', async () => {
    const query = { _id: idOf(await makeSubscriber(world)) }
    for (const action of ['update', 'closeandnew', 'permanentchange']) {
      const update = { from: '2026-08-01', msisdn: '4.477E+11', imsi: ['234.0'] }
      const { message } = await world.refused('subscribers', action, { query, update })
      expect(message).toMatch(/update\.msisdn must be .*scientific.*update\.imsi must be/)
    }
    const push = { push_fields: [{ field_name: 'imsi', field_values: ['2.3E+14'] }] }
    const refused = await world.refused('subscribers', 'update', {
      query,
      update: {},
      options: push,
    })
    expect(refused.message).toContain('push of imsi: must be an IMSI in digits')
  })

  it('does not block other changes, and can be removed, if it is stored already', async () => {
    const made = await makeSubscriber(world)
    const { subscribers } = world.stores().catalog
    const odd = { msisdn: '4.477E+11', imsi: ['+44 7', '447700'] }
    await subscribers.updateOne({ sid: made.entity['sid'] } as never, { $set: odd } as never)
    const query = { _id: idOf(made) }
    await world.ok('subscribers', 'update', { query, update: { ...odd, barred: true } })
    const pull = { pull_fields: [{ field_name: 'imsi', field_values: ['+44 7'] }] }
    const update = { msisdn: number() }
    const { entity } = await world.ok('subscribers', 'update', { query, update, options: pull })
    expect(entity).toMatchObject({ ...update, imsi: ['447700'], barred: true })
  })
})

describe('a list of identifiers', () => {
  it('with one member that is in use is refused, pushed or sent', async () => {
    const [mine, taken] = [number(), number()]
    const { sid } = (await makeSubscriber(world, { imsi: [number(), taken] })).entity
    const other = await makeSubscriber(world, { imsi: [mine] })
    const query = { _id: idOf(other) }
    const push = { push_fields: [{ field_name: 'imsi', field_values: [taken] }] }
    const pushed = world.refused('subscribers', 'update', { query, update: {}, options: push })
    await isTaken(pushed, 'imsi', taken, sid)
    const sent = { query, update: { imsi: [mine, taken] } }
    await isTaken(world.refused('subscribers', 'update', sent), 'imsi', taken, sid)
    await world.ok('subscribers', 'update', { query, update: { imsi: [mine, number()] } })
  })
})

describe('an identifier that is already stored twice', () => {
  it('does not block other changes', async () => {
    const value = number()
    const first = await makeSubscriber(world, { msisdn: value })
    const second = await makeSubscriber(world)
    const { subscribers } = world.stores().catalog
    const same = { sid: second.entity['sid'] } as never
    await subscribers.updateOne(same, { $set: { msisdn: value } } as never)
    const query = { _id: idOf(first) }
    await world.ok('subscribers', 'update', { query, update: { barred: true } })
    await world.ok('subscribers', 'closeandnew', { query, update: { from: '2026-08-01' } })
    const another = { query: { _id: idOf(second) }, update: { msisdn: number() } }
    await world.ok('subscribers', 'update', another)
  })
})

describe('further fields', () => {
  const fields = (more: Fields[] = []) => ({
    subscriber: {
      fields: [
        { field_name: 'device_id', type: 'text' },
        { field_name: 'token', type: 'text' },
        ...more,
      ],
    },
  })

  it('read by identification are unique, too', async () => {
    await world.configure('subscribers', fields())
    const value = fresh('DEVICE')
    const { sid } = (await makeSubscriber(world, { device_id: value })).entity
    const again = await creation({ device_id: value })
    await isTaken(world.refused('subscribers', 'create', again), 'device_id', value, sid)
    const token = fresh('TOKEN')
    await makeSubscriber(world, { token })
    await makeSubscriber(world, { token })
  })

  it('are not unique if an operator says so', async () => {
    await world.configure('subscribers', fields([{ field_name: 'msisdn', unique: false }]))
    const value = number()
    await makeSubscriber(world, { msisdn: value })
    await makeSubscriber(world, { msisdn: value })
    await world.configure('subscribers', fields([{ field_name: 'msisdn', title: 'Number' }]))
    await world.refused('subscribers', 'create', await creation({ msisdn: value }))
  })
})
