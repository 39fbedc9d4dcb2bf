import { describe, expect, it } from 'vitest'
import { entityStoresOf } from '../../../src/admin/entity-api.ts'
import { STORED_CUSTOMERS } from '../../../src/billing/customer-lookup.ts'
import { loadConfig } from '../../../src/config/load.ts'
import { findBalances } from '../../../src/prepaid/balances/find.ts'
import { insertEntity } from '../../support/catalog/store.ts'
import { act, at, expectNoEntries } from '../../support/entities/actions/entity-fixture.ts'
import { useOpened } from '../../support/opened.ts'
import { silent, startTestStores } from '../../support/recorder/accounts.ts'

const open = useOpened(startTestStores)

const NOON = Date.UTC(2026, 2, 10, 12)

function storesAt(nowMs: number) {
  const { catalog, ledger } = open()
  const clock = { nowMs: () => nowMs }
  const config = loadConfig({ env: {} })
  return entityStoresOf({ catalog, ledger, clock, config, lookup: STORED_CUSTOMERS, log: silent })
}

const GROUP = {
  name: 'TOPUP20',
  description: 'Top up 20',
  operation: 'inc',
  include: [
    {
      operation: 'default',
      cost: -20,
      pp_includes_external_id: 1,
      pp_includes_name: 'MONEY',
      period: { duration: 30, unit: 'days' },
    },
  ],
}

describe('an auto-renewal', () => {
  it('that begins immediately credits its group once, and is stored accordingly', async () => {
    const { catalog } = open()
    await insertEntity(catalog, 'prepaidincludes')
    await insertEntity(catalog, 'plans')
    await insertEntity(catalog, 'subscribers')
    const stores = storesAt(NOON)
    await act(stores, 'prepaidgroups', 'create', { set: GROUP, from: at('2026-01-01') })
    const set = { aid: 17, sid: 18, bucket_group: 'TOPUP20', cycles: 12, immediate: true }
    const { details, entity } = await act(stores, 'autorenew', 'create', { set })
    expect(details).toBeNull()
    const next = { next_renew: at('2026-04-10'), last_renew: new Date(NOON) }
    expect(entity).toMatchObject({ ...set, cycles_remaining: 11, ...next, interval: 'month' })
    const found = await findBalances(stores, { sid: 18 }, { sort: {}, skip: 0, limit: 10 })
    expect(found.balances.map(({ balance }) => balance)).toEqual([{ cost: -20 }])
    await expectNoEntries(catalog)
  })

  it('that begins later credits nothing', async () => {
    const stores = storesAt(NOON)
    const set = { aid: 17, sid: 18, bucket_group: 'TOPUP20', cycles: 2 }
    const { entity } = await act(stores, 'autorenew', 'create', { set })
    expect(entity).toMatchObject({ cycles_remaining: 2, next_renew: at('2026-04-10') })
    const found = await findBalances(stores, { sid: 18 }, { sort: {}, skip: 0, limit: 10 })
    expect(found.balances.map(({ balance }) => balance)).toEqual([{ cost: -20 }])
  })
})
