import { describe, expect, it } from 'vitest'
import { finishDemoSeed, seedDemoCatalogue } from '../../src/catalog/demo.ts'
import { createCatalogFeed } from '../../src/catalog/feed/feed.ts'
import { findSubscriber } from '../../src/catalog/feed/subscribers.ts'
import { charge } from '../../src/domain/tariff.ts'
import { insertEntity, recordingLog, useStore } from '../support/catalog/store.ts'

const store = useStore()
const NOTHING = { created: [], credits: [] }
const AT_MS = Date.UTC(2026, 0, 1)

describe('the demo catalogue', () => {
  it('is created in an empty store and can be charged against', async () => {
    const catalog = await store.open()
    await catalog.ensureIndexes()
    const { created, credits } = await seedDemoCatalogue(catalog)
    expect(created).toEqual([
      'prepaidincludes MONEY',
      'prepaidincludes DATA_PACK',
      'prepaidincludes SHARED_DATA',
      'rates DATA',
      'rates DATA_10',
      'rates CALL',
      'rates SMS',
      'plans DEMO_PREPAID',
      'subscribers 1',
      'subscribers 1001',
      'subscribers 1002',
      'subscribers 1003',
      'subscribers 1004',
    ])

    const { log } = recordingLog()
    const feed = createCatalogFeed({ catalog, pollMs: 1000, log })
    await feed.start()
    await feed.stop()
    const { rates, plans, prepaidIncludes } = feed.current()
    const priceOf = (key: string, usaget: string, units: number) => {
      const tariff = rates.get(key)?.[0]?.usages.get(usaget)?.base?.tariff
      return tariff == null ? null : charge(tariff, units, true)
    }
    expect(feed.skipped()).toEqual([])
    expect(priceOf('DATA', 'data', 1024 * 1024 + 1)).toBe(20_000)
    expect(priceOf('DATA_10', 'data', 1)).toBe(2000)
    expect(priceOf('CALL', 'call', 61)).toBe(250_000)
    expect(plans.has('DEMO_PREPAID')).toBe(true)

    expect(credits.length).toBeGreaterThan(0)
    for (const { sid, aid, prepaidIncludeId, amount } of credits) {
      const include = prepaidIncludes.get(prepaidIncludeId)?.[0]
      expect(include?.shared).toBe(sid === 0)
      expect(Number.isSafeInteger(amount) && amount > 0).toBe(true)
      const query = { key: 'sid', value: String(sid), atMs: AT_MS } as const
      if (sid > 0) expect((await findSubscriber(catalog, query))?.profile.aid).toBe(aid)
    }
    const byNumber = { key: 'msisdn', value: '447700900001', atMs: AT_MS } as const
    expect((await findSubscriber(catalog, byNumber))?.profile.sid).toBe(1001)
    const byImsi = { key: 'imsi', value: '001010000001002', atMs: AT_MS } as const
    expect((await findSubscriber(catalog, byImsi))?.profile.sid).toBe(1002)
  })

  it('is created once', async () => {
    const catalog = await store.open()
    await seedDemoCatalogue(catalog)
    await finishDemoSeed(catalog)
    expect(await seedDemoCatalogue(catalog)).toEqual(NOTHING)
  })

  it('resumes after an interruption with the same credits', async () => {
    const catalog = await store.open()
    const first = await seedDemoCatalogue(catalog)
    await catalog.plans.deleteMany({})
    const second = await seedDemoCatalogue(catalog)
    expect(second).toEqual({ created: ['plans DEMO_PREPAID'], credits: first.credits })
  })

  it('is not created in a store that is in use', async () => {
    const catalog = await store.open()
    await insertEntity(catalog, 'plans')
    expect(await seedDemoCatalogue(catalog)).toEqual(NOTHING)
    expect(await catalog.rates.findOne({})).toBeNull()
  })

  it('is created once by two concurrent callers', async () => {
    const catalog = await store.open()
    const seeds = await Promise.all([seedDemoCatalogue(catalog), seedDemoCatalogue(catalog)])
    const created = seeds.flatMap((seed) => seed.created)
    expect(created).toHaveLength(new Set(created).size)
    expect(await catalog.subscribers.countDocuments()).toBe(5)
  })
})
