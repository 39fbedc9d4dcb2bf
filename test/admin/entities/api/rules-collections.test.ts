/** Rules of each collection for its documents. */
import { afterEach, describe, expect, it } from 'vitest'
import {
  type Fields,
  idOf,
  isRefusedBy,
  stored,
  useApiServer,
} from '../../../support/admin/entities/api/api-server.ts'
import {
  BEGIN,
  fresh,
  make,
  makePrepaidGroup,
  makeRenewal,
  makeSubscriber,
  ORDINARY,
} from '../../../support/admin/entities/api/creators.ts'

const world = useApiServer()
const isRefused = isRefusedBy.bind(null, world)

/** The parameters of a complete `create`, with these fields replaced. */
function complete(collection: string, fields: Fields): { update: Fields } {
  return { update: { from: BEGIN, ...ORDINARY[collection]?.(), ...fields } }
}

describe('configured fields are refused', () => {
  afterEach(() => world.configure('subscribers', {}))

  it.each(['firstname', 'lastname', 'email', 'country', 'address', 'zip_code'])(
    'if %s of an account is missing, on create alone',
    async (name) => {
      for (const value of [undefined, null, '', []]) {
        await isRefused(['accounts', 'create'], complete('accounts', { [name]: value }), [0, name])
      }
    },
  )

  it('if a field of the operator is missing', async () => {
    const { entity } = await make(world, 'accounts')
    const fields = [{ field_name: 'tax_id', type: 'text', mandatory: true }]
    await world.configure('subscribers', { account: { fields } })
    await isRefused(['accounts', 'create'], complete('accounts', {}), [0, 'tax_id'])
    await make(world, 'accounts', { tax_id: 'X1' })
    const params = { query: { _id: entity._id.$id }, update: { lastname: 'King' } }
    await world.ok('accounts', 'update', params)
  })

  it('if the value is in use at the time', async () => {
    const fields = [{ field_name: 'id_card', type: 'text', unique: true }]
    await world.configure('subscribers', { account: { fields } })
    const card = fresh('CARD')
    const { aid } = (await make(world, 'accounts', { id_card: card, to: '2026-03-01' })).entity
    const again = complete('accounts', { id_card: card })
    await isRefused(['accounts', 'create'], again, [0, 'id_card', card, aid])
    const later = await make(world, 'accounts', { id_card: card, from: '2026-03-01' })
    const query = { _id: idOf(later) }
    const move = { query, update: { from: '2026-02-28', id_card: card } }
    await isRefused(['accounts', 'reopen'], move, [3])
    const other = await make(world, 'accounts', { id_card: fresh('CARD') })
    const update = { id_card: card }
    await isRefused(['accounts', 'update'], { query: { _id: idOf(other) }, update }, [0, card])
  })

  it('if the value is not one of the options', async () => {
    const update = { invoice_shipping_method: 'pigeon' }
    await isRefused(['accounts', 'create'], complete('accounts', update), [
      0,
      'invoice_shipping_method',
      'pigeon',
    ] as [number, ...unknown[]])
    const query = { _id: idOf(await make(world, 'accounts')) }
    await isRefused(['accounts', 'update'], { query, update }, [0, 'invoice_shipping_method'])
    const day = { query, update: { invoicing_day: 29 } }
    await isRefused(['accounts', 'update'], day, [0, 'invoicing_day', 29])
    await world.ok('accounts', 'update', { query, update: { invoicing_day: 28 } })
  })
})

describe('a service that does not exist is refused', () => {
  it('when it begins', async () => {
    const { name } = (await make(world, 'services', { from: '2026-02-01' })).entity
    const { aid } = (await make(world, 'accounts')).entity
    const plan = (await make(world, 'plans')).entity['name']
    const person = { firstname: 'A', lastname: 'B', address: 'C', aid, plan, from: BEGIN }
    for (const service of ['NONE', name]) {
      const update = { ...person, services: [{ name: service, from: BEGIN }] }
      const refusal = [66_601, service, BEGIN] as [number, ...unknown[]]
      await isRefused(['subscribers', 'create'], { update }, refusal)
    }
    const services = [{ name, from: '2026-01-15' }]
    const account = complete('accounts', { services })
    await isRefused(['accounts', 'create'], account, [66_601, name, '2026-01-15'])
  })

  it('when it is pushed', async () => {
    const query = { _id: idOf(await makeSubscriber(world)) }
    const push = [{ field_name: 'services', field_values: [{ name: 'NONE', from: BEGIN }] }]
    const params = { query, update: {}, options: { push_fields: push } }
    await isRefused(['subscribers', 'update'], params, [66_601, 'NONE', BEGIN])
  })
})

describe('plays are refused', () => {
  it('if a plan or service is not offered for them', async () => {
    const plays = [
      { name: 'MOBILE', enabled: true, default: true },
      { name: 'FIXED', enabled: true },
      { name: 'OLD', enabled: false },
    ]
    const { config } = world.stores().catalog
    const document = { rev: 1, value: { plays }, changed: new Date(), changed_by: 'test' }
    await config.insertOne({ _id: 'plays', ...document })
    const plan = (await make(world, 'plans', { play: ['FIXED'] })).entity['name']
    const name = (await make(world, 'services', { play: ['FIXED'] })).entity['name']
    const { aid } = (await make(world, 'accounts')).entity
    const person = { firstname: 'A', lastname: 'B', address: 'C', aid, from: BEGIN }
    const create = (fields: Fields) => ({ update: { ...person, ...fields } })
    const call: [string, string] = ['subscribers', 'create']
    await isRefused(call, create({ plan }), [0, plan, 'MOBILE'])
    await isRefused(call, create({ plan, play: 'OLD' }), [0, 'play', 'OLD'])
    const free = (await make(world, 'plans')).entity['name']
    await isRefused(call, create({ plan: free, services: [{ name }] }), [0, name, 'MOBILE'])
    const body = await world.ok(...call, create({ plan, services: [{ name }], play: 'FIXED' }))
    expect(body.entity).toMatchObject({ play: 'FIXED' })
    await config.deleteOne({ _id: 'plays' })
  })
})

describe('overrides are refused', () => {
  it.each(['from', 'to', 'price'])('without %s of a price', async (missing) => {
    const { [missing]: _, ...price } = { from: 0, to: 'UNLIMITED', price: 1 } as Fields
    const overrides = [{ type: 'plan', key: 'GOLD', value: { price: [price] } }]
    const account = complete('accounts', { overrides })
    await isRefused(['accounts', 'create'], account, [0, 'plan', 'GOLD', missing])
    const query = { _id: idOf(await makeSubscriber(world)) }
    const update = { query, update: { overrides } }
    await isRefused(['subscribers', 'update'], update, [0, 'plan', 'GOLD', missing])
  })
})

describe('allowances are refused', () => {
  it('if they are not positive, duplicate, or of another account', async () => {
    const { sid } = (await makeSubscriber(world)).entity
    const create = (allowances: unknown) => complete('accounts', { allowances })
    for (const allowance of [0, -1, '0', 'x', undefined]) {
      await isRefused(['accounts', 'create'], create([{ sid, allowance }]), [0, sid])
    }
    const twice = [1, 2].map((allowance) => ({ sid, allowance }))
    await isRefused(['accounts', 'create'], create(twice), [0, sid])
    await make(world, 'accounts', { allowances: [{ sid, allowance: '1.5' }] })
    await isRefused(['accounts', 'create'], create([{ sid, allowance: 1 }]), [0, sid])
  })
})

describe('services are refused', () => {
  it.each(['from', 'to', 'price'])('with a price without %s', async (missing) => {
    const { [missing]: _, ...tier } = { from: 0, to: 12, price: 5 } as Fields
    const params = complete('services', { price: [tier] })
    await isRefused(['services', 'create'], params, [999_999, 'price', missing])
  })

  it.each([0, -1, 'x', 11, '11.5'])('with limit_cycles of %j', async (limit) => {
    const price = [{ from: 0, to: 12, price: 5 }]
    const params = complete('services', { price, limit_cycles: limit })
    await isRefused(['services', 'create'], params, [999_999, 'limit_cycles'])
  })

  it('with limit_cycles lower than the highest to of a price', async () => {
    const price = [{ from: 0, to: 12, price: 5 }]
    const query = { _id: idOf(await make(world, 'services', { price, limit_cycles: 12 })) }
    const update = { limit_cycles: 6 }
    await isRefused(['services', 'update'], { query, update }, [999_999, 'limit_cycles'])
  })
})

describe('a recurrence is refused', () => {
  it.each([
    ['plans', 988_888],
    ['services', 999_999],
  ])('of %s', async (collection, code) => {
    for (const recurrence of [{ frequency: 1 }, { start: 1 }, { other: 1 }]) {
      const params = complete(collection, { recurrence })
      const missing = 'frequency' in recurrence ? 'start' : 'frequency'
      await isRefused([collection, 'create'], params, [code, 'recurrence', missing])
    }
    await make(world, collection, { recurrence: { periodicity: 'month' } })
  })
})

describe('rounding rules are refused', () => {
  it.each(['plans', 'services', 'rates'])('of %s', async (collection) => {
    const stage = { rounding_stage: 'line' }
    const create = (rules: Fields) => complete(collection, { rounding_rules: rules })
    const call: [string, string] = [collection, 'create']
    await isRefused(call, create(stage), [0, 'rounding_type'])
    const sideways = { ...stage, rounding_type: 'sideways' }
    await isRefused(call, create(sideways), [0, 'rounding_type'])
    const up = { ...stage, rounding_type: 'up' }
    await isRefused(call, create(up), [0, 'rounding_decimals'])
    await make(world, collection, { rounding_rules: { rounding_stage: 'None' } })
  })
})

describe.each(['charges', 'discounts'])('%s are refused', (collection) => {
  it.each([-2, -3])('with simultaneous_limit of %j', async (limit) => {
    const params = complete(collection, { simultaneous_limit: limit })
    await isRefused([collection, 'create'], params, [999_999, 'simultaneous_limit'])
  })

  it('with cycles without a begin to count from', async () => {
    const create = (fields: unknown) =>
      complete(collection, {
        params: { cycles: 3, conditions: [{ subscriber: [{ fields }] }] },
      })
    const call: [string, string] = [collection, 'create']
    const name = [{ field: 'firstname', op: 'eq', value: 'Ada' }]
    await isRefused(call, create(name), [999_999, 'cycles'])
    const plan = [{ field: 'plan', op: 'eq', value: 'GOLD' }]
    await world.ok(...call, create(plan))
  })
})

describe('discounts have every value of their terms', () => {
  it.each([
    { proration: 'yes', prorated_start: 'true', prorated_end: 'false' },
    { proration: 'no', simultaneous_limit: 0 },
    { proration: 'inherited', simultaneous_limit: -1 },
    {
      percentage_on_field: 'aprice',
      rounding_rules: { rounding_type: 'up', rounding_decimals: 2 },
    },
    { type: 'percentage', subject: { plan: { GOLD: { value: 0.2, sequential: true } } } },
    { type: 'monetary', subject: { customer_service: { CLUB: { value: 10 } } } },
  ])('%j', async (fields) => {
    const made = await make(world, 'discounts', fields)
    expect(made.entity).toMatchObject(fields)
    const params = { query: { _id: idOf(made) }, update: { priority: '7' } }
    const { entity } = await world.ok('discounts', 'update', params)
    expect(entity).toMatchObject({ ...fields, priority: '7' })
  })
})

describe('renewals are refused', () => {
  it('for a group that does not exist, or a next renewal that is too early', async () => {
    const { sid, aid } = (await makeSubscriber(world)).entity
    const { name } = (await makePrepaidGroup(world)).entity
    const create = (fields: Fields) => ({
      update: { sid, aid, cycles: 3, bucket_group: name, ...fields },
    })
    const call: [string, string] = ['autorenew', 'create']
    await isRefused(call, create({ bucket_group: 'NONE' }), [0, 'bucket_group', 'NONE'])
    await isRefused(call, create({ next_renew: '2026-06-15' }), [0, 'next_renew', '2026-06-16'])
    const query = { _id: idOf(await makeRenewal(world)) }
    const update = { next_renew: '2026-01-01' }
    await isRefused(['autorenew', 'update'], { query, update }, [0, 'next_renew'])
  })
})

describe('the last admin', () => {
  it('is neither deleted nor demoted', async () => {
    const query = { _id: idOf(await make(world, 'users', { roles: ['admin'] })) }
    for (const [action, update] of [
      ['delete', {}],
      ['update', { roles: ['read', 'write'] }],
    ] as const) {
      const { code, data } = await world.refused('users', action, { query, update })
      expect([code, data.message]).toEqual([500, expect.stringContaining('admin')])
    }
    await make(world, 'users', { roles: ['admin', 'read'] })
    await world.ok('users', 'update', { query, update: { roles: ['read'] } })
    expect(await stored(world, 'users', { roles: 'admin' })).toHaveLength(1)
  })
})

describe('an entity in use', () => {
  it('is not deleted', async () => {
    const subscriber = (await makeSubscriber(world)).entity
    for (const [collection, key, value] of [
      ['plans', 'name', subscriber['plan']],
      ['accounts', 'aid', subscriber['aid']],
    ] as const) {
      const [row] = await world.rows(collection, { query: { [key]: value } })
      const query = { _id: (row as { _id: { $id: string } })._id.$id }
      await isRefused([collection, 'delete'], { query }, [2, value, subscriber['sid']])
    }
  })
})
