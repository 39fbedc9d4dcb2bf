/** Creates complete entities with unique keys, and with the fields that a test replaces. */
import type { ApiServer, Body, Fields } from './api-server.ts'

let last = 0

/** A unique name: `PLAN_7`. */
export function fresh(kind: string): string {
  last += 1
  return `${kind}_${last}`
}

/** Default begin of all entities. */
export const BEGIN = '2026-01-01'

export const TIERS = [{ from: 0, to: 'UNLIMITED', interval: 1024, price: 0.01 }]

/** Parameters of `create` of each collection besides `from`, in the form that clients send. */
export const ORDINARY: Readonly<Record<string, () => Fields>> = {
  accounts: () => ({
    firstname: 'Ada',
    lastname: 'Byron',
    email: 'ada@example.org',
    country: 'UK',
    address: '12 St James Square',
    zip_code: 'SW1',
  }),
  plans: () => ({
    name: fresh('PLAN'),
    description: 'A plan',
    price: [{ from: 0, to: 'UNLIMITED', price: 20 }],
    recurrence: { frequency: 1, start: 1 },
    upfront: false,
    connection_type: 'postpaid',
  }),
  services: () => ({
    name: fresh('SERVICE'),
    description: 'A service',
    price: [{ from: 0, to: 'UNLIMITED', price: 5 }],
    recurrence: { frequency: 1, start: 1 },
    prorated: true,
  }),
  rates: () => ({
    key: fresh('RATE'),
    description: 'A rate',
    pricing_method: 'tiered',
    tariff_category: 'retail',
    rates: { data: { BASE: { rate: TIERS } } },
  }),
  charges: () => ({
    key: fresh('CHARGE'),
    description: 'A charge',
    subject: { general: { value: 50 } },
  }),
  discounts: () => ({
    key: fresh('DISCOUNT'),
    description: 'A discount',
    subject: { plan: { GOLD: { value: 0.1 } } },
  }),
  prepaidincludes: () => {
    const name = fresh('BUCKET')
    return {
      name,
      external_id: 1000 + last,
      priority: 1,
      charging_by: 'usagev',
      charging_by_usaget: 'data',
    }
  },
  taxes: () => ({ key: fresh('TAX'), description: 'A tax', rate: 0.17 }),
  reports: () => ({ key: fresh('report'), entity: 'usage', type: 1 }),
  users: () => ({
    username: `${fresh('user').toLowerCase()}@example.org`,
    password: 'correct horse battery',
    roles: ['read'],
  }),
}

/** Creates an entity from the default begin on; undefined fields are omitted. */
export function make(world: ApiServer, collection: string, fields: Fields = {}): Promise<Body> {
  const update = { from: BEGIN, ...ORDINARY[collection]?.(), ...fields }
  if (collection === 'users') Reflect.deleteProperty(update, 'from')
  return world.ok(collection, 'create', { update })
}

/** Creates a subscriber, with an account and a plan unless they are given. */
export async function makeSubscriber(world: ApiServer, fields: Fields = {}): Promise<Body> {
  const aid = fields['aid'] ?? (await make(world, 'accounts')).entity['aid']
  const plan = fields['plan'] ?? (await make(world, 'plans')).entity['name']
  const person = { firstname: 'Grace', lastname: 'Hopper', address: '1 Navy Yard' }
  return world.ok('subscribers', 'create', {
    update: { from: BEGIN, ...person, aid, plan, ...fields },
  })
}

/** Creates a prepaid group of one new bucket definition. */
export async function makePrepaidGroup(world: ApiServer, fields: Fields = {}): Promise<Body> {
  const bucket = (await make(world, 'prepaidincludes')).entity
  const include = [{ pp_includes_external_id: bucket['external_id'], value: -10 }]
  return world.ok('prepaidgroups', 'create', {
    update: { from: BEGIN, ...groupOf(include), ...fields },
  })
}

function groupOf(include: unknown): Fields {
  return { name: fresh('GROUP'), description: 'A group', include, operation: 'inc' }
}

/** Creates a renewal, with its subscriber and its group. */
export async function makeRenewal(world: ApiServer, fields: Fields = {}): Promise<Body> {
  const { sid, aid } = (await makeSubscriber(world)).entity
  const { name } = (await makePrepaidGroup(world)).entity
  return world.ok('autorenew', 'create', {
    update: { sid, aid, bucket_group: name, cycles: 3, ...fields },
  })
}

/** Creates an entity of any collection. */
export function makeAny(world: ApiServer, collection: string, fields: Fields = {}): Promise<Body> {
  if (collection === 'subscribers') return makeSubscriber(world, fields)
  if (collection === 'prepaidgroups') return makePrepaidGroup(world, fields)
  if (collection === 'autorenew') return makeRenewal(world, fields)
  return make(world, collection, fields)
}
