/** Known behaviour of the existing system that clients depend on. */
import { describe, expect, it } from 'vitest'
import { type Fields, idOf, stored, useApiServer } from '../../support/entities/api/api-server.ts'
import { make, makeSubscriber } from '../../support/entities/api/creators.ts'

const world = useApiServer()
const DAY_S = 86_400

describe('the heartbeat', () => {
  it('says that the stores are available', async () => {
    // Redis may still be connecting.
    const heartbeat = () => world.send('/api', { method: 'GET' })
    await expect.poll(async () => (await heartbeat()).http).toBe(200)
    expect((await heartbeat()).text).toMatch(/^\{"status":1[,}]/)
  })
})

describe('a subscriber', () => {
  it('has no services if created without any', async () => {
    const { details, entity } = await makeSubscriber(world)
    expect([details, entity['services']]).toEqual([null, []])
  })

  it('can be closed tomorrow', async () => {
    const query = { _id: idOf(await makeSubscriber(world)) }
    const body = await world.ok('subscribers', 'close', { query, update: { to: 'tomorrow' } })
    const midnight = Date.UTC(2026, 5, 16) / 1000
    expect(body.entity).toMatchObject({
      to: { sec: midnight, usec: 0 },
      deactivation_date: { sec: midnight, usec: 0 },
    })
  })

  it('can be reopened a year from now', async () => {
    const plan = (await make(world, 'plans', { from: '2023-01-01' })).entity['name']
    const span = { from: '2024-01-01', to: '2025-01-01' }
    const query = { _id: idOf(await makeSubscriber(world, { plan, ...span })) }
    const update = { from: '2027-06-15' }
    const { entity } = await world.ok('subscribers', 'reopen', { query, update })
    expect(entity['from']).toEqual({ sec: Date.UTC(2027, 5, 15) / 1000, usec: 0 })
  })

  it('gets a pushed service permanently', async () => {
    const { name } = (await make(world, 'services')).entity
    const { sid } = (await makeSubscriber(world)).entity
    const push = [{ field_name: 'services', field_values: [{ name, from: '2026-03-01' }] }]
    const body = await world.ok('subscribers', 'permanentchange', {
      query: { sid, type: 'subscriber', effective_date: '2026-03-01' },
      update: { from: '2026-03-01' },
      options: { push_fields: push },
    })
    expect(body).toMatchObject({ status: 1, totalUpdated: 1, totalCreated: 1 })
    const found = await stored(world, 'subscribers', { sid })
    expect(found.map(({ services }) => (services as unknown[]).length)).toEqual([0, 1])
  })
})

/** Fields of rows that the schemas of existing clients require. */
const REQUIRED: Readonly<Record<string, readonly string[]>> = {
  accounts: ['aid', 'type', 'firstname', 'lastname', 'email', 'country', 'address', 'zip_code'],
  plans: ['name', 'description', 'price', 'recurrence', 'upfront', 'connection_type'],
  services: ['name', 'description', 'price', 'recurrence', 'prorated'],
  taxes: ['key', 'description', 'rate'],
  discounts: ['key', 'description', 'subject'],
}
const ALWAYS = ['_id', 'from', 'to', 'creation_time']
/** Those of existing clients, and the version. */
const INFO = [
  'status',
  'is_last',
  'early_expiration',
  'updatable',
  'closeandnewable',
  'movable',
  'removable',
  'movable_from',
  'movable_to',
  'version',
]

describe('a schema of existing clients', () => {
  it.each(Object.keys(REQUIRED))('%s: holds for create and get', async (collection) => {
    const { status, details, entity } = await make(world, collection)
    expect([status, details]).toEqual([1, true])
    const names = [...ALWAYS, ...(REQUIRED[collection] ?? [])]
    for (const name of names) expect(entity).toHaveProperty(name)
    const date = { sec: expect.any(Number), usec: expect.any(Number) }
    expect(entity).toMatchObject({ from: date, to: date, creation_time: date })
    expectRow(await world.rows(collection, { query: { _id: idOf({ entity }) } }), names)
  })

  it('subscribers: expects details to be null', async () => {
    const { details, entity } = await makeSubscriber(world)
    expect(details).toBeNull()
    const names = [
      ...ALWAYS,
      'sid',
      'aid',
      'type',
      'plan',
      'services',
      'firstname',
      'lastname',
      'activation_date',
      'deactivation_date',
      'plan_activation',
      'plan_deactivation',
    ]
    for (const name of names) expect(entity).toHaveProperty(name)
    expectRow(await world.rows('subscribers', { query: { _id: idOf({ entity }) } }), names)
  })

  it.each([
    ['future', 30, 'active'],
    ['no', null, 'expired'],
    ['past', -30, 'expired'],
  ])('holds for a close with %s to', async (_, days, status) => {
    for (const collection of Object.keys(REQUIRED)) {
      const query = { _id: idOf(await make(world, collection)) }
      const sec = world.now() / 1000 + (days ?? 0) * DAY_S
      const update = days === null ? {} : { to: new Date(sec * 1000).toISOString() }
      const body = await world.ok(collection, 'close', { query, update })
      expect(body).toMatchObject({ details: true, entity: { to: { sec, usec: 0 } } })
      const [row] = await world.rows(collection, { query })
      expect(row?.['revision_info']).toMatchObject({ status, is_last: true })
    }
  })
})

function expectRow(rows: readonly Fields[], names: readonly string[]): void {
  expect(rows).toHaveLength(1)
  for (const name of names) expect(rows[0]).toHaveProperty(name)
  expect(Object.keys(rows[0]?.['revision_info'] as object)).toEqual(INFO)
  expect(rows[0]?.['_id']).toEqual({ $id: expect.stringMatching(/^[0-9a-f]{24}$/) })
}
