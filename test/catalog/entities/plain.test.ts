import { describe, expect, it } from 'vitest'
import type { EntityCollection } from '../../../src/catalog/entities/entity-table.ts'
import { DuplicateEntityError } from '../../../src/catalog/errors.ts'
import { insertEntity, ORDINARY, useStore } from '../../support/catalog/store.ts'
import { writeEntity } from '../../support/catalog/write.ts'

const store = useStore()

const PLAIN = ['prepaidgroups', 'charges', 'discounts', 'reports', 'users', 'autorenew'] as const

const replace = { mode: 'replace', timeZone: 'UTC' } as const

const entry = (more: object) => ({
  include: [{ pp_includes_name: 'Main', value: -20, ...more }],
})

describe('an entity that charging does not read', () => {
  it.each(PLAIN)('is stored with a revision number: one of %s', async (collection) => {
    const catalog = await store.open()
    const written = await insertEntity(catalog, collection, { more: { of: ['what', 'is sent'] } })
    expect(written).toMatchObject({
      rev: 1,
      from: new Date('2026-01-01'),
      more: { of: ['what', 'is sent'] },
    })
    const changed = await writeEntity(catalog, collection, { ...written, more: 1 }, replace)
    expect(changed).toMatchObject({ rev: 2, more: 1 })
  })

  it.each([
    ['prepaidgroups', { include: [] }, 'include must have at least one bucket'],
    ['prepaidgroups', entry({ value: undefined }), 'include.0 must have an amount: one of'],
    ['prepaidgroups', entry({ cost: -1 }), 'include.0.value must not be combined with cost'],
    ['prepaidgroups', entry({ value: '0.0000001' }), 'include.0.value must be a number or decimal'],
    [
      'prepaidgroups',
      entry({ pp_includes_name: '' }),
      'include.0.pp_includes_external_id is missing',
    ],
    ['prepaidgroups', entry({ operation: 'add' }), 'include.0.operation must be one of default,'],
    [
      'prepaidgroups',
      entry({ period: { duration: 0, unit: 'days' } }),
      'include.0.period.duration',
    ],
    [
      'prepaidgroups',
      entry({ period: { duration: 1, unit: 'x' } }),
      'include.0.period.unit must be',
    ],
    ['prepaidgroups', { operation: 'add' }, 'operation must be one of inc, set, new'],
    ['prepaidgroups', { charging_value: 'a lot' }, 'charging_value must be a number'],
    ['charges', { key: 'late' }, 'key must be a text of capital letters'],
    ['charges', { subject: { general: { value: 'x' } } }, 'subject.general.value must be a number'],
    ['charges', { subject: { general: {} } }, 'subject.general.value is missing'],
    ['charges', { type: 'gift' }, "type must be 'monetary' or 'percentage'"],
    [
      'discounts',
      { subject: { plan: { GOLD: { value: -1 } } } },
      'subject.plan.GOLD.value must not',
    ],
    ['discounts', { simultaneous_limit: -2 }, 'simultaneous_limit must be an integer from -1'],
    ['discounts', { proration: 'half' }, "proration must be 'inherited', 'yes' or 'no'"],
    ['discounts', { params: { cycles: 'x' } }, 'params.cycles must be an integer from 1'],
    ['discounts', { priority: 'high' }, 'priority must be an integer'],
    ['discounts', { excludes: [1] }, 'excludes.0 must be a text'],
    ['reports', { type: 2 }, 'type must be 0 (simple) or 1 (grouped)'],
    ['users', { roles: ['a role'] }, 'roles.0 must be the name of a role'],
    ['users', { password: '' }, 'password must be a text'],
    ['autorenew', { cycles: 0 }, 'cycles must be an integer from 1'],
    ['autorenew', { interval: 'year' }, "interval must be 'day', 'week' or 'month'"],
    ['autorenew', { next_renew: 'soon' }, "next_renew must be a date, is 'soon'"],
    ['reports', { to: '2025-01-01' }, 'to must be after from'],
  ] as const)('of %s %j is refused', async (collection, fields, message) => {
    const catalog = await store.open()
    await expect(insertEntity(catalog, collection, fields)).rejects.toThrow(message)
    expect(await catalog[collection as 'plans'].countDocuments()).toBe(0)
  })

  it.each([
    { priority: '5', limit: '', excludes: [], params: [], subject: [] },
    { params: { min_subscribers: 2, max_subscribers: '', cycles: '12' } },
    { subject: { service: { TV: { value: '0.1' } }, matched_plans: { value: 1 } } },
  ])('accepts empty fields as forms send them: %j', async (fields) => {
    const catalog = await store.open()
    expect(await insertEntity(catalog, 'discounts', fields)).toMatchObject(fields)
  })
})

describe('the price of a plan or service itself', () => {
  it.each([
    ['plans', { price: [{ from: 0, to: 'UNLIMITED' }] }, 'price.0.price is missing'],
    ['services', { price: [{ from: 2, to: 1, price: 5 }] }, 'price.0.to must be above from'],
    ['plans', { price: 25 }, 'price must be a list'],
    ['plans', { recurrence: { periodicity: 'week' } }, 'recurrence.periodicity must be one of'],
    ['services', { recurrence: { frequency: 0 } }, 'recurrence.frequency must be an integer'],
    ['plans', { recurrence: { frequency: 1, start: 13 } }, 'recurrence.start must be a month'],
    ['plans', { upfront: 'yes' }, 'upfront must be true or false'],
  ] as const)('of %s %j is refused', async (collection, fields, message) => {
    const catalog = await store.open()
    await expect(insertEntity(catalog, collection, fields)).rejects.toThrow(message)
  })
})

describe('dates of a deleted revision', () => {
  const UNIQUE: readonly EntityCollection[] = [
    'rates',
    'services',
    'taxes',
    'prepaidincludes',
    'charges',
    'discounts',
    'users',
  ] as const as EntityCollection[]

  it.each(UNIQUE)('can be used again: %s', async (collection) => {
    const catalog = await store.open()
    await catalog.ensureIndexes()
    const first = await insertEntity(catalog, collection)
    await expect(insertEntity(catalog, collection)).rejects.toThrow(DuplicateEntityError)
    const tombstone = { ...first, deleted: true, deleted_at: new Date('2026-02-01') }
    await writeEntity(catalog, collection, tombstone, replace)
    const second = await insertEntity(catalog, collection)
    const again = { ...second, deleted: true, deleted_at: new Date('2026-02-02') }
    await writeEntity(catalog, collection, again, replace)
    const { from: _, ...ordinary } = ORDINARY[collection]
    expect(await insertEntity(catalog, collection)).toMatchObject(ordinary)
  })
})
