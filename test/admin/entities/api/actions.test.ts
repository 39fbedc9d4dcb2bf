/** The effect of the writes on revisions, over HTTP. */
import { describe, expect, it } from 'vitest'
import {
  dayOf,
  type Fields,
  idOf,
  periods,
  stored,
  useApiServer,
} from '../../../support/admin/entities/api/api-server.ts'
import { fresh, make, makeSubscriber } from '../../../support/admin/entities/api/creators.ts'

const world = useApiServer()

interface Chain {
  name: string
  ids: string[]
}

/** Revisions of a plan with these periods; the last one is open unless it has an end. */
async function revisionsOf(...spans: (readonly [from: string, to?: string])[]): Promise<Chain> {
  const [first, ...rest] = spans
  const [from, to] = first ?? ['2026-01-01']
  const body = await make(world, 'plans', { from, ...(to && { to }), description: 'r0' })
  const ids = [idOf(body)]
  for (const [index, [begin, end]] of rest.entries()) {
    const query = { _id: ids.at(-1) }
    const description = `r${index + 1}`
    const isTouching = spans[index]?.[1] === undefined
    const update = { from: begin, description }
    const next = await world.ok('plans', isTouching ? 'closeandnew' : 'reopen', { query, update })
    ids.push(idOf(next))
    if (end !== undefined) {
      await world.ok('plans', 'close', { query: { _id: idOf(next) }, update: { to: end } })
    }
  }
  return { name: String(body.entity['name']), ids }
}

function periodsOf({ name }: Chain): Promise<string[]> {
  return periods(world, 'plans', { name })
}

async function describedAs({ name }: Chain): Promise<unknown[]> {
  return (await stored(world, 'plans', { name })).map(({ description }) => description)
}

const at = ({ name }: Chain, day: string) => ({ name, effective_date: day })

describe('update', () => {
  it('changes the one revision that is in force at effective_date', async () => {
    const revisions = await revisionsOf(['2026-01-01'], ['2026-03-01'], ['2026-05-01'])
    const update = { description: 'changed', name: 'OTHER', from: '2020-01-01', to: '2021-01-01' }
    await world.ok('plans', 'update', { query: at(revisions, '2026-04-30'), update })
    expect(await describedAs(revisions)).toEqual(['r0', 'changed', 'r2'])
    await world.ok('plans', 'update', {
      query: at(revisions, '2026-03-01'),
      update: { upfront: true },
    })
    const days = ['2026-01-01 2026-03-01', '2026-03-01 2026-05-01', '2026-05-01 -']
    expect(await periodsOf(revisions)).toEqual(days)
  })

  it('sets only what a dotted name says', async () => {
    const rate = (price: number) => ({
      data: { rate: [{ from: 0, to: 'UNLIMITED', interval: 1, price }] },
    })
    for (const key of ['ONE', 'TWO']) await make(world, 'rates', { key })
    const { entity } = await make(world, 'plans', { rates: { ONE: rate(1), TWO: rate(2) } })
    const params = { query: { _id: entity._id.$id }, update: { 'rates.TWO': rate(3) } }
    const body = await world.ok('plans', 'update', params)
    expect(body.entity['rates']).toEqual({ ONE: rate(1), TWO: rate(3) })
  })

  it('by effective_date requires a revision in force', async () => {
    const revisions = await revisionsOf(['2026-02-01', '2026-03-01'], ['2026-05-01'])
    for (const day of ['2026-01-31', '2026-03-01', '2026-04-30']) {
      const body = await world.refused('plans', 'update', {
        query: at(revisions, day),
        update: { description: 'x' },
      })
      expect(body.data.message).toContain(day)
    }
    const update = { description: 'x' }
    await world.ok('plans', 'update', { query: at(revisions, '2026-02-28'), update })
    expect(await describedAs(revisions)).toEqual(['x', 'r0'])
  })
})

describe('close', () => {
  it('ends the revision now by default', async () => {
    const revisions = await revisionsOf(['2026-01-01'])
    await world.ok('plans', 'close', { query: { _id: revisions.ids[0] } })
    expect(await periodsOf(revisions)).toEqual(['2026-01-01 2026-06-15T12:00:00.000Z'])
  })

  it('leaves a gap before a later revision, and never an overlap', async () => {
    const revisions = await revisionsOf(['2026-01-01'], ['2026-05-01'])
    const query = { _id: revisions.ids[0] }
    await world.ok('plans', 'close', { query, update: { to: '2026-04-01' } })
    expect(await periodsOf(revisions)).toEqual(['2026-01-01 2026-04-01', '2026-05-01 -'])
    for (const to of ['2026-05-02', '2026-01-01', '2025-12-01']) {
      await world.refused('plans', 'close', { query, update: { to } })
    }
  })
})

describe('closeandnew', () => {
  it('divides a revision in the middle; later ones stay', async () => {
    const revisions = await revisionsOf(['2026-01-01'], ['2026-05-01'])
    const update = { from: '2026-03-01', description: 'new' }
    const body = await world.ok('plans', 'closeandnew', {
      query: at(revisions, '2026-02-01'),
      update,
    })
    expect(body.entity).toMatchObject({ name: revisions.name, description: 'new' })
    const days = ['2026-01-01 2026-03-01', '2026-03-01 2026-05-01', '2026-05-01 -']
    expect(await periodsOf(revisions)).toEqual(days)
    expect(await describedAs(revisions)).toEqual(['r0', 'new', 'r1'])
    expect(body.entity['creation_time']).toEqual({ sec: Date.UTC(2026, 0, 1) / 1000, usec: 0 })
  })

  it('may end the new revision earlier, but not in another revision', async () => {
    const revisions = await revisionsOf(['2026-01-01'], ['2026-05-01'])
    const query = at(revisions, '2026-02-01')
    const late = { from: '2026-03-01', to: '2026-05-02' }
    await world.refused('plans', 'closeandnew', { query, update: late })
    await world.ok('plans', 'closeandnew', { query, update: { ...late, to: '2026-04-01' } })
    const days = ['2026-01-01 2026-03-01', '2026-03-01 2026-04-01', '2026-05-01 -']
    expect(await periodsOf(revisions)).toEqual(days)
  })

  it('begins the new revision now by default', async () => {
    const revisions = await revisionsOf(['2026-01-01'])
    await world.ok('plans', 'closeandnew', {
      query: { _id: revisions.ids[0] },
      update: { upfront: 1 },
    })
    const now = '2026-06-15T12:00:00.000Z'
    expect(await periodsOf(revisions)).toEqual([`2026-01-01 ${now}`, `${now} -`])
  })
})

describe('reopen', () => {
  it('continues the addressed revision after a gap', async () => {
    const revisions = await revisionsOf(['2026-01-01'], ['2026-02-01', '2026-03-01'])
    const update = { from: '2026-08-01' }
    await world.ok('plans', 'reopen', { query: { _id: revisions.ids[0] }, update })
    const days = ['2026-01-01 2026-02-01', '2026-02-01 2026-03-01', '2026-08-01 -']
    expect(await periodsOf(revisions)).toEqual(days)
    expect(await describedAs(revisions)).toEqual(['r0', 'r1', 'r0'])
  })
})

describe('move', () => {
  it('also moves an adjacent neighbour, and no other', async () => {
    const revisions = await revisionsOf(
      ['2026-01-01'],
      ['2026-03-01', '2026-04-01'],
      ['2026-06-01'],
    )
    const move = (id: number, update: Fields) =>
      world.ok('plans', 'move', { query: { _id: revisions.ids[id] }, update })
    expect((await move(1, { from: '2026-02-01' })).details).toBe(true)
    expect((await move(1, { to: '2026-05-01' })).details).toBe(true)
    const days = ['2026-01-01 2026-02-01', '2026-02-01 2026-05-01', '2026-06-01 -']
    expect(await periodsOf(revisions)).toEqual(days)
    // The revision already ends there.
    expect((await move(1, { to: '2026-05-01' })).details).toBe(false)
    // Across the gap: the overlapped revision is shortened.
    await move(1, { to: '2026-07-01' })
    expect((await periodsOf(revisions)).at(-1)).toBe('2026-07-01 -')
  })

  it('moves from, where both are sent', async () => {
    const revisions = await revisionsOf(['2026-03-01', '2026-04-01'])
    const update = { from: '2026-02-01', to: '2026-05-01' }
    await world.ok('plans', 'move', { query: { _id: revisions.ids[0] }, update })
    expect(await periodsOf(revisions)).toEqual(['2026-02-01 2026-04-01'])
  })
})

describe('permanentchange', () => {
  it('at the begin of a revision divides nothing', async () => {
    const revisions = await revisionsOf(['2026-01-01'], ['2026-03-01'], ['2026-05-01'])
    const update = { from: '2026-03-01', description: 'all' }
    const query = at(revisions, '2026-03-01')
    const body = await world.ok('plans', 'permanentchange', { query, update })
    expect(body).toMatchObject({ details: true, totalUpdated: 2, totalCreated: 0 })
    expect(await describedAs(revisions)).toEqual(['r0', 'all', 'all'])
  })

  it('applies across gaps, and to future revisions', async () => {
    const revisions = await revisionsOf(['2026-01-01', '2026-03-01'], ['2026-09-01'])
    const update = { from: '2026-02-01', description: 'all' }
    const query = at(revisions, '2026-02-15')
    const body = await world.ok('plans', 'permanentchange', { query, update })
    expect(body).toMatchObject({ totalUpdated: 2, totalCreated: 1 })
    const days = ['2026-01-01 2026-02-01', '2026-02-01 2026-03-01', '2026-09-01 -']
    expect(await periodsOf(revisions)).toEqual(days)
    expect(await describedAs(revisions)).toEqual(['r0', 'all', 'all'])
  })
})

describe('delete', () => {
  it('extends the revision before, if it is adjacent', async () => {
    const revisions = await revisionsOf(
      ['2026-01-01'],
      ['2026-03-01', '2026-04-01'],
      ['2026-06-01'],
    )
    const remove = (id: number) =>
      world.ok('plans', 'delete', { query: { _id: revisions.ids[id] } })
    expect((await remove(2)).entity).toBeNull()
    expect(await periodsOf(revisions)).toEqual(['2026-01-01 2026-03-01', '2026-03-01 2026-04-01'])
    expect(idOf(await remove(1))).toBe(revisions.ids[0])
    expect(await periodsOf(revisions)).toEqual(['2026-01-01 2026-04-01'])
    expect((await remove(0)).entity).toBeNull()
    expect(await world.rows('plans', { query: { name: revisions.name } })).toEqual([])
    await world.refused('plans', 'delete', { query: { _id: revisions.ids[0] } })
    // Its key is available again.
    await make(world, 'plans', { name: revisions.name })
  })
})

describe('the dates of a subscriber', () => {
  const shown = async (sid: unknown) => {
    const found = await stored(world, 'subscribers', { sid, type: 'subscriber' })
    return found.map((one) => [
      one['plan'],
      one['former_plan'] ?? null,
      dayOf(one['plan_activation']),
      dayOf(one['plan_deactivation']),
      dayOf(one['activation_date']),
      dayOf(one['deactivation_date']),
    ])
  }

  it('follow its revisions', async () => {
    const [A, B] = [fresh('PLAN'), fresh('PLAN')]
    for (const name of [A, B]) await make(world, 'plans', { name })
    const body = await makeSubscriber(world, { plan: A })
    const { sid } = body.entity
    const begin = '2026-01-01'
    expect(await shown(sid)).toEqual([[A, null, begin, '-', begin, '-']])
    const by = (day: string) => ({ sid, effective_date: day })
    const next = { from: '2026-02-01', lastname: 'Murray' }
    await world.ok('subscribers', 'closeandnew', { query: by('2026-01-15'), update: next })
    const change = { from: '2026-03-01', plan: B }
    await world.ok('subscribers', 'permanentchange', { query: by('2026-03-01'), update: change })
    const [run, later] = [
      [A, null, begin, '2026-03-01', begin, '-'],
      [B, A, '2026-03-01'],
    ]
    expect(await shown(sid)).toEqual([run, run, [...later, '-', begin, '-']])
    const [last] = (await stored(world, 'subscribers', { sid })).slice(-1)
    const close = { query: { _id: String(last?.['_id']) }, update: { to: '2026-05-01' } }
    await world.ok('subscribers', 'close', close)
    expect((await shown(sid)).at(-1)).toEqual([...later, '2026-05-01', begin, '2026-05-01'])
    const reopen = { query: by('2026-04-01'), update: { from: '2026-06-01' } }
    await world.ok('subscribers', 'reopen', reopen)
    // After a gap a new period begins, with nothing before it.
    expect((await shown(sid)).at(-1)).toEqual([B, null, '2026-06-01', '-', begin, '-'])
  })

  it('move the begin of its account if it is the first subscriber', async () => {
    const { aid } = (await make(world, 'accounts', { from: '2026-03-01' })).entity
    await makeSubscriber(world, { aid, from: '2026-02-01' })
    expect(await periods(world, 'subscribers', { aid, type: 'account' })).toEqual(['2026-02-01 -'])
    await makeSubscriber(world, { aid, from: '2026-04-01' })
    expect(await periods(world, 'subscribers', { aid, type: 'account' })).toEqual(['2026-02-01 -'])
  })
})

describe('the services of a subscriber', () => {
  const entries = ({ services }: Fields) =>
    (services as Fields[]).map(({ name, from, to }) => `${name} ${dayOf(from)} ${dayOf(to)}`)
  const of = async (sid: unknown) => {
    const [found] = await stored(world, 'subscribers', { sid, type: 'subscriber' })
    return found ?? {}
  }

  it('are complete', async () => {
    const forever = (await make(world, 'services')).entity['name']
    const year = (await make(world, 'services', { price: [{ from: 0, to: 12, price: 1 }] })).entity
    const week = (await make(world, 'services', { balance_period: '1 weeks' })).entity
    const services = [
      forever,
      { name: year['name'], from: '2026-02-01' },
      { name: week['name'] },
      { name: forever, from: '2025-01-01', to: '2026-03-01', quantity: 2 },
    ]
    const { sid } = (await makeSubscriber(world, { services })).entity
    const found = await of(sid)
    expect(entries(found)).toEqual([
      `${forever} 2026-01-01 -`,
      `${year['name']} 2026-02-01 2027-02-01`,
      expect.stringMatching(`^${week['name']} 2026-01-01 2026-01-0[89]`),
      `${forever} 2026-01-01 2026-03-01`,
    ])
    const ids = (found['services'] as Fields[]).map((one) => one['service_id'])
    expect(new Set(ids).size).toBe(4)
    for (const id of ids) expect(String(id)).toMatch(/^\d{16}$/)
    expect((found['services'] as Fields[])[3]).toMatchObject({ quantity: 2 })
  })

  it('are pushed and pulled', async () => {
    const names = await Promise.all([1, 2].map(() => make(world, 'services')))
    const [one, two] = names.map(({ entity }) => entity['name'])
    const body = await makeSubscriber(world, { services: [{ name: one }] })
    const query = { _id: idOf(body) }
    const push = [{ field_name: 'services', field_values: [{ name: two, from: '2026-03-01' }] }]
    const options = { push_fields: push }
    await world.ok('subscribers', 'update', { query, update: {}, options })
    const found = await of(body.entity['sid'])
    expect(entries(found)).toEqual([`${one} 2026-01-01 -`, `${two} 2026-03-01 -`])
    const id = (found['services'] as Fields[])[0]?.['service_id']
    const pull = [{ field_name: 'services', pull_by_key: 'service_id', field_values: [id] }]
    const params = { query, update: {}, options: { pull_fields: pull } }
    await world.ok('subscribers', 'update', params, 'json')
    expect(entries(await of(body.entity['sid']))).toEqual([`${two} 2026-03-01 -`])
  })

  it('stay as they are when they are read and sent back', async () => {
    const { name } = (await make(world, 'services')).entity
    const { sid } = (await makeSubscriber(world, { services: [{ name }] })).entity
    const before = await of(sid)
    const [row] = await world.rows('subscribers', { query: { sid } })
    const { _id, ...update } = row as Fields & { _id: { $id: string } }
    const body = await world.ok('subscribers', 'update', { query: { _id: _id.$id }, update })
    expect(body).not.toHaveProperty('warnings')
    expect({ ...(await of(sid)), rev: 0 }).toEqual({ ...before, rev: 0 })
  })
})
