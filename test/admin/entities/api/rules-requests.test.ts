/** Rules for the form of requests and for the revisions that they address. */
import { describe, expect, it } from 'vitest'
import { DEFINITIONS } from '../../../../src/admin/entities/definitions/collections.ts'
import { idOf, isRefusedBy, useApiServer } from '../../../support/admin/entities/api/api-server.ts'
import {
  fresh,
  make,
  makeSubscriber,
  ORDINARY,
} from '../../../support/admin/entities/api/creators.ts'

const world = useApiServer()
const isRefused = isRefusedBy.bind(null, world)

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

describe('a direction of sorting other than 1 and -1 is refused', () => {
  it.each([0, 2, 'up', true, null, {}, [1], 1.5])('%j', async (direction) => {
    for (const action of ['get', 'uniqueget']) {
      const sort = { name: direction }
      await isRefused(['plans', action], { sort }, [10_403, 'name'])
    }
  })
})

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
