import { ObjectId } from 'mongodb'
import { describe, expect, it } from 'vitest'
import { LENIENT } from '../../../src/catalog/compile/document.ts'
import type { Catalog } from '../../../src/catalog/connection.ts'
import { PoolTooLargeError } from '../../../src/catalog/errors.ts'
import {
  findProfile,
  joinProfiles,
  POOL_MEMBERS_MAX,
  storedParts,
} from '../../../src/catalog/feed/profiles.ts'
import { FieldError } from '../../../src/domain/fields.ts'
import { FOREVER_MS } from '../../../src/domain/time.ts'
import { insertEntity, ORDINARY, useStore } from '../../support/catalog/store.ts'

const store = useStore()
const at = (text: string) => Date.parse(`${text}T12:00:00Z`)
const day = (text: string) => Date.parse(`${text}T00:00:00Z`)
const account = { type: 'account', sid: undefined }
const override = (key: string) => [{ type: 'plan', key, value: { disallowed_rates: [key] } }]

const find = (catalog: Catalog, date: string, withPool = false) =>
  findProfile(catalog, { key: 'sid', value: '18', atMs: at(date) }, () => withPool)

describe('findProfile', () => {
  it('returns the subscriber alone if the account has no document', async () => {
    const catalog = await store.open()
    await insertEntity(catalog, 'subscribers')
    const result = await find(catalog, '2026-02-01')
    expect(result?.profile).toMatchObject({ sid: 18, accountServices: [], pool: null })
    expect(result?.validUntilMs).toBe(FOREVER_MS)
  })

  it('joins the account revision in force at that instant', async () => {
    const catalog = await store.open()
    await insertEntity(catalog, 'services')
    const own = { overrides: override('OWN'), services: ['TV'], credit_limit: 5 }
    await insertEntity(catalog, 'subscribers', own)
    const first = { ...account, to: '2026-04-01', credit_limit: '20.5' }
    const services = [{ name: 'TV', quantity: 3 }]
    await insertEntity(catalog, 'subscribers', { ...first, services, overrides: override('ITS') })
    await insertEntity(catalog, 'subscribers', { ...account, from: '2026-06-01' })

    const joined = await find(catalog, '2026-02-01')
    expect(joined?.profile).toMatchObject({
      services: [{ name: 'TV', quantity: 1 }],
      accountServices: [{ name: 'TV', quantity: 3 }],
      creditLimit: 5_000_000,
      accountCreditLimit: 20_500_000,
    })
    expect(joined?.profile.overrides.map(({ key }) => key)).toEqual(['ITS', 'OWN'])
    expect(joined?.validUntilMs).toBe(day('2026-04-01'))
    expect(joined?.profile.toMs).toBe(day('2026-04-01'))

    const between = await find(catalog, '2026-05-01')
    expect(between?.profile).toMatchObject({ accountServices: [], accountCreditLimit: null })
    expect(between?.validUntilMs).toBe(day('2026-06-01'))
    expect(between?.profile.toMs).toBe(day('2026-06-01'))
    const last = await find(catalog, '2026-07-01')
    expect(last?.validUntilMs).toBe(FOREVER_MS)
    expect(last?.profile).toMatchObject({ fromMs: day('2026-06-01'), toMs: FOREVER_MS })
  })

  describe('with clocks that are behind', () => {
    const msisdn = '972541234567'
    async function planAt(catalog: Catalog, atMs: number, key = 'sid', value = '18') {
      const parts = storedParts(catalog, LENIENT, 300_000)
      const [found] = await joinProfiles(parts, [{ key, value, atMs }], () => false)
      if (found instanceof Error) throw found
      return found?.profile.plan
    }

    it('applies the first revision early if it began as it was written', async () => {
      const catalog = await store.open()
      const beginMs = Date.now()
      await insertEntity(catalog, 'subscribers', { from: new Date(beginMs).toISOString() })
      await insertEntity(catalog, 'subscribers', { sid: 19, msisdn })
      expect(await planAt(catalog, beginMs - 300_000)).toBe('GOLD')
      expect(await planAt(catalog, beginMs - 300_001)).toBeUndefined()
      expect(await planAt(catalog, day('2026-01-01') - 1, 'sid', '19')).toBeUndefined()
    })

    it('applies one that replaces another at its begin', async () => {
      const catalog = await store.open()
      const beginMs = Date.now()
      const begin = new Date(beginMs).toISOString()
      await insertEntity(catalog, 'subscribers', { to: begin })
      await insertEntity(catalog, 'subscribers', { from: begin, plan: 'NOW' })
      expect(await planAt(catalog, beginMs - 1)).toBe('GOLD')
      expect(await planAt(catalog, beginMs)).toBe('NOW')
    })

    it('applies one with the number of another subscriber at its begin', async () => {
      const catalog = await store.open()
      const beginMs = Date.now()
      const begin = new Date(beginMs).toISOString()
      await insertEntity(catalog, 'subscribers', { to: begin, msisdn })
      await insertEntity(catalog, 'subscribers', { sid: 19, from: begin, plan: 'NOW', msisdn })
      const by = (atMs: number) => planAt(catalog, atMs, 'msisdn', msisdn)
      expect(await by(beginMs - 180_000)).toBe('GOLD')
      expect(await by(beginMs + 10_000)).toBe('NOW')
    })

    it('joins the account and the pool of its begin', async () => {
      const catalog = await store.open()
      const beginMs = Date.now()
      const from = new Date(beginMs).toISOString()
      await insertEntity(catalog, 'subscribers', { ...account, from, credit_limit: '20.5' })
      await insertEntity(catalog, 'subscribers', { from })
      const query = { key: 'sid', value: '18', atMs: beginMs - 2000 }
      const parts = storedParts(catalog, LENIENT, 300_000)
      const [found] = await joinProfiles(parts, [query], () => true)
      expect(found).toMatchObject({
        profile: {
          fromMs: beginMs,
          toMs: FOREVER_MS,
          accountCreditLimit: 20_500_000,
          pool: [{ plan: 'GOLD' }],
        },
        validUntilMs: FOREVER_MS,
      })
    })
  })

  it('returns the plan from the first adjoining revision that has it', async () => {
    const catalog = await store.open()
    const spans = [
      { from: '2026-01-10', to: '2026-02-01' },
      { from: '2026-02-01', to: '2026-03-01' },
      { from: '2026-03-01', to: '2026-04-01', plan: 'SILVER' },
      { from: '2026-04-01', to: '2026-05-01' },
      { from: '2026-05-02', to: '2026-06-01', plan_activation: '2026-04-15' },
      { from: '2026-06-01' },
    ]
    await insertEntity(catalog, 'plans', { name: 'SILVER' })
    for (const span of spans) await insertEntity(catalog, 'subscribers', span)
    const dates = [
      '2026-01-20',
      '2026-02-20',
      '2026-03-20',
      '2026-04-20',
      '2026-05-20',
      '2026-06-20',
    ]
    const found = await Promise.all(dates.map((date) => find(catalog, date)))
    expect(found.map((each) => each?.profile.planFromMs)).toEqual(
      ['2026-01-10', '2026-01-10', '2026-03-01', '2026-04-01', '2026-04-15', '2026-04-15'].map(day),
    )
  })

  it('returns null if there is no subscriber, regardless of the account', async () => {
    const catalog = await store.open()
    await insertEntity(catalog, 'subscribers', account)
    expect(await find(catalog, '2026-02-01')).toBeNull()
  })

  it('finds a subscriber by any identifying field', async () => {
    const catalog = await store.open()
    await catalog.ensureIndexes(['phone', 'sim.serial'])
    await insertEntity(catalog, 'subscribers', {
      phone: '447',
      sim: { serial: 12 },
      to: '2026-03-01',
    })
    await insertEntity(catalog, 'subscribers', { sid: 19, phone: '448', credit_limit: 1 })
    const by = (key: string, value: string) =>
      findProfile(catalog, { key, value, atMs: at('2026-02-01') }, () => false)
    expect((await by('phone', '447'))?.profile.sid).toBe(18)
    expect((await by('phone', '447'))?.validUntilMs).toBe(day('2026-03-01'))
    expect((await by('phone', '448'))?.profile.sid).toBe(19)
    expect((await by('sim.serial', '12'))?.profile.sid).toBe(18)
    for (const field of ['$where', 'sim.$x', '', 'a b']) expect(await by(field, '447')).toBeNull()
    expect(await by('sim.serial', '012')).toBeNull()
  })

  it('refuses a damaged account, because its limits are unknown', async () => {
    const catalog = await store.open()
    await insertEntity(catalog, 'subscribers')
    const { _id } = await insertEntity(catalog, 'subscribers', account)
    await catalog.subscribers.updateOne({ _id }, { $set: { credit_limit: -1 } } as never)
    await expect(find(catalog, '2026-02-01')).rejects.toThrow(FieldError)
  })
})

describe('a pool', () => {
  it('contains the active products of all subscribers of the account', async () => {
    const catalog = await store.open()
    await insertEntity(catalog, 'services')
    await insertEntity(catalog, 'subscribers')
    await insertEntity(catalog, 'subscribers', { sid: 19, to: '2026-03-01', services: ['TV'] })
    await insertEntity(catalog, 'subscribers', { sid: 20, plan: 'OLD' })
    await insertEntity(catalog, 'subscribers', { sid: 20, plan: 'NEW', from: '2026-01-15' })
    await insertEntity(catalog, 'subscribers', { sid: 21, from: '2026-04-01' })
    await insertEntity(catalog, 'subscribers', { sid: 22, deleted: true })
    await insertEntity(catalog, 'subscribers', { sid: 23, aid: 99 })
    await insertEntity(catalog, 'subscribers', account)

    const early = await find(catalog, '2026-02-01', true)
    expect(early?.profile.pool).toMatchObject([
      { plan: 'GOLD', services: [] },
      { plan: 'GOLD', services: [{ name: 'TV' }] },
      { plan: 'NEW', services: [] },
    ])
    expect(early?.validUntilMs).toBe(day('2026-03-01'))
    const late = await find(catalog, '2026-03-15', true)
    expect(late?.profile.pool).toHaveLength(2)
    expect(late?.validUntilMs).toBe(day('2026-04-01'))
    expect((await find(catalog, '2026-03-15'))?.profile.pool).toBeNull()
  })

  it('omits a damaged member', async () => {
    const catalog = await store.open()
    await insertEntity(catalog, 'subscribers')
    const { _id } = await insertEntity(catalog, 'subscribers', { sid: 19 })
    await catalog.subscribers.updateOne({ _id }, { $set: { plan: 5 } } as never)
    expect((await find(catalog, '2026-02-01', true))?.profile.pool).toHaveLength(1)
  })

  it('has a size limit', async () => {
    const catalog = await store.open()
    const dates = { from: new Date('2026-01-01'), to: new Date('2100-01-01') }
    const members = Array.from({ length: POOL_MEMBERS_MAX + 1 }, (_, index) => {
      return { ...ORDINARY.subscribers, ...dates, _id: new ObjectId(), sid: index + 1, rev: index }
    })
    await catalog.subscribers.insertMany(members as never[])
    const tooMany = find(catalog, '2026-02-01', true)
    await expect(tooMany).rejects.toThrow(PoolTooLargeError)
    await catalog.subscribers.deleteOne({ sid: 1 })
    expect((await find(catalog, '2026-02-01', true))?.profile.pool).toHaveLength(POOL_MEMBERS_MAX)
  })
})
