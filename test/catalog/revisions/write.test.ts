import { ObjectId } from 'mongodb'
import { describe, expect, it } from 'vitest'
import type { Catalog } from '../../../src/catalog/connection.ts'
import { DuplicateEntityError, EntityConflictError } from '../../../src/catalog/errors.ts'
import { checkedEntity } from '../../../src/catalog/revisions/check.ts'
import {
  changeEntities,
  FENCE_KIND,
  type ProfileOwner,
} from '../../../src/catalog/revisions/entity-changes.ts'
import { FieldError } from '../../../src/domain/fields.ts'
import { FOREVER_MS } from '../../../src/domain/time.ts'
import { insertEntity, ORDINARY, recordingLog, useStore } from '../../support/catalog/store.ts'
import { writeEntity } from '../../support/catalog/write.ts'

const store = useStore()

const OVERLAPPING = {
  rates: {
    data: {
      BASE: {
        rate: [
          { from: 0, to: 10, interval: 1, price: 1 },
          { from: 9, to: 'UNLIMITED', interval: 1, price: 1 },
        ],
      },
    },
  },
}

const numberOf = async (catalog: Catalog, collection: string) =>
  (await catalog.transactions.findOne({ _id: 'head' }))?.numbers[collection as 'plans'] ?? 0

describe('a write', () => {
  it('gives each write the next number of its collection', async () => {
    const catalog = await store.open()
    const written = await insertEntity(catalog, 'rates')
    expect(written).toMatchObject({ key: 'DATA', rev: 1 })
    expect(await catalog.rates.findOne({ _id: written._id })).toEqual(written)
    expect(await numberOf(catalog, 'rates')).toBe(1)
    expect((await insertEntity(catalog, 'rates', { key: 'SMS' })).rev).toBe(2)
  })

  it('accepts dates as text in the time zone of the operator; `to` is optional', async () => {
    const catalog = await store.open()
    const document = {
      ...ORDINARY.subscribers,
      from: '2026-07-01 08:30:00',
      services: [{ name: 'TV', from: '2026-07-01', to: '2026-08-01T00:00:00Z' }],
    }
    const options = { mode: 'insert', timeZone: 'Europe/Paris' } as const
    await insertEntity(catalog, 'services')
    expect(await writeEntity(catalog, 'subscribers', document, options)).toMatchObject({
      from: new Date('2026-07-01T06:30:00Z'),
      to: new Date(FOREVER_MS),
      services: [{ from: new Date('2026-06-30T22:00:00Z'), to: new Date('2026-08-01T00:00:00Z') }],
    })
  })

  it.each([
    ['rates', { from: '2026-02-30' }, "from must be a date, is '2026-02-30'"],
    ['rates', { rates: { data: { BASE: {} } } }, 'rates.data.BASE.rate is missing'],
    ['plans', { connection_type: undefined }, 'connection_type is missing'],
    [
      'prepaidincludes',
      { charging_by: 'x' },
      "charging_by must be 'usagev', 'cost' or 'total_cost'",
    ],
    ['subscribers', { sid: undefined }, 'sid is missing'],
    ['subscribers', { type: 'other' }, "type must be 'subscriber'"],
    [
      'subscribers',
      { services: [{ name: 'TV', from: 'soon' }] },
      "services.0.from must be a date, is 'soon'",
    ],
    ['subscribers', { type: 'account', aid: undefined }, 'aid is missing'],
    ['plans', { _id: 'abc' }, '_id must be an object id'],
  ] as const)('refuses %s %j and stores nothing', async (collection, fields, message) => {
    const catalog = await store.open()
    const refused = insertEntity(catalog, collection, fields)
    await expect(refused).rejects.toThrow(FieldError)
    await expect(refused).rejects.toThrow(message)
    expect(await catalog[collection as 'plans'].findOne({})).toBeNull()
    expect(await numberOf(catalog, collection)).toBe(0)
  })

  it.each([
    ['a rate', 'rates', OVERLAPPING],
    ['a plan', 'plans', { rates: { DATA: { data: OVERLAPPING.rates.data.BASE } } }],
    ['a service', 'services', { rates: { DATA: { data: OVERLAPPING.rates.data.BASE } } }],
  ] as const)('refuses overlapping tiers in %s', async (_name, collection, fields) => {
    const catalog = await store.open()
    const refused = insertEntity(catalog, collection, fields)
    await expect(refused).rejects.toThrow(
      'rate.1.from must not be below the end of the tier before',
    )
  })

  it('replaces a whole revision', async () => {
    const catalog = await store.open()
    const { description: _, ...first } = await insertEntity(catalog, 'plans', { description: 'x' })
    const second = { ...first, disallowed_rates: ['SMS'] }
    const options = { mode: 'replace', timeZone: 'UTC' } as const
    const written = await writeEntity(catalog, 'plans', second, options)
    expect(written).toEqual({ ...second, rev: 2 })
    expect(await catalog.plans.find({}).toArray()).toEqual([written])
  })

  it('does not replace a revision that does not exist', async () => {
    const catalog = await store.open()
    const stored = await insertEntity(catalog, 'plans')
    const options = { mode: 'replace', timeZone: 'UTC' } as const
    const other = { ...stored, _id: new ObjectId() }
    const replaced = writeEntity(catalog, 'plans', other, options)
    await expect(replaced).rejects.toThrow(EntityConflictError)
    expect(await catalog.plans.find({}).toArray()).toEqual([stored])
  })

  it('requires an id to replace', async () => {
    const catalog = await store.open()
    const options = { mode: 'replace', timeZone: 'UTC' } as const
    await expect(writeEntity(catalog, 'plans', ORDINARY.plans, options)).rejects.toThrow(
      '_id must be an object id',
    )
  })

  it('refuses a second revision of a rate with the same validity', async () => {
    const catalog = await store.open()
    await catalog.ensureIndexes()
    await insertEntity(catalog, 'rates')
    const duplicate = await insertEntity(catalog, 'rates').catch((reason: unknown) => reason)
    expect(duplicate).toBeInstanceOf(DuplicateEntityError)
    expect(duplicate).toMatchObject({ collection: 'rates', fields: ['key', 'from', 'to'] })
    await insertEntity(catalog, 'rates', { from: '2027-01-01' })
  })
})

describe('a change of a profile', () => {
  it.each([
    [{}, { aid: 17, sid: 18 }],
    [
      { type: 'account', sid: undefined },
      { aid: 17, sid: 0 },
    ],
  ])('%j raises the fence of its owner after the commit', async (fields, owner) => {
    const catalog = await store.open()
    const raised: unknown[] = []
    const raise = async (payload: ProfileOwner) => {
      raised.push([payload, await catalog.subscribers.countDocuments()])
    }
    catalog.dispatcher.register({ [FENCE_KIND]: raise }, recordingLog().log)
    const document = { ...ORDINARY.subscribers, ...fields }
    const options = { mode: 'insert', timeZone: 'UTC' } as const
    const change = () =>
      changeEntities({ catalog, clock: { nowMs: () => 0 } }, 'write', async () => {
        const checked = await checkedEntity(catalog, 'subscribers', document, options)
        const steps = [{ mode: 'insert' as const, document: checked }]
        return { collection: 'subscribers' as const, steps, result: null }
      })
    await change()
    expect(raised).toEqual([[owner, 1]])
    Object.assign(document, { from: 'never' })
    await expect(change()).rejects.toThrow(FieldError)
    expect(raised).toHaveLength(1)
  })
})
