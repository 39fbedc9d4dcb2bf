/** Events: read-only, and sent again. */
import { beforeEach, describe, expect, it } from 'vitest'
import {
  displayCode,
  type Fields,
  NOW,
  useApiServer,
} from '../../../support/admin/entities/api/api-server.ts'
import { deliveries, eventWith, storeEvents } from '../../../support/catalog/events.ts'

const world = useApiServer()
const LATER = new Date(Date.parse(NOW) + 30_000)
const LONG_AGO = new Date(Date.parse(NOW) - 120_000)
const sending = { delivery: { due: LATER }, start_notify_time: new Date(NOW) }

beforeEach(async () => {
  world.setNow(NOW)
  const { catalog } = world.stores()
  await catalog.events.deleteMany({})
  await catalog.audit.deleteMany({ collection: 'events' })
  await storeEvents(
    catalog,
    eventWith('a', { delivery: { state: 'dead', attempts: 9, error: 'HTTP status 503' } }),
    eventWith('b', { aid: 2, sid: 8, event_code: 'OTHER', delivery: { state: 'delivered' } }),
    eventWith('c', { ...sending, aid: 2, sid: 8 }),
    eventWith('d', {
      ...sending,
      start_notify_time: LONG_AGO,
      delivery: { due: LATER, attempts: 3 },
    }),
  )
})

const stampsOf = async (query: Fields, more: Fields = {}) =>
  (await world.rows('events', { query, sort: { stamp: 1 }, ...more })).map(({ stamp }) => stamp)
const resend = async (query: Fields): Promise<Fields> => {
  const { details, entity, ...rest } = await world.ok('events', 'resend', { query })
  expect(entity).toBeNull()
  return { details, ...(rest as unknown as Fields) }
}
const audited = () => world.stores().catalog.audit.find({ collection: 'events' }).toArray()

describe('events', () => {
  it('are read with receiver and delivery', async () => {
    const [row] = await world.rows('events', { query: { stamp: 'a' } })
    expect(row).toMatchObject({
      event_code: 'MINUTES_80',
      creation_time: '2026-06-15T12:00:00+0000',
      extra_params: { aid: 1, sid: 7 },
      receiver: { url: 'https://crm.example.net/events' },
      delivery: { state: 'dead', due: '2026-06-15T12:00:00+0000', attempts: 9 },
    })
    expect(await stampsOf({ 'extra_params.aid': 2 })).toEqual(['b', 'c'])
    expect(await stampsOf({ 'extra_params.sid': { $in: [7] }, 'delivery.state': 'dead' })).toEqual([
      'a',
    ])
    expect(await stampsOf({ event_code: 'OTHER' })).toEqual(['b'])
    expect(await stampsOf({ creation_time: { $gt: NOW } })).toEqual([])
    expect(await stampsOf({}, { size: 2, page: 1 })).toEqual(['c', 'd'])
    const project = { event_code: 1, _id: 0 }
    expect(await world.rows('events', { query: { stamp: 'b' }, project })).toEqual([
      { event_code: 'OTHER' },
    ])
  })

  it('cannot be queried by undeclared fields, or written', async () => {
    await world.refused('events', 'get', { query: { 'receiver.url': 'x' } })
    for (const action of ['create', 'update', 'delete']) {
      await world.refused('events', action, { query: { stamp: 'a' } })
    }
  })
})

describe('resend', () => {
  it('makes the selected events pending, once audited', async () => {
    expect(await resend({ 'delivery.state': { $in: ['dead', 'delivered'] } })).toEqual({
      status: 1,
      details: true,
      resent: ['a', 'b'],
      left: [],
      more: false,
    })
    const [first] = await world.rows('events', { query: { stamp: 'a' } })
    expect(first?.['delivery']).toEqual({
      state: 'pending',
      due: '2026-06-15T12:00:00+0000',
      attempts: 0,
    })
    expect(await audited()).toMatchObject([
      { type: 'resend', key: '', new: { stamps: ['a', 'b'] }, user: { name: expect.any(String) } },
    ])
  })

  it('leaves an event that is being sent, and names it', async () => {
    const before = await deliveries(world.stores().catalog)
    expect(await resend({ stamp: 'c' })).toMatchObject({ details: false, resent: [], left: ['c'] })
    expect(await deliveries(world.stores().catalog)).toEqual(before)
    expect(await audited()).toEqual([])
    expect(await resend({ stamp: ['c', 'd'] })).toMatchObject({ resent: ['d'], left: ['c'] })
    expect(await deliveries(world.stores().catalog)).toMatchObject({
      c: 'pending 0',
      d: 'pending 0',
    })
    expect(await audited()).toMatchObject([{ key: 'd' }])
  })

  it('selects by id, stamp or state only', async () => {
    for (const query of [{}, { event_code: 'OTHER' }, { $or: [{ stamp: 'a' }] }]) {
      const body = await world.refused('events', 'resend', { query })
      expect([body.message, displayCode(body)]).toEqual([
        'query: give one of _id, stamp, delivery.state',
        999_999,
      ])
    }
    const { events } = world.stores().catalog
    const id = String((await events.findOne({ stamp: 'a' }))?._id)
    expect(await resend({ _id: id })).toMatchObject({ resent: ['a'] })
    expect(await resend({ stamp: 'none' })).toMatchObject({ details: false, resent: [] })
  })

  it('takes at most a thousand per call', async () => {
    const { catalog } = world.stores()
    const many = Array.from({ length: 1001 }, (_, index) =>
      eventWith(`m${index}`, { event_code: 'MANY', delivery: { state: 'dead' } }),
    )
    await storeEvents(catalog, ...many)
    const query = { 'delivery.state': 'dead', event_code: 'MANY' }
    const first = await resend(query)
    expect(first['resent']).toHaveLength(1000)
    expect(first['more']).toBe(true)
    expect(await resend(query)).toMatchObject({ resent: ['m1000'], more: false })
    expect(await audited()).toHaveLength(11)
  })

  it('is a write: it needs POST', async () => {
    const { http } = await world.send('/billapi/events/resend?query={"stamp":"a"}', {})
    expect(http).toBe(405)
  })
})
