/** Deprecated calls about customers that a customer system keeps: they are looked up there. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { writeStoredConfig } from '../../../src/catalog/settings/stored-config.ts'
import { NOW_MS } from '../../support/admin/actions/action-server.ts'
import {
  addDeprecatedTenant,
  usageLine,
  useDeprecated,
} from '../../support/admin/actions/deprecated-tenant.ts'
import {
  asCustomer,
  type Crm,
  customerSettings,
  startCrm,
} from '../../support/external/example-crm.ts'

const api = useDeprecated({ TOLLGATE_EXTERNAL_PRIVATE_RANGES: '127.0.0.0/8' })
let crm: Crm

beforeAll(async () => {
  crm = await startCrm([])
  await addDeprecatedTenant(api.catalog())
  const { subscribers } = api.catalog()
  const stored = await subscribers.find().sort({ aid: 1, type: 1, sid: 1 }).toArray()
  crm.revisions.push(...stored.map((each) => asCustomer(each as Record<string, unknown>)))
  await subscribers.deleteMany({})
  await api.catalog().lines.insertOne(usageLine({}) as never)
  const settings = () => customerSettings(crm.url)
  const by = { nowMs: NOW_MS, by: 'test' }
  await writeStoredConfig(api.catalog(), 'subscribers', settings, by)
})
beforeEach(() => {
  crm.asked.length = 0
})
afterAll(() => crm.stop())

const paths = () => [...new Set(crm.asked.map(({ path }) => path))]

describe('in external customer mode', () => {
  it('activity finds the subscriber', async () => {
    const flags = { include_outgoing: 1, from_date: '2026-06-01', to_date: '2026-06-20' }
    const answer = await api.ask('activity', { sid: 7, ...flags })
    expect(answer['details'], answer.text).toMatchObject([{ usaget: 'call', usagev: 60 }])
    expect(paths()).toEqual(['/subscribers'])
    expect(await api.ask('activity', { sid: 4711, ...flags })).toMatchObject({
      ...{ status: 0, desc: 'Subscriber not exists' },
    })
  })

  it('balances shows those of the subscriber and of its account', async () => {
    const shown = await api.ask('balances', { method: 'query', sid: 7 })
    const details = [{ pp_includes_name: 'MONEY', aid: 1001, sid: 7 }, {}, { aid: 1001, sid: 0 }]
    expect(shown['details'], shown.text).toMatchObject(details)
    expect(paths()).toEqual(['/subscribers'])
    const unknown = await api.ask('balances', { method: 'query', sid: 4711 })
    expect(unknown['desc']).toBe('Subscriber not found')
  })

  it('balances loads the account of the subscriber, and auto-renewals have it', async () => {
    const loaded = await api.ask('balances', {
      ...{ method: 'update', sid: 7, query: { pp_includes_name: 'MONEY' } },
      upsert: { value: 5, expiration_date: '2027-01-01' },
    })
    expect(loaded, loaded.text).toMatchObject({ status: 1, details: [{ aid: 1001, sid: 7 }] })
    const renewal = { method: 'update', upsert: { to: '2026-12-31' } }
    const query = { charging_plan: 'TOPUP', from: '2026-06-16' }
    const stored = await api.ask('subscribersautorenew', {
      ...renewal,
      query: { ...query, sid: 7 },
    })
    expect(stored, stored.text).toMatchObject({ status: 1 })
    expect(stored.text).toContain('"aid":1001')
    const unknown = await api.ask('subscribersautorenew', {
      ...renewal,
      query: { ...query, sid: 4711 },
    })
    expect(unknown['desc']).toBe('sid: there is no subscriber 4711 now')
  })

  it('balance has the total of the account', async () => {
    const { text, http } = await api.ask('balance', { aid: 1001, subscribers: 0 })
    expect([http, text]).toEqual([200, expect.stringContaining('<account_id>1001</account_id>')])
    const unknown = await api.ask('balance', { aid: 4711 })
    expect(unknown.text).toContain('4711')
  })
})
