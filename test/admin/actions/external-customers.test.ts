/** Actions whose account is kept by a customer system. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { bill } from '../../../src/admin/actions/bill.ts'
import { specificcycle } from '../../../src/admin/actions/billrun/run-cycle.ts'
import { cards } from '../../../src/admin/actions/cards.ts'
import { charges } from '../../../src/admin/actions/charges.ts'
import { credit } from '../../../src/admin/actions/credit.ts'
import { generateexpected } from '../../../src/admin/actions/generate-expected.ts'
import { onetimeinvoice } from '../../../src/admin/actions/onetime-invoice.ts'
import { writeStoredConfig } from '../../../src/catalog/settings/stored-config.ts'
import { type Fields, NOW_MS, useActionServer } from '../../support/admin/actions/action-server.ts'
import { addTenant, TAXED } from '../../support/admin/actions/credit-tenant.ts'
import {
  asCustomer,
  type Crm,
  customerSettings,
  startCrm,
} from '../../support/external/example-crm.ts'

const actions = [bill, cards, charges, credit, generateexpected, onetimeinvoice, specificcycle]
const api = useActionServer(actions, {
  ...TAXED,
  TOLLGATE_EXTERNAL_PRIVATE_RANGES: '127.0.0.0/8',
})
let crm: Crm
const store = (category: 'subscribers' | 'payments', value: Fields) =>
  writeStoredConfig(api.catalog(), category, () => value, { nowMs: NOW_MS, by: 'test' })

beforeAll(async () => {
  crm = await startCrm([])
  await addTenant(api.catalog())
  const { subscribers } = api.catalog()
  const stored = await subscribers.find().sort({ aid: 1, type: 1, sid: 1 }).toArray()
  crm.revisions.push(...stored.map((each) => asCustomer(each as Record<string, unknown>)))
  for (const each of crm.revisions) {
    if (each['aid'] === 1001) Object.assign(each, { firstname: 'Ada', lastname: 'Byron' })
  }
  await subscribers.deleteMany({})
  await store('subscribers', customerSettings(crm.url))
})
beforeEach(() => {
  crm.disturb = null
  crm.asked.length = 0
})
afterAll(() => crm.stop())

const FEE = { aid: 1001, sid: 7, rate: 'FEE_A', credit_time: '2026-06-10', usagev: 1 }
const ask = (name: string, params: Fields) => api.ask(name, params)
const textOf = async (name: string, params: Fields) => String((await ask(name, params))['message'])

describe('a credit', () => {
  const send = (params: Fields) => ask('credit', { ...FEE, aprice: 5, reason: 'test', ...params })

  it('is stored for an account and a subscriber of the customer system', async () => {
    for (const sid of [7, 0]) {
      const answer = await send({ sid })
      expect(answer['status'], answer.text).toBe(1)
    }
    expect(await api.catalog().lines.countDocuments({ aid: 1001, type: 'credit' } as never)).toBe(2)
    expect(crm.asked.map(({ path }) => path)).toEqual(['/subscribers', '/accounts'])
  })

  it.each([
    [{ sid: 99 }, 'sid: there is no subscriber 99'],
    [{ sid: 0, aid: 999 }, 'aid: there is no account 999'],
    [{ aid: 999 }, 'sid: subscriber 7 does not belong to account 999'],
  ])('with %j is refused', async (params, text) => {
    expect((await send(params)).text).toContain(text)
  })

  it('without a price has that of the plan of the subscriber', async () => {
    const answer = await ask('credit', { ...FEE, rate: 'CALL_A', usagev: 60, reason: 'test' })
    expect(answer['status'], answer.text).toBe(1)
    const line = await api.catalog().lines.findOne({ arate_key: 'CALL_A' } as never)
    expect(Number(line?.['aprice' as never])).toBe(-0.6)
  })

  it('is answered with 503 while the customer system is away', async () => {
    crm.disturb = (_, response) => {
      response.writeHead(503).end()
      return true
    }
    const answer = await send({})
    expect(answer.http).toBe(503)
    expect(answer['desc']).toContain('customer system: it answers with status 503')
  })
})

describe('an invoice', () => {
  it('outside of cycles has the account of the customer system, at its time', async () => {
    const cdrs = [{ ...FEE, type: 'credit', aprice: 20 }]
    const answer = await ask('onetimeinvoice', { aid: 1001, step: 1, reason: 'test', cdrs })
    const { invoice } = answer['details'] as { invoice: Fields }
    expect(invoice['attributes']).toMatchObject({ fullname: 'Ada Byron' })
    const [first] = crm.asked.filter(({ path }) => path === '/billable')
    expect(first?.body).toEqual({
      start_date: '2026-06-15 12:00:00',
      end_date: '2026-06-15 12:00:01',
      page: 0,
      size: 1,
      aids: '1001',
    })
  })

  it('that is expected, and one of a specific account, ask for the account', async () => {
    const expected = await ask('generateexpected', { aid: 1001, billrun_key: '202606' })
    expect(expected['status'], expected.text).toBe(1)
    const ran = await ask('billrun/specificcycle', { stamp: '202606', aids: [1001] })
    expect(ran['details']).toMatchObject({ accounts: 1, failed: 0 })
    expect(crm.asked.every(({ body }) => body['aids'] === '1001')).toBe(true)
  })

  it('is refused with the reason if an answer cannot be used', async () => {
    crm.disturb = (_, response) => {
      response.end('{"status":0}')
      return true
    }
    const text = await textOf('billrun/specificcycle', { stamp: '202606', aids: [1001] })
    expect(text).toContain('Remote server return an error (status : 0) on request : {')
  })
})

describe('debts', () => {
  it('are collected by conditions on the account of the customer system', async () => {
    const at = new Date(NOW_MS - 86_400_000)
    const debt = { type: 'inv', due: 10, left_to_pay: 10, pending_covering_amount: 0, due_date: at }
    await api.catalog().bills.insertMany(
      [1001, 1002].map((aid) => ({
        ...debt,
        aid,
        invoice_id: aid,
        urt: at,
        paid: '0',
      })) as never[],
    )
    await store('payments', {
      collection: { min_debt: 1, rejection_required: [{ field: 'vip', op: 'eq', value: true }] },
    })
    const owing = async () =>
      Object.keys(
        (await ask('bill', { action: 'collection_debt', aids: '1001,1002' }))['details'] as Fields,
      )
    expect(await owing()).toEqual(['1001', '1002'])
    const account = crm.revisions.find(({ type, aid }) => type === 'account' && aid === 1001)
    Object.assign(account as Fields, { vip: true })
    // The account now pays by itself unless a payment was rejected.
    expect(await owing()).toEqual(['1002'])
  })
})

it('a card is not tokenized: the customer system would have to save it', async () => {
  expect(await textOf('cards', { aid: 1001 })).toBe(
    'aid: the customer system keeps accounts, and has to save their cards',
  )
})
