/** `POST /api/accountinvoices`: invoices by account, cycle and state. */
import { beforeAll, describe, expect, it } from 'vitest'
import { accountinvoices } from '../../../src/admin/actions/account-invoices.ts'
import { generateexpected } from '../../../src/admin/actions/generate-expected.ts'
import { pay } from '../../../src/admin/actions/pay.ts'
import { useBillingServer } from '../../support/billing/billing-server.ts'
import { addAccounts } from '../../support/billing/cycle-fixture.ts'

const server = useBillingServer([accountinvoices, generateexpected, pay])
const accounts: number[] = []
const ids = new Map<number, string>()

/** An invoice document, with its bill. */
async function invoice(aid: number, billrun_key: string, more: object = {}): Promise<number> {
  const invoice_id = await server.invoice(aid, 10)
  const document = { aid, billrun_key, invoice_id, subs: [], due_date: new Date(0), ...more }
  const { insertedId } = await server.catalog().billrun.insertOne(document)
  ids.set(invoice_id, String(insertedId))
  return invoice_id
}

beforeAll(async () => {
  const [one, two] = [server.newAccount(), server.newAccount()]
  accounts.push(one, two)
  for (const key of ['202605', '202606', '202607']) await invoice(one, key)
  await invoice(one, '20260610120000', { invoice_type: 'immediate' })
  await invoice(two, '202607')
  await server.catalog().billrun.insertOne({ aid: two, billrun_key: '202608', invoice_id: 999 })
  // The oldest invoice is paid, and half of the next one.
  await server.pay(one, 15)
})

const ask = (params: object) => server.ask('accountinvoices', { aid: accounts[0], ...params })
/** Keys of the cycles of the answer. */
const keysOf = async (params: object) => {
  const { details } = await ask(params)
  return Object.values(details as Record<string, { billrun_key: string }>).map(
    ({ billrun_key: key }) => key,
  )
}

describe('search', () => {
  it('has the invoices of an account by id, newest cycle first', async () => {
    const answer = await ask({})
    expect(answer).toMatchObject({ status: 1, desc: 'success', next_page: false })
    const details = answer['details'] as Record<string, { invoice_id: number; due_date: string }>
    for (const [id, each] of Object.entries(details)) expect(ids.get(each.invoice_id)).toBe(id)
    expect(Object.values(details)[0]?.due_date).toMatch(/^1970-01-01T00:00:00[+-]\d{4}$/)
    expect(await keysOf({})).toEqual(['202607', '20260610120000', '202606', '202605'])
    expect(await ask({ aid: 12_345 })).toMatchObject({ status: 1, details: [] })
  })

  it.each([
    [{ months_back: 0 }, ['202607']],
    [{ months_back: 1 }, ['202607', '20260610120000', '202606']],
    [{ months_back: 3 }, ['202607', '20260610120000', '202606', '202605']],
    [{ billrun_key: '202605' }, ['202605']],
    [{ billrun_key: ['202605', '202607'] }, ['202607', '202605']],
    [{ paid: '1' }, ['202605']],
    [{ paid: 'unpaid' }, ['202607', '20260610120000', '202606']],
    [{ paid: '0', billrun_key: '202606' }, ['202606']],
    [{ paid: '2' }, []],
  ])('filters by %j', async (filter, keys) => {
    expect(await keysOf(filter)).toEqual(keys)
  })

  it('takes several accounts, in pages', async () => {
    const [one, two] = accounts
    for (const aid of [`${one},${two}`, [one, two]]) {
      const first = await ask({ aid, size: 4 })
      expect([Object.keys(first['details'] as object).length, first['next_page']]).toEqual([
        4,
        true,
      ])
      const second = await ask({ aid, size: 4, page: 1 })
      expect([Object.keys(second['details'] as object).length, second['next_page']]).toEqual([
        2,
        false,
      ])
    }
  })
})

describe('query', () => {
  const query = async (filter: unknown, more: object = {}) =>
    server.ask('accountinvoices', { action: 'query', query: filter, ...more })

  it('has the invoices that match, as a list, without those of cycles under way', async () => {
    const [one, two] = accounts
    const { details } = await query({ aid: two })
    expect(details).toMatchObject([{ aid: two, billrun_key: '202607' }])
    const late = await query({ billrun_key: { $gte: '202607' }, aid: { $in: [one, two] } })
    expect(late['details']).toHaveLength(2)
    const sudden = await query({ invoice_type: 'immediate' })
    expect(sudden['details']).toMatchObject([{ billrun_key: '20260610120000' }])
    expect((await query({}, { aid: one, paid: '1' }))['details']).toMatchObject([
      { billrun_key: '202605' },
    ])
    expect(await query({}, { size: 2 })).toMatchObject({ next_page: true })
  })

  it.each([
    ['x', {}, 'query must be an object'],
    [{ secret: 1 }, {}, /secret/],
    [{ $where: '1' }, {}, /\$where/],
    [{}, { paid: '1' }, 'Field paid requires aid'],
  ])('refuses %j', async (filter, more, message) => {
    const text = typeof message === 'string' ? message : expect.stringMatching(message)
    expect(await query(filter, more)).toMatchObject({ status: 0, message: text, desc: text })
  })
})

describe('expected_invoice', () => {
  it('is what generateexpected answers, of the current cycle or a given one', async () => {
    await addAccounts(server.catalog(), 2)
    const before = await server.catalog().billrun.countDocuments()
    for (const params of [{ aid: 2 }, { aid: 2, billrun_key: '202606' }, { aid: 99 }]) {
      const expected = await server.ask('accountinvoices', {
        action: 'expected_invoice',
        ...params,
      })
      const { details } = await server.ask('generateexpected', params)
      expect(expected).toMatchObject({ status: 1, details })
    }
    expect(
      await server.ask('accountinvoices', { action: 'expected_invoice', aid: 2 }),
    ).toMatchObject({ details: { billrun_key: '202607', totals: { after_vat_rounded: 10.02 } } })
    expect(await server.catalog().billrun.countDocuments()).toBe(before)
  })
})

describe('accountinvoices', () => {
  it.each([
    [{ aid: null }, 'Must supply at least one aid'],
    [{ aid: 'x' }, 'Illegal account ids'],
    [{ aid: Array.from({ length: 1001 }, (_, index) => index) }, 'Maximum of aid is 1000'],
    [{ months_back: -1 }, 'Field months_back must be at least 0'],
    [{ paid: '3' }, 'Field paid must be one of 0, 1, 2, unpaid'],
    [{ size: 1001 }, 'Field size must be at most 1000'],
    [{ action: 'shred' }, 'Unknown action shred'],
    [{ action: 'download', iid: 1, format: 'pdf' }, 'Invoice not found'],
    [{ action: 'expected_invoice', aid: 'x' }, 'Field aid should be of type Integer'],
    [{ action: 'expected_invoice', billrun_key: '2026' }, 'Illegal billrun key'],
  ])('refuses %j', async (params, message) => {
    const answer = await server.ask('accountinvoices', { aid: 1, ...params }, { as: 'json' })
    expect(answer).toMatchObject({ http: 200, status: 0, message, desc: message })
  })
})
