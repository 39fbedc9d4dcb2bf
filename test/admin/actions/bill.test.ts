/** Balances and debts of accounts, with results that another implementation has published. */
import { afterEach, describe, expect, it } from 'vitest'
import { adjustpayments, reject } from '../../../src/admin/actions/adjust-payments.ts'
import { bill } from '../../../src/admin/actions/bill.ts'
import { pay } from '../../../src/admin/actions/pay.ts'
import { writeStoredConfig } from '../../../src/catalog/settings/stored-config.ts'
import { auditBooks } from '../../../src/cli/audit/books.ts'
import { NOW_MS } from '../../support/admin/actions/action-server.ts'
import { useBillingServer } from '../../support/billing/billing-server.ts'

const server = useBillingServer([pay, adjustpayments, reject, bill])
const DAY_MS = 86_400_000
const past = () => new Date(server.now() - DAY_MS)
const balanceOf = async (aid: number, more = {}) =>
  (await server.details('bill', { aid, ...more }))['balance']

describe('bill', () => {
  it('balance after refunds and payments', async () => {
    const aid = server.newAccount()
    expect(await balanceOf(aid)).toEqual({
      total: '0.00',
      without_waiting: '0.00',
      total_pending_amount: 0,
    })
    for (const [dir, amount, total] of [
      ['tc', 300, '300.00'],
      ['tc', 300, '600.00'],
      ['fc', 900, '-300.00'],
      ['tc', 500, '200.00'],
    ] as const) {
      await server.pay(aid, amount, { dir })
      expect(await balanceOf(aid)).toMatchObject({ total, without_waiting: total })
    }
  })

  it('balances of four accounts (47, 49)', async () => {
    const [credit, covered, rejected, half] = [1, 2, 3, 4].map(() => server.newAccount())
    await server.invoice(credit as number, '-23.4')
    await server.invoice(covered as number, '23.4', { tax: 3.4 })
    await server.pay(covered as number, 23.4)
    await server.invoice(rejected as number, '23.4')
    const txid = await server.pay(rejected as number, 23.4)
    await server.details('reject', { rejections: [{ id: txid, rejection: { code: '1' } }] })
    await server.invoice(half as number, '23.4')
    await server.pay(half as number, 11.7)
    const aids = [credit, covered, rejected, half]
    const found = await server.details('bill', { action: 'get_balances', aids: aids.join(',') })
    const totals = aids.map((aid) => (found[String(aid)] as { total: string }).total)
    expect(totals).toEqual(['-23.40', '0.00', '23.40', '11.70'])
    for (const aid of aids) expect(found[String(aid)]).toMatchObject({ total_pending_amount: 0 })
  })

  it('overdue debts, of given accounts and of all (51, 54)', async () => {
    const [half, rejected] = [server.newAccount(), server.newAccount()]
    await server.invoice(half, '23.4', { dueDate: past() })
    await server.pay(half, 11.7)
    await server.invoice(rejected, '23.4', { dueDate: past() })
    const txid = await server.pay(rejected, 23.4)
    const debts = (action: string, more = {}) => server.details('bill', { action, ...more })
    expect(await debts('collection_debt', { aids: [rejected] })).toEqual([])
    await server.details('reject', { rejections: [{ id: txid, rejection: { code: '1' } }] })
    const overdue = { [rejected]: { aid: rejected, total: 23.4 } }
    expect(await debts('collection_debt', { aids: [rejected] })).toEqual(overdue)
    expect(await debts('collection_debt', { aids: [rejected], threshold: 24 })).toEqual([])
    expect(await debts('all_collection_debts')).toMatchObject({
      ...overdue,
      [half]: { aid: half, total: 11.7 },
    })
    await server.pay(half, 5)
    expect(await debts('collection_debt', { aids: [half] })).toEqual([])
    expect(await debts('get_over_due', { aids: [half] })).toMatchObject({ [half]: { total: 6.7 } })
  })

  it('accounts of which only rejected debts are collected', async () => {
    const { catalog, newAccount, invoice, pay: record, details } = server
    const [flagged, other] = [newAccount(), newAccount()]
    const revision = { from: new Date(0), to: new Date(server.now() + DAY_MS) }
    for (const [aid, type] of [
      [flagged, 'card'],
      [other, 'cash'],
    ] as const) {
      const account = { type: 'account', aid, ...revision, collection_type: type }
      await catalog().subscribers.insertOne(account as never)
      await invoice(aid, 20, { dueDate: past() })
    }
    const collection = {
      rejection_required: [
        { field: 'collection_type', op: 'in', value: ['card', 'bank'] },
        { field: 'payment_gateway', op: 'exists', value: false },
      ],
    }
    const change = { nowMs: server.now(), by: 'test' }
    await writeStoredConfig(catalog(), 'payments', () => ({ collection }), change)
    const aids = [flagged, other]
    const debts = (action: string) => details('bill', { action, aids })
    const total = (aid: number, amount = 20) => ({ [aid]: { aid, total: amount } })
    expect(await debts('collection_debt')).toEqual(total(other))
    expect(await debts('get_balance')).toEqual(total(other))
    expect(await debts('get_over_due')).toEqual({ ...total(flagged), ...total(other) })
    const all = await details('bill', { action: 'get_over_due' })
    expect(all).toMatchObject({ ...total(flagged), ...total(other) })
    // A second debt is not collected with that of which a payment is rejected.
    const txid = await record(flagged, 20)
    await invoice(flagged, 15, { dueDate: past() })
    await details('reject', { rejections: [{ id: txid, rejection: { code: '1' } }] })
    expect(await debts('collection_debt')).toEqual({ ...total(flagged), ...total(other) })
    expect(await debts('get_over_due')).toEqual({ ...total(flagged, 35), ...total(other) })
    await writeStoredConfig(catalog(), 'payments', () => ({}), change)
    expect(await debts('collection_debt')).toEqual({ ...total(flagged, 35), ...total(other) })
  })

  it('pending payments reserve their amount until they are confirmed', async () => {
    const aid = server.newAccount()
    const invoice_id = await server.invoice(aid, 20, { dueDate: past() })
    const txid = await server.pay(aid, 15, { method: 'automatic' })
    expect(await balanceOf(aid)).toEqual({
      total: '5.00',
      without_waiting: '20.00',
      total_pending_amount: 15,
    })
    expect(await server.bill({ invoice_id })).toMatchObject({
      paid: '2',
      left_to_pay: 5,
      waiting_payments: [txid],
    })
    // Another payment covers only the rest; what is beyond becomes credit.
    const cash = await server.pay(aid, 20)
    expect(await server.bill({ txid: cash })).toMatchObject({ left: 15 })
    const debts = { action: 'collection_debt', aids: [aid] }
    expect(await server.details('bill', debts)).toMatchObject({ [aid]: { total: 15 } })
    await server.details('adjustpayments', { adjustments: [{ id: txid, action: 'mark_paid' }] })
    expect(await server.bill({ invoice_id })).toMatchObject({ paid: '1', waiting_payments: [] })
    expect(await balanceOf(aid)).toMatchObject({ total: '-15.00', without_waiting: '-15.00' })
    await server.details('adjustpayments', { adjustments: [{ id: txid, action: 'unconfirm' }] })
    expect(await server.bill({ invoice_id })).toMatchObject({ paid: '2' })
    await server.details('adjustpayments', { adjustments: [{ id: txid, action: 'deny' }] })
    // The credit covers what is open again.
    expect(await server.bill({ invoice_id })).toMatchObject({ paid: '1', left_to_pay: 0 })
    expect(await balanceOf(aid)).toMatchObject({ total: '0.00' })
  })

  it('a bill by its number, unpaid invoices, and filters with pages', async () => {
    const aid = server.newAccount()
    const first = await server.invoice(aid, 10, { dueDate: past() })
    const second = await server.invoice(aid, 20)
    await server.pay(aid, 12)
    await server.pay(aid, 3, { dir: 'tc' })
    const found = await server.details('bill', { id: second })
    expect(found).toMatchObject({
      bill: { invoice_id: second, due: 20, left_to_pay: 18, paid: '0' },
    })
    const dates = (found['bill'] as Record<string, string>)['due_date']
    expect(dates).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d{4}$/)
    const unpaid = await server.details('bill', { aid, unpaid_invoices: 1 })
    expect(unpaid['unpaid_invoices']).toMatchObject([{ invoice_id: second }])
    const search = async (filter: object) => {
      const answer = await server.ask('bill', { action: 'search', aid, ...filter })
      return (answer['details'] as { invoice_id?: number; due: number }[]).map(({ due }) => due)
    }
    expect(await search({})).toEqual([10, 20, -12, 3])
    expect(await search({ type: 'inv' })).toEqual([10, 20])
    expect(await search({ type: 'rec' })).toEqual([-12])
    expect(await search({ type: 'ref' })).toEqual([3])
    expect(await search({ paid: 'unpaid' })).toEqual([20, 3])
    expect(await search({ billrun_key: ['202606'], paid: '1' })).toEqual([10])
    expect(await search({ due_date_to: past().toISOString() })).toEqual([10])
    expect(await search({ size: 2, page: 1 })).toEqual([-12, 3])
    expect(await server.ask('bill', { action: 'search', aid, size: 2 })).toMatchObject({
      next_page: true,
    })
    const invoices = await server.details('bill', {
      action: 'query_bills_invoices',
      query: { aid, invoice_id: { $in: [first] } },
    })
    expect(invoices).toMatchObject([{ invoice_id: first, paid: '1' }])
  })

  it.each([
    [{ id: 'x' }, 'Illegal invoice id'],
    [{ id: 999_999 }, 'Bill not found'],
    [{}, 'Must supply at least one aid'],
    [{ action: 'get_balances' }, 'Must supply at least one aid'],
    [{ action: 'get_balances', aids: '1,x' }, 'Illegal account ids'],
    [{ action: 'collection_debt', aids: [] }, 'Must supply at least one aid'],
    [{ action: 'nothing' }, 'Unknown action nothing'],
  ])('%j is refused: %s', async (params, message) => {
    expect(await server.ask('bill', params)).toMatchObject({ status: 0, message, desc: message })
  })
})

describe('settings of bills and collection', () => {
  const store = (category: 'payments' | 'bills', value: unknown) =>
    writeStoredConfig(server.catalog(), category, () => value, { nowMs: NOW_MS, by: 'test' })
  const reset = async () => {
    await store('payments', {})
    await store('bills', {})
  }
  afterEach(reset)

  it('with switch_links new money covers the oldest bills first', async () => {
    const covered = async () => {
      const aid = server.newAccount()
      const old = await server.invoice(aid, 10)
      server.at(server.now() + 1000)
      const young = await server.invoice(aid, 20)
      const waiting = await server.pay(aid, 15, { method: 'automatic' })
      const cash = await server.pay(aid, 12)
      const [one, two] = [
        await server.bill({ invoice_id: old }),
        await server.bill({ invoice_id: young }),
      ]
      const ids = (bill: { paid_by?: { id: unknown; amount: unknown }[] }) =>
        (bill.paid_by ?? []).map(({ id, amount }) => [
          id === cash ? 'cash' : id === waiting ? 'waiting' : id,
          String(amount),
        ])
      return { old: ids(one), young: ids(two), paid: [one.paid, two.paid] }
    }
    expect(await covered()).toEqual({
      old: [['waiting', '10']],
      young: [
        ['waiting', '5'],
        ['cash', '12'],
      ],
      paid: ['2', '2'],
    })
    await store('bills', { switch_links: true })
    expect(await covered()).toEqual({
      old: [['cash', '10']],
      young: [
        ['cash', '2'],
        ['waiting', '15'],
      ],
      paid: ['1', '2'],
    })
    expect((await auditBooks(server.catalog(), null)).differences).toEqual([])
  })

  it('fields of uf of both categories are kept', async () => {
    await store('payments', { offline: { uf: ['desk'] } })
    await store('bills', { uf: ['clerk'] })
    const uf = { desk: '7', clerk: 'ada', other: 'x' }
    const txid = await server.pay(server.newAccount(), 5, { uf })
    expect((await server.bill({ txid }))['uf']).toEqual({ desk: '7', clerk: 'ada' })
  })
})
