/** Entities in use do not end: `close`, `move` and `closeandnew` with an end. */
import { describe, expect, it } from 'vitest'
import { type Fields, idOf, useApiServer } from '../../../support/admin/entities/api/api-server.ts'
import { fresh, make, makeSubscriber } from '../../../support/admin/entities/api/creators.ts'

const world = useApiServer()

async function planOf(subscribers: number): Promise<{ name: string; query: Fields }> {
  const name = fresh('NEEDED')
  const plan = await make(world, 'plans', { name })
  for (let count = 0; count < subscribers; count += 1) await makeSubscriber(world, { plan: name })
  return { name, query: { _id: idOf(plan) } }
}

function idIn(row: Fields | undefined): string {
  return (row as { _id: { $id: string } })._id.$id
}

const AUGUST = { update: { to: '2026-08-01' } }

describe('plans/close', () => {
  it('is refused while subscribers have the plan, with their number', async () => {
    const { name, query } = await planOf(3)
    const { code, display, message } = await world.refused('plans', 'close', { query, ...AUGUST })
    expect([code, display]).toMatchObject([17577, { code: 2 }])
    expect(message).toContain(`close: plan ${name} would not be valid from 2026-08-01 on`)
    expect(message).toMatch(/needed by 3 subscribers \(the first: sid \d+\).*force/)
  })

  it.each([
    { update: { to: '2026-08-01', force: true } },
    { force: true },
    { force: '1' },
    { options: { force: true } },
  ])('succeeds with %j, and the answer has the number of affected subscribers', async (force) => {
    const { name, query } = await planOf(2)
    const body = await world.ok('plans', 'close', { query, ...AUGUST, ...force })
    expect(body.warnings).toHaveLength(1)
    expect(body.warnings[0]).toContain(`plan ${name} is not valid from 2026-08-01 on`)
    expect(body.warnings[0]).toContain('2 subscribers')
  })

  it('is not refused for subscribers that have left by then, nor for an unused plan', async () => {
    const { name, query } = await planOf(0)
    await makeSubscriber(world, { plan: name, to: '2026-07-01' })
    const body = await world.ok('plans', 'close', { query, ...AUGUST })
    expect(body.warnings).toBeUndefined()
  })

  it('accepts true or false as force', async () => {
    const { query } = await planOf(0)
    const body = await world.refused('plans', 'close', { query, ...AUGUST, force: 'perhaps' })
    expect(body.message).toBe('force must be true or false')
  })
})

describe('a plan that subscribers have', () => {
  it('continues in a new revision, and may be extended', async () => {
    const { query } = await planOf(1)
    await world.ok('plans', 'closeandnew', { query, update: { from: '2026-07-01' } })
    const [last] = await world.rows('plans', {
      query: { ...(await keyOf(query)) },
      sort: { from: -1 },
    })
    const id = { _id: idIn(last) }
    await world.ok('plans', 'close', { query: id, ...AUGUST, force: true })
    await world.ok('plans', 'close', { query: id, update: { to: '2027-01-01' } })
  })

  async function keyOf(query: Fields): Promise<Fields> {
    const [row] = await world.rows('plans', { query })
    return { name: row?.['name'] }
  }

  it('is not shortened by move or closeandnew either', async () => {
    const { query } = await planOf(1)
    const moved = await world.refused('plans', 'move', { query, ...AUGUST })
    expect(moved.message).toContain('1 subscriber ')
    const update = { from: '2026-07-01', to: '2026-08-01' }
    const ended = await world.refused('plans', 'closeandnew', { query, update })
    expect(ended.message).toContain('1 subscriber ')
    await world.ok('plans', 'closeandnew', { query, update, force: true })
  })

  it('is not deleted, even with force', async () => {
    const { query } = await planOf(1)
    await world.refused('plans', 'delete', { query, force: true })
  })
})

describe('other entities', () => {
  it('a service in use is not closed', async () => {
    const service = await make(world, 'services')
    await makeSubscriber(world, { services: [{ name: service.entity['name'] }] })
    const query = { _id: idOf(service) }
    const { message } = await world.refused('services', 'close', { query, ...AUGUST })
    expect(message).toContain('1 subscriber ')
    await world.ok('services', 'close', { query, ...AUGUST, force: 1 })
  })

  it('a rate that a plan prices is not closed', async () => {
    const rate = await make(world, 'rates')
    const key = String(rate.entity['key'])
    const usagets = Object.keys(rate.entity['rates'] as Fields)
    const prices = Object.fromEntries(usagets.map((usaget) => [usaget, { percentage: 0.5 }]))
    const plan = await make(world, 'plans', { rates: { [key]: prices } })
    const query = { _id: idOf(rate) }
    const { message } = await world.refused('rates', 'close', { query, ...AUGUST })
    expect(message).toContain(`plan ${plan.entity['name']}`)
  })

  it('an account is closed, and the answer has the number of remaining subscribers', async () => {
    const { entity } = await makeSubscriber(world)
    const [account] = await world.rows('accounts', { query: { aid: entity['aid'] } })
    const query = { _id: idIn(account) }
    const body = await world.ok('accounts', 'close', { query, ...AUGUST })
    expect(body.warnings[0]).toContain('1 subscriber ')
  })
})
