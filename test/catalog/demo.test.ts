import { Value } from '@sinclair/typebox/value'
import { describe, expect, it } from 'vitest'
import {
  DEMO_EVENTS,
  DEMO_INVOICES,
  DEMO_RECEIVER,
  finishDemoSeed,
  hasDemo,
  seedDemoCatalogue,
  seedDemoSettings,
} from '../../src/catalog/demo.ts'
import { createCatalogFeed } from '../../src/catalog/feed/feed.ts'
import { findSubscriber } from '../../src/catalog/feed/subscribers.ts'
import { checkEventSettings } from '../../src/catalog/settings/events/event-settings.ts'
import { InvoicesSchema } from '../../src/catalog/settings/money/invoice-settings.ts'
import { storedDefaultTax } from '../../src/catalog/settings/money/taxation-settings.ts'
import { readCategory, writeStoredConfig } from '../../src/catalog/settings/stored-config.ts'
import { loadConfig } from '../../src/config/load.ts'
import { charge } from '../../src/domain/tariff.ts'
import { addressProblem, createAddressPolicy } from '../../src/external/address-policy.ts'
import { DEMO_BY, insertEntity, recordingLog, useStore } from '../support/catalog/store.ts'

const store = useStore()
const NOTHING = { created: [], credits: [] }
const AT_MS = Date.UTC(2026, 0, 1)

describe('the demo catalogue', () => {
  it('is created in an empty store and can be charged against', async () => {
    const catalog = await store.open()
    await catalog.ensureIndexes()
    const { created, credits } = await seedDemoCatalogue(catalog, DEMO_BY)
    expect(created).toEqual([
      'prepaidincludes MONEY',
      'prepaidincludes DATA_PACK',
      'prepaidincludes SHARED_DATA',
      'taxes VAT',
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
    await seedDemoCatalogue(catalog, DEMO_BY)
    await finishDemoSeed(catalog)
    expect(await seedDemoCatalogue(catalog, DEMO_BY)).toEqual(NOTHING)
    expect(await hasDemo(catalog)).toBe(true)
  })

  it('resumes after an interruption with the same credits', async () => {
    const catalog = await store.open()
    const first = await seedDemoCatalogue(catalog, DEMO_BY)
    const second = await seedDemoCatalogue(catalog, DEMO_BY)
    expect(second).toEqual({ created: [], credits: first.credits })
  })

  it('is not created in a store that is in use', async () => {
    const catalog = await store.open()
    await insertEntity(catalog, 'plans')
    expect(await seedDemoCatalogue(catalog, DEMO_BY)).toEqual(NOTHING)
    expect(await hasDemo(catalog)).toBe(false)
    expect(await catalog.rates.findOne({})).toBeNull()
  })

  it('is created once by two concurrent callers', async () => {
    const catalog = await store.open()
    const seeds = await Promise.all([1, 2].map(() => seedDemoCatalogue(catalog, DEMO_BY)))
    const created = seeds.flatMap((seed) => seed.created)
    expect(created).toHaveLength(new Set(created).size)
    expect(await catalog.audit.find().toArray()).toMatchObject([{ type: 'seed', key: 'demo' }])
    expect(await catalog.subscribers.countDocuments()).toBe(5)
  })
})

describe('the rules of the demo', () => {
  it('are valid settings, stored once', async () => {
    const catalog = await store.open()
    checkEventSettings(DEMO_EVENTS)
    for (const { url } of DEMO_EVENTS.balance) {
      const problem = (ranges: readonly string[]) =>
        addressProblem(new URL(url), createAddressPolicy(ranges))
      expect(await problem([DEMO_RECEIVER])).toBeNull()
      expect(await problem(loadConfig({ env: {} }).external.privateRanges)).not.toBeNull()
    }
    for (let times = 1; times <= 2; times += 1) await seedDemoSettings(catalog, DEMO_BY)
    expect((await readCategory(catalog, 'events')).value).toEqual(DEMO_EVENTS)
    const keys = ['events', 'taxation', 'invoices']
    const records = await catalog.audit.find().toArray()
    expect(records).toMatchObject(keys.map((key) => ({ type: 'set', key })))
  })

  it('have a default tax that exists, and a seller as an e-invoice needs it', async () => {
    const catalog = await store.open()
    await seedDemoCatalogue(catalog, DEMO_BY)
    await seedDemoSettings(catalog, DEMO_BY)
    const { value: taxation } = await readCategory(catalog, 'taxation')
    const key = storedDefaultTax(taxation)
    expect(await catalog.taxes.findOne({ key: String(key) })).toMatchObject({ description: 'VAT' })
    expect(Value.Check(InvoicesSchema, DEMO_INVOICES)).toBe(true)
    const { vat_id: number, country } = DEMO_INVOICES.seller
    expect(number.startsWith(country)).toBe(true)
  })

  it('replace no stored rules', async () => {
    const catalog = await store.open()
    const stored = { settings: { http: { url: 'http://127.0.0.1:1/' } } }
    await writeStoredConfig(catalog, 'events', () => stored, { nowMs: AT_MS, by: 'test' })
    await seedDemoSettings(catalog, DEMO_BY)
    expect((await readCategory(catalog, 'events')).value).toEqual(stored)
  })
})
