/** Rules for requests, the revisions that they address, and the documents of a collection. */
import { describe, expect, it } from 'vitest'
import { DEFINITIONS } from '../../../../src/admin/entities/definitions/collections.ts'
import {
  type Fields,
  idOf,
  isRefusedBy,
  useApiServer,
} from '../../../support/admin/entities/api/api-server.ts'
import {
  BEGIN,
  fresh,
  make,
  makeSubscriber,
  ORDINARY,
} from '../../../support/admin/entities/api/creators.ts'

const world = useApiServer()
const isRefused = isRefusedBy.bind(null, world)
const PERSON = { firstname: 'A', lastname: 'B', address: 'C' }
const GROUP = {
  ...{ name: 'TOPUP', description: 'A group', operation: 'inc' },
  include: [{ pp_includes_external_id: 9, value: -10 }],
}

describe('a parameter that is not JSON is refused', () => {
  it.each(['get', 'uniqueget', 'update', 'close', 'delete'])('of %s', async (action) => {
    for (const name of ['query', 'options']) {
      await isRefused(['plans', action], { [name]: '{"name":' }, [0, `${name} is not JSON`])
    }
    for (const text of ['[1]', '1', '"x"', 'true', 'NaN', "{'a':1}", '{"a":1}}']) {
      await isRefused(['plans', action], { query: text }, [0, 'query'])
    }
  })

  it('if a valid parameter follows it', async () => {
    const { entity } = await make(world, 'plans')
    const update = { description: 'x' }
    const query = `{"_id":"${entity._id.$id}"`
    await isRefused(['plans', 'update'], { query, update }, [0, 'query is not JSON'])
    await isRefused(['plans', 'update'], { update: '{', query: {} }, [0, 'update is not JSON'])
  })

  it('in a body, and as sort, project and states', async () => {
    for (const name of ['sort', 'project', 'states']) {
      await isRefused(['plans', 'get'], { [name]: '{' }, [0, name])
    }
    const headers = { 'Content-Type': 'application/json' }
    for (const body of ['{"query"', '[]', '5', '"text"', 'null']) {
      const init = { method: 'POST', headers, body }
      const answer = await world.send('/billapi/plans/get', init)
      expect([answer.http, answer.body.status, answer.body.code]).toEqual([200, 0, 17_577])
      expect(answer.body.message).toContain('body')
    }
  })
})

describe('a mandatory parameter that is missing or empty is refused', () => {
  it.each(['plans', 'services', 'rates', 'taxes', 'prepaidincludes', 'charges', 'discounts'])(
    'for %s, each one',
    async (collection) => {
      const mandatory: Readonly<Record<string, string[]>> = {
        plans: ['name', 'price', 'recurrence', 'upfront', 'connection_type'],
        services: ['name', 'price', 'recurrence', 'prorated'],
        rates: ['key', 'rates', 'pricing_method'],
        taxes: ['key', 'description', 'rate'],
        prepaidincludes: ['name', 'external_id', 'priority', 'charging_by', 'charging_by_usaget'],
        charges: ['key'],
        discounts: ['key'],
      }
      for (const name of mandatory[collection] ?? []) {
        const { [name]: _, ...update } = ORDINARY[collection]?.() ?? {}
        const message = `update.${name} is mandatory`
        await isRefused([collection, 'create'], { update }, [999_999, message])
        const empty = { ...update, [name]: '' }
        await isRefused([collection, 'create'], { update: empty }, [999_999, message])
      }
    },
  )

  it('with all others that are missing, configured ones too', async () => {
    const fields = ['a', 'b'].map((name) => ({ field_name: name, type: 'text', mandatory: true }))
    await world.configure('plans', { fields })
    const declared = ['name', 'price', 'recurrence', 'upfront', 'connection_type']
    const plan = [...declared.map((name) => `update.${name}`), 'a', 'b']
    await isRefused(['plans', 'create'], { update: {} }, [999_999, allOf(plan)])
    const { a: _, ...rest } = { a: '', ...ORDINARY['plans']?.(), b: null }
    await isRefused(['plans', 'create'], { update: rest }, [0, allOf(['a', 'b'])])
    await world.configure('plans', {})
    const account = ['firstname', 'lastname', 'email', 'country', 'address', 'zip_code']
    await isRefused(['accounts', 'create'], { update: {} }, [0, allOf(account)])
    const subscriber = ['update.aid', 'update.plan', 'firstname', 'lastname', 'address']
    await isRefused(['subscribers', 'create'], { update: {} }, [999_999, allOf(subscriber)])
    const many = Array.from({ length: 30 }, (_each, index) => `f${index}`)
    const mandatory = many.map((name) => ({ field_name: name, type: 'text', mandatory: true }))
    await world.configure('plans', { fields: mandatory })
    await isRefused(['plans', 'create'], { update: ORDINARY['plans']?.() }, [0, allOf(many)])
    await world.configure('plans', {})
  })

  it('in a query: close needs _id, permanentchange needs from', async () => {
    const { name } = (await make(world, 'plans')).entity
    const query = { name, effective_date: '2026-02-01' }
    await isRefused(['plans', 'permanentchange'], { query }, [999_999, 'update.from'])
    await isRefused(['plans', 'close'], { update: { to: '2026-03-01' } }, [999_999, 'query._id'])
  })
})

const allOf = (names: string[]) => names.map((name) => `${name} is mandatory`).join('; ')

describe('a value that does not match its pattern is refused', () => {
  it.each([
    ['plans', 'name'],
    ['services', 'name'],
    ['rates', 'key'],
    ['taxes', 'key'],
    ['charges', 'key'],
    ['discounts', 'key'],
  ])('as %s.%s', async (collection, field) => {
    for (const value of ['gold', 'A-B', 'A B', 'A.B', '$A', 'A\nB', 'Ä', '../A', 'A\u0000']) {
      const update = { ...ORDINARY[collection]?.(), [field]: value }
      await isRefused([collection, 'create'], { update }, [999_999, `update.${field}`])
    }
  })
})

it.each(['get', 'uniqueget'])(
  '%s with a direction of sorting other than 1 and -1',
  async (action) => {
    await isRefused(['plans', action], { sort: { name: 'up' } }, [10_403, 'name'])
  },
)

describe('a key without effective_date is refused', () => {
  it.each(['update', 'closeandnew', 'move', 'reopen', 'permanentchange'])('%s', async (action) => {
    const { name } = (await make(world, 'plans')).entity
    const update = { from: '2026-03-01' }
    const params = { query: { name }, update }
    await isRefused(['plans', action], params, [999_999, 'effective_date'])
  })
})

describe('push and pull are refused', () => {
  it.each(['push', 'pull'])('by %s of a field that is not a list', async (kind) => {
    const query = { _id: idOf(await makeSubscriber(world)) }
    for (const field of ['firstname', 'nothing', 'aid', 'plan', '_id', 'constructor']) {
      const change = { field_name: field, field_values: ['x'] }
      const options = { [`${kind}_fields`]: [change] }
      const params = { query, update: { lastname: 'x' }, options }
      const isName = field !== 'constructor'
      if (isName) await isRefused(['subscribers', 'update'], params, [999_999, kind, field])
      else await world.refused('subscribers', 'update', params)
    }
  })
})

describe('a write without any field is refused', () => {
  it.each(['update', 'closeandnew', 'move', 'delete'])('%s', async (action) => {
    await make(world, 'taxes')
    await isRefused(['taxes', action], {}, [2, '_id'])
    await isRefused(['taxes', action], { query: {}, update: {} }, [2, '_id'])
  })
})

describe('a key without a matching revision is refused', () => {
  it.each(['update', 'closeandnew', 'move', 'reopen', 'permanentchange'])('%s', async (action) => {
    const { name } = (await make(world, 'plans')).entity
    const update = { from: '2026-03-01' }
    for (const key of [name, fresh('NOBODY')]) {
      const query = { name: key, effective_date: '2025-12-31' }
      const body = await world.refused('plans', action, { query, update })
      expect(Object.keys(body)).toEqual(['status', 'code', 'data'])
      expect(body.code).toBe(500)
      expect(body.data.message).toContain(String(key))
      expect(body.data.message).toContain('2025-12-31')
    }
  })

  it.each(['update', 'close', 'move', 'delete'])('by %s, also an id', async (action) => {
    const _id = 'f'.repeat(24)
    const params = { query: { _id }, update: { to: '2026-03-01' } }
    const { code, data } = await world.refused('plans', action, params)
    expect([code, data.message]).toEqual([500, expect.stringContaining(_id)])
  })
})

describe('an existing key is refused', () => {
  it('if it is in force', async () => {
    const { name } = (await make(world, 'plans')).entity
    const update = { ...ORDINARY['plans']?.(), name, from: '2030-01-01' }
    await isRefused(['plans', 'create'], { update }, [0, 'name', String(name)])
  })

  it.each(['charges', 'discounts', 'plans', 'taxes'])(
    'for %s, with a hint to reopen only where that action exists',
    async (collection) => {
      const { entity } = await make(world, collection)
      const key = DEFINITIONS.get(collection)?.keyField ?? ''
      const update = { ...ORDINARY[collection]?.(), [key]: entity[key] }
      const { message } = await isRefused([collection, 'create'], { update }, [0, 'already'])
      const hasReopen = DEFINITIONS.get(collection)?.actions.reopen !== undefined
      expect(message.includes('reopen')).toBe(hasReopen)
    },
  )

  it('if it has ended long ago', async () => {
    const body = await make(world, 'rates', { to: '2026-02-01' })
    const { key } = body.entity
    const update = { ...ORDINARY['rates']?.(), key, from: '2026-03-01' }
    await isRefused(['rates', 'create'], { update }, [0, 'key', String(key)])
  })

  it('for prepaidincludes, as a name or a number', async () => {
    const { name, external_id: id } = (await make(world, 'prepaidincludes')).entity
    const ordinary = ORDINARY['prepaidincludes']?.()
    const sameName = { ...ordinary, name }
    await isRefused(['prepaidincludes', 'create'], { update: sameName }, [0, 'name'])
    const sameId = { ...ordinary, name: fresh('OTHER'), external_id: id }
    await isRefused(['prepaidincludes', 'create'], { update: sameId }, [0, 'external_id'])
  })
})

describe('invalid fields', () => {
  it('are reported together, in the form that clients read', async () => {
    const update = { from: 'soon', ...ORDINARY['plans']?.(), upfront: 'perhaps' }
    const body = await world.refused('plans', 'create', { update })
    expect(body.code).toBe(17_576)
    expect(JSON.parse(String(body.display))).toEqual([
      { name: 'from', error: 3 },
      { name: 'upfront', error: 3 },
    ])
    expect(body.message).toMatch(/update\.from .*update\.upfront/)
  })

  it('of a query are refused if not declared: they match nothing, or everything', async () => {
    const { name } = (await make(world, 'plans')).entity
    for (const query of [{ nmae: name }, { $where: '1' }, { name: { $ne: 1, $where: '1' } }]) {
      const body = await world.refused('plans', 'get', { query })
      expect([body.code, body.message]).toEqual([17_576, expect.stringMatching(/nmae|\$where/)])
    }
  })
})

/** The parameters of a complete `create`, with these fields replaced. */
function complete(collection: string, fields: Fields): { update: Fields } {
  return { update: { from: BEGIN, ...ORDINARY[collection]?.(), ...fields } }
}

// All rules of a collection have their tests in `../rules`.
describe('the rules of a collection apply', () => {
  it.each<[string, Fields, number, ...string[]]>([
    ['accounts', { invoice_shipping_method: 'pigeon' }, 0, 'invoice_shipping_method', 'pigeon'],
    ['accounts', { services: ['NONE'] }, 66_601, 'NONE', BEGIN],
    ['accounts', { allowances: [{ sid: 1, allowance: 0 }] }, 0, 'sid 1'],
    ['subscribers', { aid: 4_711, plan: 'NONE', ...PERSON }, 0, 'there is no plan NONE'],
    ['plans', { recurrence: { frequency: 1 } }, 988_888, 'recurrence', 'start'],
    ['services', { recurrence: { start: 1 } }, 999_999, 'recurrence', 'frequency'],
    ['rates', { rounding_rules: { rounding_stage: 'line' } }, 0, 'rounding_type'],
    ['charges', { simultaneous_limit: -2 }, 999_999, 'simultaneous_limit'],
    ['discounts', { simultaneous_limit: -2 }, 999_999, 'simultaneous_limit'],
    ['taxes', { rate: 17 }, 0, 'rate must be a fraction'],
    ['prepaidgroups', GROUP, 0, 'there is no prepaid include 9'],
    ['autorenew', { sid: 1, aid: 4_711, bucket_group: 'NONE', cycles: 3 }, 0, 'bucket_group'],
  ])('to %s: %j', async (collection, fields, ...refusal) => {
    await isRefused([collection, 'create'], complete(collection, fields), refusal)
  })

  it('to an update, together with what is stored', async () => {
    const price = [{ from: 0, to: 12, price: 5 }]
    const query = { _id: idOf(await make(world, 'services', { price, limit_cycles: 12 })) }
    const update = { limit_cycles: 6 }
    await isRefused(['services', 'update'], { query, update }, [999_999, 'limit_cycles'])
    const account = { _id: idOf(await make(world, 'accounts')) }
    const day = (invoicing_day: number) => ({ query: account, update: { invoicing_day } })
    await isRefused(['accounts', 'update'], day(29), [0, 'invoicing_day', 29])
    await world.ok('accounts', 'update', day(28))
  })

  it('a configured unique value is refused while it is in use', async () => {
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
    await world.configure('subscribers', {})
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
