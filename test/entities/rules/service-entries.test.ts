import { describe, expect, it } from 'vitest'
import type { Catalog } from '../../../src/catalog/connection.ts'
import { FOREVER_MS } from '../../../src/domain/time.ts'
import { insertEntity, useStore } from '../../support/catalog/store.ts'
import {
  contextOf,
  DISPLAY,
  day,
  documentOf,
  NOW_MS,
  prepare,
  RULES,
  refusal,
  sets,
} from '../../support/entities/rules/context.ts'

const store = useStore()

async function withServices(): Promise<Catalog> {
  const catalog = await store.open()
  await insertEntity(catalog, 'services')
  await insertEntity(catalog, 'services', { name: 'WEEKS', balance_period: '+2 weeks' })
  const price = [
    { from: 0, to: 1, price: 0 },
    { from: 1, to: 3, price: 10 },
  ]
  await insertEntity(catalog, 'services', { name: 'TRIAL', price })
  await insertEntity(catalog, 'services', { name: 'OLD', to: '2026-02-01' })
  return catalog
}

async function entriesOf(
  catalog: Catalog,
  services: unknown,
  { collection = 'subscribers', target = null as ReturnType<typeof documentOf> | null } = {},
) {
  const changes = await prepare(collection, { services }, contextOf(catalog), target)
  return changes.set['services'] as Record<string, unknown>[]
}

describe('a service has to exist when it begins:', () => {
  it('an unknown service is refused with its name and the date', async () => {
    const catalog = await withServices()
    expect(await refusal(entriesOf(catalog, ['GONE']))).toEqual([
      DISPLAY.service,
      'services.0: there is no service GONE at 2026-03-10 12:00:00',
    ])
    const early = entriesOf(catalog, [{ name: 'TV', from: '2025-12-01' }], {
      target: documentOf({}),
    })
    expect((await refusal(early))?.[1]).toContain('no service TV at 2025-12-01')
    expect(await refusal(entriesOf(catalog, ['OLD']))).toEqual([
      DISPLAY.service,
      expect.any(String),
    ])
  })

  it('an unknown service is refused among pushed members, too', async () => {
    const catalog = await withServices()
    const push = [{ field: 'services', values: ['TV', { name: 'GONE' }] }]
    const asked = RULES['subscribers']?.prepare?.(
      { ...sets({}), push },
      documentOf({}),
      contextOf(catalog),
    )
    expect(await refusal(asked as Promise<unknown>)).toEqual([DISPLAY.service, expect.any(String)])
  })

  it.each(['OLD', 'GONE'])('%s, deleted since, is accepted in a stored entry', async (name) => {
    const catalog = await withServices()
    const held = { name, from: day('2026-01-15'), to: day('2026-06-01'), service_id: 7 }
    const target = documentOf({ services: [held] })
    const sent = { name, service_id: 7, from: '2026-01-15', to: '2026-05-01' }
    const [kept] = await entriesOf(catalog, [sent], { target })
    expect(kept).toMatchObject({ from: day('2026-01-15'), to: day('2026-05-01'), service_id: 7 })
    const moved = { ...sent, from: '2026-03-01' }
    expect(await refusal(entriesOf(catalog, [moved], { target }))).toEqual([
      DISPLAY.service,
      expect.any(String),
    ])
  })
})

describe('a service entry', () => {
  it('is completed from a name alone', async () => {
    const catalog = await withServices()
    const entries = await entriesOf(catalog, ['TV', { name: 'TV', quantity: '2' }])
    const [first, second] = entries
    expect(first).toEqual({
      name: 'TV',
      from: new Date(NOW_MS),
      to: new Date(FOREVER_MS),
      service_id: expect.any(Number),
      creation_time: new Date(NOW_MS),
    })
    expect(String(first?.['service_id'])).toHaveLength(16)
    expect(Number(second?.['service_id'])).toBeGreaterThan(Number(first?.['service_id']))
    expect(second?.['quantity']).toBe(2)
  })

  it('begins with its new subscriber at the earliest', async () => {
    const catalog = await withServices()
    const [early, late] = await entriesOf(catalog, [
      { name: 'TV', from: '2026-02-01' },
      { name: 'TV', from: '2026-04-01' },
    ])
    expect(early?.['from']).toEqual(new Date(NOW_MS))
    expect(late?.['from']).toEqual(day('2026-04-01'))
  })

  it('accepts dates in all forms of requests', async () => {
    const catalog = await withServices()
    const target = documentOf({})
    const forms = ['now', '+2 days', 'tomorrow', NOW_MS / 1000, { sec: NOW_MS / 1000, usec: 0 }]
    const services = forms.map((from) => ({ name: 'TV', from, to: '+1 month' }))
    const entries = await entriesOf(catalog, services, { target })
    const now = new Date(NOW_MS)
    const [later, midnight] = [new Date('2026-03-12T12:00:00Z'), day('2026-03-11')]
    expect(entries.map(({ from }) => from)).toEqual([now, later, midnight, now, now])
    const wrong = entriesOf(catalog, [{ name: 'TV', from: 'soon' }], { target })
    expect((await refusal(wrong))?.[1]).toContain('services.0.from must be a date such as')
  })

  it('has dates in the zone of the tenant', async () => {
    const catalog = await withServices()
    const context = contextOf(catalog, { zone: 'Asia/Jerusalem' })
    const services = [{ name: 'TV', from: '2026-04-01', to: '2026-05-01T00:00:00+0000' }]
    const changes = await prepare('subscribers', { services }, context, documentOf({}))
    expect(changes.set['services']).toMatchObject([
      { from: new Date('2026-03-31T21:00:00Z'), to: day('2026-05-01') },
    ])
  })

  it.each([
    ['WEEKS', undefined, '2026-03-24T12:00:00Z'],
    ['WEEKS', '2026-03-20', '2026-03-20T00:00:00Z'],
    ['WEEKS', '2026-12-01', '2026-03-24T12:00:00Z'],
    ['TRIAL', undefined, '2026-06-10T12:00:00Z'],
    ['TRIAL', '2026-04-01', '2026-04-01T00:00:00Z'],
    ['TV', '2026-04-01', '2026-04-01T00:00:00Z'],
  ])('of %s with requested end %s ends at %s', async (name, to, end) => {
    const catalog = await withServices()
    const [entry] = await entriesOf(catalog, [{ name, to }])
    expect(entry?.['to']).toEqual(new Date(end))
  })

  it('of an account counts months from the begin of the cycle', async () => {
    const catalog = await withServices()
    const [entry] = await entriesOf(catalog, ['TRIAL'], { collection: 'accounts' })
    expect(entry?.['to']).toEqual(day('2026-06-01'))
  })

  it('ends after limit_cycles, independent of its prices', async () => {
    const catalog = await withServices()
    const price = [{ from: 0, to: 'UNLIMITED', price: 1 }]
    const limited = { limit_cycles: 2, price } as object
    await catalog.services.updateOne({ name: 'TV' }, { $set: limited })
    const [entry] = await entriesOf(catalog, ['TV'])
    expect(entry?.['to']).toEqual(new Date('2026-05-10T12:00:00Z'))
  })

  it('ends by the calendar of its subscriber, as in charging', async () => {
    const catalog = await withServices()
    const services = [{ name: 'TRIAL', from: '2026-11-29T23:30:00Z' }]
    const ends = async (time_zone?: string) => {
      const target = documentOf({ ...(time_zone && { time_zone }) })
      const changes = await prepare('subscribers', { services }, contextOf(catalog), target)
      return (changes.set['services'] as { to: Date }[])[0]?.to
    }
    expect(await ends()).toEqual(new Date('2027-02-28T23:30:00Z'))
    // In this zone it begins on the 30th already, and February has 28 days.
    expect(await ends('Asia/Tokyo')).toEqual(new Date('2027-02-27T23:30:00Z'))
    const sent = { services, time_zone: 'Mars/Olympus' }
    const refused = prepare('subscribers', sent, contextOf(catalog), documentOf({}))
    expect((await refusal(refused))?.[1]).toContain('time_zone must be a time zone')
  })

  it('that is sent back as it was read stays as it is stored', async () => {
    const catalog = await withServices()
    const held = {
      name: 'TRIAL',
      from: new Date('2026-01-15T10:00:00.123Z'),
      to: new Date('2026-01-20T10:00:00.456Z'),
      service_id: 7,
      creation_time: new Date('2026-01-15T10:00:00.123Z'),
      quantity: 3,
    }
    const shown = {
      name: 'TRIAL',
      from: '2026-01-15T10:00:00+0000',
      to: { sec: held.to.getTime() / 1000 - 0.456, usec: 456_000 },
      service_id: '7',
    }
    const target = documentOf({ services: [held] })
    expect(await entriesOf(catalog, [shown], { target })).toEqual([held])
  })

  it.each([
    ['TV', 'services must be a list'],
    [[3], 'services.0 must be an object'],
    [[{ from: '2026-04-01' }], 'services.0.name is missing'],
    [[{ name: 'TV', quantity: 0 }], 'services.0.quantity must be an integer from 1'],
    [[{ name: 'TV', quantity: 1.5 }], 'services.0.quantity must be an integer from 1'],
    [[{ name: 'TV', from: 'soon' }], 'services.0.from must be a date'],
    [[{ name: 'TV', service_id: 'x' }], 'services.0.service_id must be an integer'],
    [[{ name: 'TV', to: '2026-03-01' }], 'services.0.to must be after 2026-03-10 12:00:00'],
  ])('%j is refused: %s', async (services, text) => {
    const catalog = await withServices()
    expect((await refusal(entriesOf(catalog, services)))?.[1]).toContain(text)
  })
})
