import { describe, expect, it } from 'vitest'
import type { Catalog } from '../../../src/catalog/connection.ts'
import { createRuleCache } from '../../../src/entities/rules/cache.ts'
import { insertEntity, useStore } from '../../support/catalog/store.ts'
import {
  check,
  contextOf,
  day,
  documentOf,
  NOW_MS,
  prepare,
  refusal,
} from '../../support/entities/rules/context.ts'

const store = useStore()

const account = { type: 'account', sid: undefined, plan: undefined }
const subscriber = { type: 'subscriber', sid: 18, aid: 17, plan: 'GOLD', services: [] }

async function withAccount(): Promise<Catalog> {
  const catalog = await store.open()
  await insertEntity(catalog, 'plans', { from: '2026-01-01', to: '2026-06-01' })
  await insertEntity(catalog, 'subscribers', account)
  return catalog
}

async function withPlays(plays: object[]): Promise<Catalog> {
  const catalog = await withAccount()
  await insertEntity(catalog, 'plans', { name: 'TEEN', play: ['Youth'] })
  await insertEntity(catalog, 'services', { play: 'Default' })
  const stored = { rev: 1, value: { plays }, changed: new Date(NOW_MS), changed_by: 'test' }
  await catalog.config.insertOne({ _id: 'plays', ...stored })
  return catalog
}

const PLAYS = [
  { name: 'Default', enabled: true, default: true },
  { name: 'Youth', enabled: true },
  { name: 'Closed', enabled: false },
]

describe('plays', () => {
  it('have a default for a new subscriber', async () => {
    const catalog = await withPlays(PLAYS)
    const changes = await prepare('subscribers', { plan: 'GOLD' }, contextOf(catalog))
    expect(changes.set).toEqual({ plan: 'GOLD', services: [], play: 'Default' })
    const chosen = await prepare('subscribers', { play: 'Youth' }, contextOf(catalog))
    expect(chosen.set['play']).toBe('Youth')
  })

  it('are required if none is the default', async () => {
    const catalog = await withPlays(PLAYS.map((play) => ({ ...play, default: false })))
    const asked = prepare('subscribers', { plan: 'GOLD' }, contextOf(catalog))
    expect(await refusal(asked)).toEqual([0, 'play is missing: one of Default, Youth'])
  })

  it.each([
    [{ play: 'Closed' }, 'play must be one of Default, Youth, is Closed'],
    [{ plan: 'TEEN' }, 'plan TEEN is not offered for play Default, only for Youth'],
    [
      { play: 'Youth', services: [{ name: 'TV', from: day('2026-02-01') }] },
      'service TV is not offered for play Youth, only for Default',
    ],
  ])('%j is refused', async (fields, text) => {
    const catalog = await withPlays(PLAYS)
    const asked = check('subscribers', { ...subscriber, ...fields }, contextOf(catalog))
    expect(await refusal(asked)).toEqual([0, text])
  })

  it('accept plans and services that are offered for them', async () => {
    const catalog = await withPlays(PLAYS)
    const teen = { ...subscriber, plan: 'TEEN', play: 'Youth' }
    await check('subscribers', teen, contextOf(catalog))
    const services = [{ name: 'TV', from: day('2026-02-01') }]
    await check('subscribers', { ...subscriber, services }, contextOf(catalog))
  })

  it('are not required if there is only one, or none is configured', async () => {
    const one = await withPlays(PLAYS.slice(0, 1))
    await check('subscribers', { ...subscriber, plan: 'TEEN' }, contextOf(one))
    const none = await withAccount()
    const { set } = await prepare('subscribers', { plan: 'GOLD' }, contextOf(none))
    expect(set).not.toHaveProperty('play')
  })
})

describe('a price that overrides another one', () => {
  const override = (price: object) => {
    return { overrides: [{ type: 'service', key: 'TV', value: { price: [price] } }] }
  }

  it.each([
    ['subscribers', { from: 0, to: 'UNLIMITED' }, 'price'],
    ['accounts', { to: 1, price: 2 }, 'from'],
    ['accounts', { from: 0, to: '', price: 2 }, 'to'],
  ])('of %s as %j lacks %s', async (collection, price, missing) => {
    const catalog = await withAccount()
    const fields = { ...subscriber, ...override(price) }
    expect(await refusal(check(collection, fields, contextOf(catalog)))).toEqual([
      0,
      `overrides.0.value.price.0.${missing} is missing, in the override of service TV`,
    ])
  })

  it('has from, to and price', async () => {
    const catalog = await withAccount()
    const fields = { ...subscriber, ...override({ from: 0, to: 'UNLIMITED', price: 3 }) }
    await check('subscribers', fields, contextOf(catalog))
  })
})

describe('allowances', () => {
  const allowances = (...all: [unknown, unknown][]) => {
    return { aid: 17, allowances: all.map(([sid, allowance]) => ({ sid, allowance })) }
  }

  it.each([
    [allowances([18, 0]), 'allowances.0.allowance of sid 18 must be a number above 0'],
    [allowances([18, '-1']), 'sid 18'],
    [allowances([18, 'much']), 'sid 18'],
    [allowances([18, 1], [19, 1], ['18', 2]), 'allowances.2.sid occurs twice: 18'],
    [allowances(['x', 1]), 'allowances.0.sid must be an integer'],
    [allowances([30, 1], [31, 5]), 'sid 31 has one of account 20 already'],
    [{ aid: 17, allowances: 'all' }, 'allowances must be a list'],
  ])('%j are refused', async (fields, text) => {
    const catalog = await withAccount()
    const other = { ...account, ...allowances([31, 5]), aid: 20 }
    await insertEntity(catalog, 'subscribers', other)
    const [code, message] = (await refusal(check('accounts', fields, contextOf(catalog)))) ?? []
    expect(code).toBe(0)
    expect(message).toContain(text)
  })

  it('of an account that has ended restrict no account, nor do its own former ones', async () => {
    const catalog = await withAccount()
    const ended = { ...account, ...allowances([31, 5]), aid: 20, from: '2025-01-01' }
    await insertEntity(catalog, 'subscribers', { ...ended, to: '2026-01-01' })
    await insertEntity(catalog, 'subscribers', { ...account, ...allowances([18, '0.5']) })
    const fields = allowances([31, 5], [18, '0.000001'])
    await check('accounts', fields, contextOf(catalog))
    await check('accounts', { aid: 17, allowances: [] }, contextOf(catalog))
  })
})

describe('a subscriber', () => {
  it('needs a plan in force when it begins', async () => {
    const catalog = await withAccount()
    const context = contextOf(catalog)
    await check('subscribers', subscriber, context)
    const gone = check('subscribers', { ...subscriber, plan: 'GONE' }, context)
    expect(await refusal(gone)).toEqual([0, 'plan: there is no plan GONE at 2026-01-01'])
    const late = check('subscribers', { ...subscriber, from: day('2026-06-01') }, context)
    expect(await refusal(late)).toEqual([0, 'plan: there is no plan GOLD at 2026-06-01'])
  })

  it('needs an account', async () => {
    const catalog = await withAccount()
    const asked = check('subscribers', { ...subscriber, aid: 99 }, contextOf(catalog))
    expect(await refusal(asked)).toEqual([0, 'aid: there is no account 99'])
  })

  it('has numbers above 0', async () => {
    const catalog = await withAccount()
    for (const name of ['sid', 'aid']) {
      const asked = check('subscribers', { ...subscriber, [name]: 0 }, contextOf(catalog))
      expect((await refusal(asked))?.[1]).toContain(`${name} must be an integer from 1`)
    }
  })

  it('whose plan was deleted can still be changed otherwise', async () => {
    const catalog = await withAccount()
    const stored = documentOf({ ...subscriber, plan: 'GONE', aid: 99 })
    const changed = { ...subscriber, plan: 'GONE', aid: 99, firstname: 'Ada' }
    await check('subscribers', changed, contextOf(catalog), stored)
  })

  it('of an import is checked against cached entities of other rows', async () => {
    const catalog = await withAccount()
    const cache = createRuleCache()
    await check('subscribers', subscriber, contextOf(catalog, { cache }))
    await catalog.plans.deleteMany({})
    await catalog.subscribers.deleteMany({})
    await check('subscribers', { ...subscriber, sid: 19 }, contextOf(catalog, { cache }))
    const alone = check('subscribers', { ...subscriber, sid: 19 }, contextOf(catalog))
    expect(await refusal(alone)).toEqual([0, expect.any(String)])
  })
})

describe('the cache of an import', () => {
  it('retries after a failure, and does not grow without limit', async () => {
    const cache = createRuleCache()
    let reads = 0
    const read = async () => {
      reads += 1
      if (reads === 1) throw new Error('down')
      return reads
    }
    await expect(cache.of('first', read)).rejects.toThrow('down')
    expect(await cache.of('first', read)).toBe(2)
    expect(await cache.of('first', read)).toBe(2)
    for (let index = 0; index < 10_000; index += 1) await cache.of(`${index}`, async () => index)
    expect(await cache.of('first', read)).toBe(3)
  })
})
