/** Requests of clients of the existing system, and the limits of file fields. */
import { describe, expect, it } from 'vitest'
import { useApiServer } from '../../support/entities/api/api-server.ts'

const world = useApiServer()

const ACCOUNT = {
  firstname: 'Ada',
  lastname: 'Byron',
  email: 'ada@example.org',
  country: 'UK',
  address: '1 Mill Rd',
  zip_code: 'AB1',
}

describe('an account', () => {
  it('keeps its dates when it is sent back as it was read', async () => {
    const card = { generate_token_time: '2026-01-02T10:00:00Z', four_digits: '0001' }
    const update = { ...ACCOUNT, payment_gateway: { active: card } }
    const created = await world.call('accounts', 'create', { update })
    const { aid } = created.body.entity
    const read = await world.call('accounts', 'get', { query: { aid } })
    const [item] = read.body.details as Record<string, unknown>[]
    const { _id } = item as { _id: { $id: string } }
    const sent = { query: { _id: _id.$id, aid }, update: item }
    expect((await world.call('accounts', 'update', sent)).body.status).toBe(1)
    const { catalog } = world.stores()
    const stored = await catalog.subscribers.findOne({ type: 'account', aid } as object)
    expect(stored).toMatchObject({
      payment_gateway: { active: { generate_token_time: new Date('2026-01-02T10:00:00Z') } },
    })
  })

  it('accepts no operators or paths within its fields', async () => {
    for (const payment_gateway of [{ $set: { a: 1 } }, { 'x.y': 1 }]) {
      const { body } = await world.call('accounts', 'create', {
        update: { ...ACCOUNT, payment_gateway },
      })
      expect(body).toMatchObject({ status: 0, code: 17_576 })
    }
  })
})

describe('a list', () => {
  it('cannot be sorted by two list fields, and the refusal says so', async () => {
    const plan = {
      name: 'TWO_LISTS',
      connection_type: 'prepaid',
      upfront: false,
      price: [{ from: 0, to: 'UNLIMITED', price: 1 }],
      recurrence: { frequency: 1, start: 1 },
      tax: [{ type: 'vat', taxation: 'no' }],
    }
    expect((await world.call('plans', 'create', { update: plan })).body.status).toBe(1)
    const sort = { price: 1, tax: 1 }
    for (const action of ['get', 'uniqueget'] as const) {
      const { http, body } = await world.call('plans', action, { sort })
      expect(http).toBe(200)
      expect(body).toMatchObject({ status: 0, display: { code: 10_403 } })
    }
  })

  it('may be sorted by as many fields as it shows', async () => {
    const fields = ['name', 'description', 'from', 'to', 'upfront', 'connection_type', 'type']
    const sort = Object.fromEntries([...fields, 'play', 'tax', 'operation'].map((f) => [f, 1]))
    expect((await world.call('plans', 'get', { sort })).body.status).toBe(1)
  })
})
