import { ObjectId } from 'mongodb'
import { afterEach, describe, expect, it } from 'vitest'
import { type Catalog, withGuards } from '../../../src/catalog/connection.ts'
import type { EntityCollection } from '../../../src/catalog/entities/entity-table.ts'
import {
  type CatalogFeed,
  createCatalogFeed,
  type FeedOptions,
} from '../../../src/catalog/feed/feed.ts'
import type { SubscriberChange } from '../../../src/catalog/feed/subscriber-watch.ts'
import { writeRevisions } from '../../../src/catalog/revisions/store-revisions.ts'
import { insertEntity, ORDINARY, recordingLog, useStore } from '../../support/catalog/store.ts'
import { writeEntity } from '../../support/catalog/write.ts'
import { startStoreProxy } from '../../support/store-proxy.ts'

const store = useStore()
const feeds: CatalogFeed[] = []
afterEach(async () => {
  for (const feed of feeds.splice(0)) await feed.stop()
})

/** A feed that polls on request, unless a test needs automatic polling. */
function createFeed(catalog: Catalog, pollMs = 3_600_000, more: Partial<FeedOptions> = {}) {
  const { log, records } = recordingLog()
  const feed = createCatalogFeed({ catalog, pollMs, log, ...more })
  const changes: SubscriberChange[] = []
  feed.onSubscriberChange((change) => changes.push(change))
  feeds.push(feed)
  return { feed, records, changes }
}

const CATALOGUE = ['plans', 'services', 'rates', 'taxes', 'prepaidincludes'] as const
const replace = { mode: 'replace', timeZone: 'UTC' } as const

/** Writes like an external program that does not know revision numbers. */
async function seed(catalog: Catalog, collection: EntityCollection, rev: number, fields: object) {
  const document = {
    ...ORDINARY[collection],
    from: new Date('2026-01-01'),
    to: new Date('2100-01-01'),
    ...fields,
    _id: new ObjectId(),
    rev,
  }
  await catalog[collection as 'plans'].insertOne(document as never)
}

describe('the catalogue', () => {
  it('is loaded completely at start', async () => {
    const catalog = await store.open()
    for (const collection of CATALOGUE) {
      await insertEntity(catalog, collection)
    }
    const { feed } = createFeed(catalog)
    expect([feed.loaded(), feed.current().revision]).toEqual([false, 0])
    expect(await feed.start()).toBe(true)
    expect(feed.loaded()).toBe(true)
    const { revision, rates, plans, services, taxes, prepaidIncludes } = feed.current()
    expect(revision).toBe(1)
    expect(rates.get('DATA')?.[0]?.usages.get('data')?.base?.tariff.tiers[0]?.price).toBe(10_000)
    expect(plans.get('GOLD')?.[0]?.connectionType).toBe('prepaid')
    expect(services.get('TV')?.[0]?.period).toBeNull()
    expect(taxes.get('VAT')?.[0]?.rate).toBe('0.17')
    expect(prepaidIncludes.get(1)?.[0]?.kind).toBe('totalCost')
  })

  it('of an empty store is loaded and empty', async () => {
    const { feed } = createFeed(await store.open())
    expect(await feed.start()).toBe(true)
    expect([feed.loaded(), feed.current().rates.size]).toEqual([true, 0])
  })

  it('is loaded in pages, with the same result', async () => {
    const catalog = await store.open()
    const count = 1203
    const documents = Array.from({ length: count }, (_, index) => ({
      ...ORDINARY.plans,
      _id: new ObjectId(),
      name: `PLAN_${index}`,
      from: new Date('2026-01-01'),
      to: new Date('2100-01-01'),
      rev: 0,
    }))
    await catalog.plans.insertMany(documents as never[])
    const { feed } = createFeed(catalog)
    await feed.start()
    expect(feed.current().plans.size).toBe(count)
  })

  it('follows every kind of change and keeps unchanged objects', async () => {
    const catalog = await store.open()
    const data = await insertEntity(catalog, 'rates')
    await insertEntity(catalog, 'rates', { key: 'SMS' })
    const { feed } = createFeed(catalog)
    await feed.start()
    const before = feed.current()

    await insertEntity(catalog, 'rates', { key: 'CALL' })
    const to = new Date('2026-06-01')
    const closed = await writeEntity(catalog, 'rates', { ...data, to }, replace)
    await feed.pollNow()
    const after = feed.current()
    expect(after.revision).toBe(before.revision + 1)
    expect([...after.rates.keys()].sort()).toEqual(['CALL', 'DATA', 'SMS'])
    expect(after.rates.get('DATA')?.[0]?.toMs).toBe(+to)
    expect(after.rates.get('SMS')).toBe(before.rates.get('SMS'))
    expect(before.rates.has('CALL')).toBe(false)

    await writeEntity(catalog, 'rates', { ...closed, deleted: true }, replace)
    await feed.pollNow()
    expect(feed.current().rates.has('DATA')).toBe(false)
  })

  it.each(CATALOGUE)('follows a change of %s', async (collection) => {
    const catalog = await store.open()
    const { feed } = createFeed(catalog)
    await feed.start()
    await insertEntity(catalog, collection)
    await feed.pollNow()
    const { revision, ...tables } = feed.current()
    expect(revision).toBe(2)
    expect(Object.values(tables).map((table) => table.size)).toContain(1)
  })

  it('reports changed rates before they are found in the catalogue', async () => {
    const catalog = await store.open()
    const reported: string[] = []
    const onRates: FeedOptions['onRates'] = (changed) => {
      for (const { key, revisions } of changed) {
        const isCurrent = feed.current().rates.get(key) === revisions
        reported.push(`${key} ${revisions.length}${isCurrent ? ' too late' : ''}`)
      }
    }
    const { feed } = createFeed(catalog, 3_600_000, { onRates })
    const data = await insertEntity(catalog, 'rates')
    await insertEntity(catalog, 'rates', { key: 'SMS' })
    await insertEntity(catalog, 'plans')
    await feed.start()
    expect(reported.splice(0).sort()).toEqual(['DATA 1', 'SMS 1'])
    await insertEntity(catalog, 'rates', { key: 'SMS', from: '2027-01-01' })
    await writeEntity(catalog, 'rates', { ...data, deleted: true }, replace)
    await insertEntity(catalog, 'plans', { name: 'SILVER' })
    await feed.pollNow()
    expect(reported.splice(0).sort()).toEqual(['DATA 0', 'SMS 2'])
    await insertEntity(catalog, 'plans', { name: 'BRONZE' })
    await feed.pollNow()
    expect(reported).toEqual([])
    // An older state of the store: every rate may differ, and some are gone.
    await catalog.rates.deleteMany({ from: new Date('2027-01-01') })
    await catalog.transactions.deleteMany({})
    await feed.pollNow()
    expect(reported.sort()).toEqual(['SMS 1'])
  })

  it('stays the same object while nothing changes', async () => {
    const catalog = await store.open()
    await insertEntity(catalog, 'rates')
    const { feed } = createFeed(catalog)
    await feed.start()
    const before = feed.current()
    await insertEntity(catalog, 'subscribers')
    await feed.pollNow()
    expect(feed.current()).toBe(before)
  })

  it('reads changes in pages', async () => {
    const catalog = await store.open()
    const { feed } = createFeed(catalog)
    await feed.start()
    const count = 1203
    await catalog.transaction('write many plans', async (session) => {
      const period = { from: new Date('2026-01-01'), to: new Date('2100-01-01'), rev: 0 }
      const steps = Array.from({ length: count }, (_, index) => {
        const document = {
          ...ORDINARY.plans,
          ...period,
          _id: new ObjectId(),
          name: `PLAN_${index}`,
        }
        return { mode: 'insert', document } as const
      })
      await writeRevisions(catalog, session, 'plans', steps)
    })
    await feed.pollNow()
    expect(feed.current().plans.size).toBe(count)
  })

  it('polls by itself', async () => {
    const catalog = await store.open()
    const { feed } = createFeed(catalog, 10)
    await feed.start()
    await insertEntity(catalog, 'plans')
    await expect.poll(() => feed.current().plans.has('GOLD')).toBe(true)
  })

  it('starts a new poll if a poll is requested during another one', async () => {
    const catalog = await store.open()
    let during: (() => Promise<void>) | null = null
    const watched = withGuards(catalog, {
      async run(what, operation) {
        const result = await catalog.run(what, operation)
        const act = during
        during = null
        await act?.()
        return result
      },
    })
    const { feed } = createFeed(watched)
    await feed.start()
    let notified: Promise<boolean> | null = null
    // The revision numbers are read when something changes and the event arrives.
    during = async () => {
      await insertEntity(catalog, 'plans')
      notified = feed.pollNow()
    }
    await feed.pollNow()
    expect(feed.current().plans.size).toBe(0)
    expect(await notified).toBe(true)
    expect(feed.current().plans.has('GOLD')).toBe(true)
  })
})

describe('writes of several processes', () => {
  it('become visible in the order of their numbers: a feed misses none', async () => {
    const database = `feed_${new ObjectId().toHexString()}`
    const catalog = await store.open(undefined, database)
    const { feed } = createFeed(catalog)
    await feed.start()
    const others = await Promise.all([1, 2, 3].map(() => store.open(undefined, database)))
    let isOver = false
    const seen: number[] = []
    const polling = (async () => {
      while (!isOver) {
        await feed.pollNow()
        seen.push(feed.current().plans.size)
      }
    })()
    const writing = others.map(async (other, process) => {
      for (let n = 0; n < 20; n += 1) {
        await insertEntity(other, 'plans', { name: `PLAN_${process}_${n}` })
      }
    })
    await Promise.all(writing)
    isOver = true
    await polling
    await feed.pollNow()
    expect(feed.current().plans.size).toBe(60)
    expect(seen).toEqual([...seen].sort((a, b) => a - b))
    const revs = (await catalog.plans.find().toArray()).map(({ rev }) => rev)
    expect(new Set(revs).size).toBe(60)
  })
})

describe('a document that does not compile', () => {
  it('is skipped, logged by name and counted, and does not block other documents', async () => {
    const catalog = await store.open()
    await seed(catalog, 'rates', 0, { key: 'BROKEN', rates: { data: { BASE: { rate: [] } } } })
    await insertEntity(catalog, 'rates')
    const { feed, records } = createFeed(catalog)
    await feed.start()
    await feed.pollNow()
    expect([...feed.current().rates.keys()]).toEqual(['DATA'])
    const expected = {
      collection: 'rates',
      name: 'BROKEN',
      path: 'rates.data.BASE.rate',
      reason: 'must have at least one tier',
    }
    expect(feed.skipped()).toMatchObject([expected])
    // In the log `name` is that of the process.
    const { name, ...logged } = expected
    const errors = records.filter(({ level }) => level === 'error')
    expect(errors).toMatchObject([{ ...logged, record_name: name }])
  })
})

describe('an outage', () => {
  it('keeps the last catalogue, is logged once, and recovers', async () => {
    const proxy = await startStoreProxy(store.url())
    try {
      const database = `feed_${new ObjectId().toHexString()}`
      const direct = await store.open(undefined, database)
      const catalog = await store.open(proxy.url, database)
      await insertEntity(direct, 'plans')
      const { feed, records } = createFeed(catalog)
      await feed.start()
      const before = feed.current()

      await proxy.cut()
      expect(await feed.pollNow()).toBe(false)
      expect(await feed.pollNow()).toBe(false)
      expect(feed.current()).toBe(before)
      await insertEntity(direct, 'plans', { name: 'SILVER' })
      await proxy.restore()
      await expect.poll(() => feed.pollNow()).toBe(true)
      expect([...feed.current().plans.keys()].sort()).toEqual(['GOLD', 'SILVER'])
      expect(records.map(({ level }) => level)).toEqual(['warn', 'info'])
    } finally {
      await proxy.close()
    }
  })

  it('at start is distinguished from an empty catalogue', async () => {
    const proxy = await startStoreProxy(store.url())
    try {
      await proxy.cut()
      const { feed } = createFeed(await store.open(proxy.url))
      expect(await feed.start()).toBe(false)
      expect(feed.loaded()).toBe(false)
      await proxy.restore()
      await expect.poll(() => feed.pollNow()).toBe(true)
      expect(feed.loaded()).toBe(true)
    } finally {
      await proxy.close()
    }
  })

  it('that ends with an older store causes a full reload', async () => {
    const catalog = await store.open()
    await insertEntity(catalog, 'plans')
    const { feed, changes } = createFeed(catalog)
    await insertEntity(catalog, 'subscribers')
    await feed.start()
    changes.length = 0
    await catalog.plans.deleteMany({})
    await catalog.transactions.deleteMany({})
    await feed.pollNow()
    expect(feed.current().plans.size).toBe(0)
    expect(changes).toEqual([{ scope: 'all' }])
  })
})

describe('subscriber changes', () => {
  it('are reported once, with the identifiers of the subscriber', async () => {
    const catalog = await store.open()
    await insertEntity(catalog, 'subscribers', { sid: 1 })
    const { feed, changes } = createFeed(catalog)
    await feed.start()
    expect(changes).toEqual([{ scope: 'all' }])
    changes.length = 0

    const stored = await insertEntity(catalog, 'subscribers', { msisdn: '447', imsi: ['1', '2'] })
    await feed.pollNow()
    const period = { fromMs: Date.UTC(2026, 0, 1), toMs: expect.any(Number) }
    const identifiers = { msisdn: '447', imsi: ['1', '2'], others: [] }
    const change = { scope: 'one', aid: 17, sid: 18, ...period, ...identifiers }
    expect(changes).toEqual([change])
    changes.length = 0

    await insertEntity(catalog, 'subscribers', { type: 'account', sid: undefined })
    await feed.pollNow()
    const none = { msisdn: '', imsi: [], others: [] }
    expect(changes).toEqual([{ scope: 'one', aid: 17, sid: 0, ...period, ...none }])
    changes.length = 0

    await feed.pollNow()
    expect(changes).toEqual([])
    const barred = { ...stored, barred: true }
    const again = await writeEntity(catalog, 'subscribers', barred, replace)
    await feed.pollNow()
    expect(changes).toEqual([change])
    changes.length = 0

    await writeEntity(catalog, 'subscribers', { ...again, deleted: true }, replace)
    await feed.pollNow()
    expect(changes).toEqual([{ ...change, fromMs: 0, toMs: 0 }])
  })

  it('are reported with the additional fields by which subscribers are found', async () => {
    const catalog = await store.open()
    const more = { identifiers: () => ['phone', 'sim.serial'] }
    const { feed, changes } = createFeed(catalog, 3_600_000, more)
    await feed.start()
    changes.length = 0
    await insertEntity(catalog, 'subscribers', { phone: ['447', '448'], sim: { serial: 12 } })
    await feed.pollNow()
    const others = [
      { field: 'phone', value: '447' },
      { field: 'phone', value: '448' },
      { field: 'sim.serial', value: '12' },
    ]
    expect(changes).toMatchObject([{ sid: 18, others }])
  })

  it('are not reported to removed listeners', async () => {
    const catalog = await store.open()
    const { feed } = createFeed(catalog)
    const heard: SubscriberChange[] = []
    const end = feed.onSubscriberChange((change) => heard.push(change))
    end()
    await feed.start()
    expect(heard).toEqual([])
  })
})
