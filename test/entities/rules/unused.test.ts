import { describe, expect, it } from 'vitest'
import type { Catalog } from '../../../src/catalog/connection.ts'
import type { BalanceDocument } from '../../../src/catalog/records/usage/balance-document.ts'
import { writeStoredConfig } from '../../../src/catalog/settings/stored-config.ts'
import { insertEntity, useStore } from '../../support/catalog/store.ts'
import {
  checkUnused,
  contextOf,
  DISPLAY,
  day,
  documentOf,
  NOW_MS,
  refusal,
} from '../../support/entities/rules/context.ts'

const store = useStore()
const account = { type: 'account', sid: undefined, plan: undefined }
/** The deleted period: entities outside of it do not need the deleted one. */
const SPRING = { from: day('2026-03-01'), to: day('2026-06-01') }
const BEFORE = { from: '2026-01-01', to: '2026-03-01' }
const AFTER = { from: '2026-06-01', to: '2026-09-01' }

async function neededBy(
  catalog: Catalog,
  collection: string,
  fields: Record<string, unknown>,
): Promise<string | null> {
  const document = documentOf({ ...fields, ...SPRING })
  const refused = await refusal(checkUnused(collection, document, contextOf(catalog)))
  if (refused === null) return null
  expect(refused[0]).toBe(DISPLAY.refused)
  return refused[1]
}

const price = { rate: [{ from: 0, to: 'UNLIMITED', interval: 1, price: 1 }] }
const groups = (rates: unknown) => ({ include: { groups: { G: { value: 1, rates } } } })

describe('an account', () => {
  it('is kept while it has subscribers', async () => {
    const catalog = await store.open()
    await insertEntity(catalog, 'subscribers', { aid: 18 })
    await insertEntity(catalog, 'subscribers', BEFORE)
    await insertEntity(catalog, 'subscribers', { ...account, from: '2026-01-01' })
    expect(await neededBy(catalog, 'accounts', { aid: 17 })).toBeNull()
    for (const sid of [20, 19, 19]) await insertEntity(catalog, 'subscribers', { sid })
    expect(await neededBy(catalog, 'accounts', { aid: 17 })).toBe(
      'account 17 cannot be deleted: in its validity period it is needed by ' +
        '2 subscribers (the first: sid 19)',
    )
  })
})

describe('a plan', () => {
  it('is kept while a subscriber has it', async () => {
    const catalog = await store.open()
    await insertEntity(catalog, 'subscribers', BEFORE)
    await insertEntity(catalog, 'subscribers', AFTER)
    const former = { plan: 'SILVER', former_plan: 'GOLD', sid: 19 }
    await insertEntity(catalog, 'subscribers', former)
    expect(await neededBy(catalog, 'plans', { name: 'GOLD' })).toBeNull()
    await insertEntity(catalog, 'subscribers', { ...SPRING, sid: 20 })
    const text = 'plan GOLD cannot be deleted: in its validity period it is needed by 1 subscriber'
    expect(await neededBy(catalog, 'plans', { name: 'GOLD' })).toBe(`${text} (the first: sid 20)`)
  })
})

describe('a service', () => {
  const held = (from: string, to: string) => {
    return { services: [{ name: 'TV', from, to }, 'OTHER'] }
  }

  it('is kept while an account or subscriber has it', async () => {
    const catalog = await store.open()
    for (const name of ['TV', 'OTHER']) await insertEntity(catalog, 'services', { name })
    await insertEntity(catalog, 'subscribers', held('2026-01-01', '2026-03-01'))
    await insertEntity(catalog, 'subscribers', { ...held('2026-01-01', '2027-01-01'), ...AFTER })
    expect(await neededBy(catalog, 'services', { name: 'TV' })).toBeNull()
    await insertEntity(catalog, 'subscribers', {
      ...account,
      ...held('2026-05-31', '2027-01-01'),
    })
    expect(await neededBy(catalog, 'services', { name: 'TV' })).toContain(
      '1 account (the first: aid 17)',
    )
    expect(await neededBy(catalog, 'services', { name: 'OTHER' })).toContain('sid 18')
  })

  it('is kept while a plan includes it', async () => {
    const catalog = await store.open()
    await insertEntity(catalog, 'services')
    await insertEntity(catalog, 'plans', { ...BEFORE, include: { services: ['TV'] } })
    expect(await neededBy(catalog, 'services', { name: 'TV' })).toBeNull()
    await insertEntity(catalog, 'plans', { name: 'SILVER', include: { services: ['TV'] } })
    expect(await neededBy(catalog, 'services', { name: 'TV' })).toContain('plan SILVER')
  })
})

describe('a rate', () => {
  const override = (value: object) => ({ overrides: [{ type: 'plan', key: 'GOLD', value }] })

  it.each([
    ['plans', { rates: { DATA: { data: price } } }, 'plan GOLD'],
    ['plans', groups(['DATA']), 'plan GOLD'],
    ['services', { rates: { DATA: { data: { percentage: 0.5 } } } }, 'service TV'],
    ['services', groups(['CALL', 'DATA']), 'service TV'],
    ['subscribers', override({ rates: { DATA: { data: price } } }), 'the overrides of sid 18'],
    ['subscribers', { ...account, ...override(groups(['DATA'])) }, 'the overrides of account 17'],
  ] as const)('is kept while %s have %j', async (collection, fields, who) => {
    const catalog = await store.open()
    for (const key of ['DATA', 'CALL']) await insertEntity(catalog, 'rates', { key })
    await insertEntity(catalog, collection, { ...fields, ...AFTER })
    await insertEntity(catalog, 'plans', { name: 'OTHER', ...groups(['CALL']) })
    await insertEntity(catalog, 'subscribers', { sid: 30, ...override(groups('ALL_RATES')) })
    expect(await neededBy(catalog, 'rates', { key: 'DATA' })).toBeNull()
    await insertEntity(catalog, collection, fields)
    expect(await neededBy(catalog, 'rates', { key: 'DATA' })).toBe(
      `rate DATA cannot be deleted: in its validity period it is needed by ${who}`,
    )
  })
})

describe('a tax', () => {
  const tax = (taxation: string) => ({ tax: [{ type: 'vat', taxation, custom_tax: 'LOW' }] })

  it.each([
    ['rates', 'rate DATA'],
    ['plans', 'plan GOLD'],
    ['services', 'service TV'],
  ] as const)('is kept while %s have it', async (collection, who) => {
    const catalog = await store.open()
    await insertEntity(catalog, collection, { ...tax('global'), ...SPRING })
    await insertEntity(catalog, collection, { ...tax('custom'), ...AFTER })
    expect(await neededBy(catalog, 'taxes', { key: 'LOW' })).toBeNull()
    await insertEntity(catalog, collection, tax('custom'))
    expect(await neededBy(catalog, 'taxes', { key: 'LOW' })).toContain(`needed by ${who}`)
  })

  it('is kept while it is the default', async () => {
    const catalog = await store.open()
    expect(await neededBy(catalog, 'taxes', { key: 'VAT' })).toContain('no tax of their own')
    const past = documentOf({ key: 'VAT', from: day('2026-01-01'), to: day('2026-02-01') })
    await checkUnused('taxes', past, contextOf(catalog))
  })

  it('is kept while it is the stored default, and the former default is not', async () => {
    const catalog = await store.open()
    const change = { nowMs: NOW_MS, by: 'test' }
    await writeStoredConfig(catalog, 'taxation', () => ({ default: 'LOW' }), change)
    expect(await neededBy(catalog, 'taxes', { key: 'LOW' })).toContain('no tax of their own')
    expect(await neededBy(catalog, 'taxes', { key: 'VAT' })).toBeNull()
  })
})

describe('a prepaid include', () => {
  const balance = (more: Partial<BalanceDocument>) => ({
    aid: 17,
    sid: 18,
    v: 1,
    pp_includes_external_id: 1,
    free: 0,
    reserved: 0,
    from: day('2026-01-01'),
    to: day('2026-04-01'),
    ...more,
  })

  it('is kept while there is credit of it', async () => {
    const catalog = await store.open()
    const put = (bucket_id: number, more: Partial<BalanceDocument>) =>
      catalog.balances.insertOne({ ...balance(more), bucket_id } as BalanceDocument)
    await put(1, {})
    await put(2, { free: 5, pp_includes_external_id: 2 })
    await put(3, { free: 5, to: new Date(NOW_MS) })
    await put(4, { free: 5, from: day('2026-06-01'), to: day('2026-07-01') })
    const money = { name: 'MONEY', external_id: 1 }
    expect(await neededBy(catalog, 'prepaidincludes', money)).toBeNull()
    await put(5, { reserved: 5, to: day('2026-03-05'), sid: 0 })
    expect(await neededBy(catalog, 'prepaidincludes', money)).toContain('balances of account 17')
    await put(1, { free: -1, aid: 20, sid: 21 })
    await catalog.balances.deleteOne({ bucket_id: 5 })
    expect(await neededBy(catalog, 'prepaidincludes', money)).toContain('balances of sid 21')
  })

  it.each([{ pp_includes_external_id: 1 }, { pp_includes_name: 'MONEY' }])(
    'is kept while a prepaid group has %j',
    async (entry) => {
      const catalog = await store.open()
      const include = [{ ...entry, value: -5 }]
      await insertEntity(catalog, 'prepaidgroups', { include, ...BEFORE })
      const money = { name: 'MONEY', external_id: 1 }
      expect(await neededBy(catalog, 'prepaidincludes', money)).toBeNull()
      await insertEntity(catalog, 'prepaidgroups', { include })
      const text = 'needed by prepaid group TOPUP20'
      expect(await neededBy(catalog, 'prepaidincludes', money)).toContain(text)
    },
  )
})

describe('a prepaid group', () => {
  const group = { name: 'TOPUP20' }

  it('is kept while a renewal credits it', async () => {
    const catalog = await store.open()
    await insertEntity(catalog, 'autorenew', { cycles_remaining: 0 })
    await insertEntity(catalog, 'autorenew', { cycles_remaining: 3, ...AFTER })
    expect(await neededBy(catalog, 'prepaidgroups', group)).toBeNull()
    await insertEntity(catalog, 'autorenew', { cycles_remaining: 3 })
    expect(await neededBy(catalog, 'prepaidgroups', group)).toContain('renewals of sid 18')
  })

  it('is kept while there are cards of it', async () => {
    const catalog = await store.open()
    const put = (serial_number: number, status: 'Idle' | 'Used', to: string) => {
      const card = { secret_hmac: `${serial_number}`, batch_number: 1, serial_number, status }
      const texts = { service_provider: '', additional_information: '' }
      const rest = { charging_plan_name: 'TOPUP20', ...texts, to: day(to) }
      const creation_time = day('2026-01-01')
      return catalog.cards.insertOne({ ...card, ...rest, creation_time })
    }
    await put(1, 'Used', '2027-01-01')
    await put(2, 'Idle', '2026-03-01')
    expect(await neededBy(catalog, 'prepaidgroups', group)).toBeNull()
    await put(3, 'Idle', '2027-01-01')
    expect(await neededBy(catalog, 'prepaidgroups', group)).toContain('cards that are not used')
  })
})
