import { ObjectId } from 'mongodb'
import { describe, expect, it } from 'vitest'
import type { Catalog } from '../../../src/catalog/connection.ts'
import { DuplicateEntityError, EntityConflictError } from '../../../src/catalog/errors.ts'
import type { ProfileOwner } from '../../../src/catalog/revisions/lock-document.ts'
import { bump, LATE_WRITES_MAX } from '../../../src/catalog/revisions/revisions.ts'
import { writeEntity } from '../../../src/catalog/revisions/check.ts'
import { FieldError } from '../../../src/domain/fields.ts'
import { FOREVER_MS } from '../../../src/domain/time.ts'
import { insertEntity, ORDINARY, useStore } from '../../support/catalog/store.ts'

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
  (await catalog.counters.findOne({ _id: `feed:${collection}` }))?.seq ?? 0

/** A fence that records its calls and the documents stored at the time of each call. */
function recordingFence(catalog: Catalog) {
  const calls: string[] = []
  const record =
    (name: string) =>
    async ({ aid, sid }: ProfileOwner) => {
      calls.push(`${name} ${aid}/${sid} ${await catalog.subscribers.countDocuments()}`)
    }
  return { calls, fence: { begin: record('begin'), end: record('end') } }
}

describe('writeEntity', () => {
  it('stores a revision between two revision numbers', async () => {
    const catalog = await store.open()
    const written = await insertEntity(catalog, 'rates')
    expect(written).toMatchObject({ key: 'DATA', rev: 1 })
    expect(await catalog.rates.findOne({ _id: written._id })).toEqual(written)
    expect(await numberOf(catalog, 'rates')).toBe(2)
    expect((await insertEntity(catalog, 'rates', { key: 'SMS' })).rev).toBe(3)
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
    expect(written).toEqual({ ...second, rev: 3 })
    expect(await catalog.plans.find({}).toArray()).toEqual([written])
  })

  it.each([
    ['does not exist', { _id: new ObjectId() }],
    ['belongs to another entity', { name: 'SILVER' }],
    ['was changed meanwhile', { rev: 77 }],
  ])('does not replace a revision that %s', async (_name, fields) => {
    const catalog = await store.open()
    const stored = await insertEntity(catalog, 'plans')
    const options = { mode: 'replace', timeZone: 'UTC' } as const
    const replaced = writeEntity(catalog, 'plans', { ...stored, ...fields }, options)
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

  it('assigns a new number to a write that too many other writes have overtaken', async () => {
    const catalog = await store.open()
    const _id = new ObjectId()
    const fence = {
      begin: async () => {},
      end: async () => {},
    }
    // Concurrent writes while this write is on its way to the store.
    const slow = {
      ...catalog,
      run: async <T>(what: string, operation: () => Promise<T>): Promise<T> => {
        if (what.startsWith('write into')) {
          for (let n = 0; n < LATE_WRITES_MAX + 10; n += 1) await bump(catalog, 'subscribers')
        }
        return catalog.run(what, operation)
      },
    }
    const options = { mode: 'insert', timeZone: 'UTC', fence } as const
    const written = await writeEntity(
      slow,
      'subscribers',
      { ...ORDINARY.subscribers, _id },
      options,
    )
    const number = await numberOf(catalog, 'subscribers')
    expect(written.rev).toBeGreaterThan(LATE_WRITES_MAX)
    expect(number - written.rev).toBeLessThanOrEqual(LATE_WRITES_MAX)
    expect((await catalog.subscribers.findOne({ _id }))?.rev).toBe(written.rev)
  })
})

describe('the profile fence', () => {
  it.each([
    [{}, '17/18'],
    [{ type: 'account', sid: undefined }, '17/0'],
  ])('encloses the write of %j', async (fields, owner) => {
    const catalog = await store.open()
    const { calls, fence } = recordingFence(catalog)
    const options = { mode: 'insert', timeZone: 'UTC', fence } as const
    await writeEntity(catalog, 'subscribers', { ...ORDINARY.subscribers, ...fields }, options)
    expect(calls).toEqual([`begin ${owner} 0`, `end ${owner} 1`])
  })

  it('ends when the write fails, and does not begin for an invalid document', async () => {
    const catalog = await store.open()
    const stored = await insertEntity(catalog, 'subscribers')
    const { calls, fence } = recordingFence(catalog)
    const options = { mode: 'insert', timeZone: 'UTC', fence } as const
    const again = writeEntity(catalog, 'subscribers', stored, options)
    await expect(again).rejects.toThrow(DuplicateEntityError)
    expect(calls).toEqual(['begin 17/18 1', 'end 17/18 1'])
    const broken = writeEntity(catalog, 'subscribers', { ...stored, plan: 1 }, options)
    await expect(broken).rejects.toThrow('plan must be a text that is not empty')
    expect(calls).toHaveLength(2)
  })

  it('prevents the write when it cannot begin', async () => {
    const catalog = await store.open()
    const fence = {
      begin: () => Promise.reject(new Error('ledger is away')),
      end: async () => {},
    }
    const options = { mode: 'insert', timeZone: 'UTC', fence } as const
    const write = writeEntity(catalog, 'subscribers', ORDINARY.subscribers, options)
    await expect(write).rejects.toThrow('ledger is away')
    expect(await catalog.subscribers.countDocuments()).toBe(0)
  })
})
