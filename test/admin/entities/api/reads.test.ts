/** Results of reads over HTTP. */
import { beforeAll, describe, expect, it } from 'vitest'
import { type Fields, idOf, useApiServer } from '../../../support/admin/entities/api/api-server.ts'
import { fresh, make, makeSubscriber } from '../../../support/admin/entities/api/creators.ts'

const world = useApiServer()
const NAMES = ['READ_A', 'READ_B', 'READ_C', 'READ_D', 'READ_E']
const all = { name: { $regex: '^READ_' } }

beforeAll(async () => {
  for (const name of NAMES) await make(world, 'plans', { name, description: `of ${name}` })
})

const namesOf = (rows: readonly Fields[]) => rows.map(({ name }) => name)

describe('pages', () => {
  it.each(['get', 'uniqueget'])(
    'of %s have each row once, and say whether there are more',
    async (action) => {
      const seen: unknown[] = []
      for (let page = 0; page < 3; page += 1) {
        const body = await world.ok('plans', action, {
          query: all,
          page,
          size: 2,
          sort: { name: -1 },
        })
        expect(body.next_page).toBe(page < 2)
        seen.push(...namesOf(body.details as Fields[]))
      }
      expect(seen).toEqual([...NAMES].reverse())
      expect(await world.rows('plans', { query: all, page: 3, size: 2 }, action)).toEqual([])
      for (const size of [0, -1, '']) {
        expect(await world.rows('plans', { query: all, size: `${size}` }, action)).toHaveLength(5)
      }
    },
  )

  it('are bounded by the configuration', async () => {
    const { message } = await world.refused('plans', 'get', { query: all, page: -1 })
    expect(message).toContain('page')
    expect(await world.rows('plans', { query: all, size: 999_999_999 })).toHaveLength(5)
  })
})

describe('a projection', () => {
  it.each(['get', 'uniqueget'])('of %s returns the named fields', async (action) => {
    const query = { name: 'READ_A' }
    const [one] = await world.rows('plans', { query, project: { description: 1 } }, action)
    expect(Object.keys(one ?? {}).sort()).toEqual(['_id', 'description'])
    const without = { query, project: { _id: 0, name: 1 } }
    expect(await world.rows('plans', without, action)).toEqual([{ name: 'READ_A' }])
    const info = { from: 1, to: 1, revision_info: 1 }
    const [row] = await world.rows('plans', { query, project: info }, action)
    expect(row?.['revision_info']).toMatchObject({ status: 'active' })
    expect(row).toMatchObject({ name: 'READ_A', from: '2026-01-01T00:00:00+0000' })
    expect(row).not.toHaveProperty('description')
    const [never] = await world.rows('plans', { query, project: { rev: 1, deleted: 1 } }, action)
    expect(Object.keys(never ?? {})).toEqual(['_id'])
  })
})

describe('or_fields', () => {
  it('are alternatives', async () => {
    const query = { name: 'READ_A', description: 'of READ_B' }
    const sort = { name: 1 }
    const options = { or_fields: ['name', 'description'] }
    expect(await world.rows('plans', { query, sort })).toEqual([])
    const either = await world.rows('plans', { query, sort, options })
    expect(namesOf(either)).toEqual(['READ_A', 'READ_B'])
  })
})

describe('uniqueget', () => {
  it('returns an entity once, by its state', async () => {
    const name = fresh('STATE')
    const first = await make(world, 'plans', { name, from: '2026-01-01' })
    const from = (day: string) => ({ query: { _id: idOf(first) }, update: { from: day } })
    const future = await world.ok('plans', 'closeandnew', from('2026-09-01'))
    await world.ok('plans', 'closeandnew', from('2026-03-01'))
    const shown = async (states: unknown) => {
      const rows = await world.rows('plans', { query: { name }, states }, 'uniqueget')
      return rows.map((row) => String(row['from']).slice(0, 10))
    }
    expect(await shown(undefined)).toEqual(['2026-03-01'])
    expect(await shown([0])).toEqual(['2026-03-01'])
    // An active entity is not returned by its expired or future revisions.
    expect([await shown([1]), await shown([2])]).toEqual([[], []])
    const [active] = await world.rows('plans', { query: { name }, states: [0] }, 'uniqueget')
    const { _id } = active as unknown as { _id: { $id: string } }
    await world.ok('plans', 'close', { query: { _id: _id.$id }, update: { to: '2026-06-01' } })
    expect([await shown([0]), await shown([1])]).toEqual([[], ['2026-09-01']])
    await world.ok('plans', 'delete', { query: { _id: idOf(future) } })
    expect([await shown([0, 1]), await shown([2])]).toEqual([[], ['2026-03-01']])
    expect(await world.rows('plans', { query: { name } })).toHaveLength(2)
  })
})

describe('revision_info', () => {
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

  it('has nine keys, which say what is permitted', async () => {
    const name = fresh('INFO')
    const first = await make(world, 'plans', { name })
    const day = { query: { _id: idOf(first) }, update: { from: '2026-09-01' } }
    const next = await world.ok('plans', 'closeandnew', day)
    await world.ok('plans', 'close', { query: { _id: idOf(next) }, update: { to: '2027-01-01' } })
    const rows = await world.rows('plans', { query: { name }, sort: { from: 1 } })
    const infos = rows.map((row) => row['revision_info'] as Fields)
    for (const info of infos) expect(Object.keys(info)).toEqual(INFO)
    expect(infos).toMatchObject([
      { status: 'active', is_last: false, early_expiration: false, updatable: true },
      { status: 'future', is_last: true, early_expiration: true, removable: true },
    ])
    const { billrun } = world.stores().catalog
    await billrun.insertOne({ aid: 1, billrun_key: '202609', billed: 1 })
    const later = await world.rows('plans', { query: { name }, sort: { from: 1 } })
    expect(later.map((row) => row['revision_info'])).toMatchObject([
      { updatable: false, movable: false, removable: false, movable_from: false, movable_to: true },
      { updatable: true, movable: true, removable: true, movable_from: true, movable_to: true },
    ])
    await billrun.deleteMany({})
  })
})

describe('dates', () => {
  it('are texts in reads if they belong to revisions, and objects otherwise', async () => {
    const name = (await make(world, 'services')).entity['name']
    const { sid } = (await makeSubscriber(world, { services: [{ name }] })).entity
    const [row] = await world.rows('subscribers', { query: { sid } })
    const text = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+0000$/)
    const sec = { sec: Date.UTC(2026, 0, 1) / 1000, usec: 0 }
    expect(row).toMatchObject({
      from: text,
      to: text,
      creation_time: text,
      plan_activation: sec,
      activation_date: sec,
      services: [{ from: text, to: text, creation_time: text }],
    })
  })
})

describe('configured fields', () => {
  it('are stored by their type, searched, given defaults, and restricted by editable', async () => {
    const fields = [
      { field_name: 'params.class', type: 'select', select_options: 'gold,silver' },
      { field_name: 'seats', type: 'integer', searchable: true, default_value: 4 },
      { field_name: 'launch', type: 'date', searchable: true },
      { field_name: 'tags', type: 'text', multiple: true, searchable: true },
      { field_name: 'origin', type: 'text', editable: false },
      { field_name: 'code', type: 'text', validation: '[a-z]{3}' },
    ]
    await world.configure('plans', { fields })
    const made = await make(world, 'plans', {
      params: { class: 'gold' },
      launch: '2026-02-01',
      tags: 'new',
      origin: 'HQ',
      code: 'abc',
    })
    const query = { _id: idOf(made) }
    const [row] = await world.rows('plans', { query })
    expect(row).toMatchObject({
      params: { class: 'gold' },
      seats: 4,
      launch: '2026-02-01T00:00:00+0000',
      tags: ['new'],
      origin: 'HQ',
      code: 'abc',
    })
    for (const search of [{ seats: 4 }, { tags: 'new' }, { seats: { $gt: 3 } }]) {
      expect(namesOf(await world.rows('plans', { query: search }))).toEqual([row?.['name']])
    }
    const refusals: [Fields, string][] = [
      ...([[{ 'params.class': 'lead' }, 'params.class']] as [Fields, string][]),
      ...([[{ origin: 'elsewhere' }, 'origin']] as [Fields, string][]),
      ...([[{ code: 'ABC' }, 'code']] as [Fields, string][]),
      ...([[{ seats: 'many' }, 'seats']] as [Fields, string][]),
    ]
    for (const [update, field] of refusals) {
      const { message } = await world.refused('plans', 'update', { query, update })
      expect(message).toContain(field)
    }
    const options = { push_fields: [{ field_name: 'tags', field_values: ['hot'] }] }
    const pushed = await world.ok('plans', 'update', { query, update: { origin: 'HQ' }, options })
    expect(pushed.entity).toMatchObject({ tags: ['new', 'hot'], origin: 'HQ' })
    const cleared = await world.ok('plans', 'update', { query, update: { seats: null } })
    expect(cleared.entity).not.toHaveProperty('seats')
    const unknown = { query, update: { description: 'x', colour: 'red' } }
    expect((await world.ok('plans', 'update', unknown)).warnings).toEqual([
      expect.stringContaining('colour'),
    ])
  })
})

describe('a regular expression', () => {
  it('may name properties of Unicode', async () => {
    const query = { name: { $regex: '^\\p{Lu}+_A$' } }
    expect(namesOf(await world.rows('plans', { query }))).toEqual(['READ_A'])
  })

  // Some are refused before the store runs them.
  it.each(['\\p{Nope}', '\\pX', '^\\X', '\\p', 'a\\Q.\\E', '[[:alpha:]]', '\\p{Lu}\\-'])(
    '%s that the store cannot run is answered as an error of the caller',
    async ($regex) => {
      const { http, body } = await world.call('plans', 'get', { query: { name: { $regex } } })
      expect(body).toMatchObject({ status: 0, code: expect.any(Number) })
      if (http !== 200) expect([http, body.code]).toEqual([400, 400])
    },
  )

  it('\\p{Nope} is answered 400', async () => {
    const query = { name: { $regex: '\\p{Nope}' } }
    for (const action of ['get', 'uniqueget']) {
      const { http, body } = await world.call('plans', action, { query })
      expect([action, http, body.status, body.code]).toEqual([action, 400, 0, 400])
    }
  })
})
