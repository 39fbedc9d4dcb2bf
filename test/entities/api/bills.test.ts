/** Bills of the books: changes of dates, and postings of their removal. */
import { describe, expect, it } from 'vitest'
import { STORED_CUSTOMERS } from '../../../src/billing/customer-lookup.ts'
import { storeInvoiceBill } from '../../../src/billing/invoices/invoice-bill.ts'
import { cancelPayments, recordPayments } from '../../../src/billing/payments/operations.ts'
import { paymentOrder } from '../../../src/billing/payments/payment-order.ts'
import { overdueDebts } from '../../../src/billing/statements/balances.ts'
import type { ClientSession } from '../../../src/catalog/collections.ts'
import { Exact } from '../../../src/catalog/records/money/exact-amount.ts'
import { auditBooks } from '../../../src/cli/audit/books.ts'
import { ACTOR, RULES } from '../../support/billing/books.ts'
import { eventsOf, storeEventRules } from '../../support/billing/money-rules.ts'
import { useApiServer } from '../../support/entities/api/api-server.ts'

const world = useApiServer()
const catalog = () => world.stores().catalog
const write = <T>(act: (writer: Parameters<typeof recordPayments>[0]) => Promise<T>): Promise<T> =>
  catalog().transaction('test', (session: ClientSession) =>
    act({ catalog: catalog(), session, currencyCode: 978, actor: ACTOR, nowMs: world.now() }),
  )

async function storeInvoice(aid: number, invoiceId: number, due: number): Promise<string> {
  const amount = new Exact(due)
  const parts = { due: amount, beforeTax: amount.minus(2), taxes: { VAT: new Exact(2) } }
  const times = { billrunKey: '202607', dueDate: new Date(world.now() + 86_400_000) }
  await write((writer) => storeInvoiceBill(writer, { aid, invoiceId, ...parts, ...times }))
  return idOf({ invoice_id: invoiceId })
}

async function pay(aid: number, amount: number): Promise<string> {
  const order = paymentOrder({ aid, amount }, 'cash', RULES)
  const [txid = ''] = await write((writer) => recordPayments(writer, [order]))
  return txid
}

async function idOf(filter: object): Promise<string> {
  return String((await catalog().bills.findOne(filter as never))?._id)
}

const remove = (_id: string) => world.ok('bills', 'delete', { query: { _id } })
const expectClean = async () =>
  expect(await auditBooks(catalog(), null)).toMatchObject({ ok: true, differences: [] })

describe('bills/update', () => {
  it('changes the due date and the earliest collection, and no amount', async () => {
    const _id = await storeInvoice(31, 3101, 12)
    const debts = () =>
      overdueDebts(catalog(), {
        aids: [31],
        nowMs: world.now(),
        debtMin: 0,
        rejectionRequired: null,
        lookup: STORED_CUSTOMERS,
      })
    expect(await debts()).toEqual([])
    const update = { due_date: '2026-03-01', 'charge.not_before': '2026-03-02' }
    await world.ok('bills', 'update', { query: { _id }, update })
    const bill = await catalog().bills.findOne({ invoice_id: 3101 })
    expect(bill).toMatchObject({
      due_date: new Date('2026-03-01T00:00:00Z'),
      charge: { not_before: new Date('2026-03-02T00:00:00Z') },
    })
    expect(String(bill?.left_to_pay)).toBe('12')
    expect(await debts()).toEqual([{ aid: 31, total: 12 }])
    const { bills, journal } = catalog()
    expect(await journal.countDocuments({ aid: 31 })).toBe(1)
    // A payment afterwards keeps the dates.
    await pay(31, 5)
    expect(await bills.findOne({ invoice_id: 3101 })).toMatchObject({
      due_date: new Date('2026-03-01T00:00:00Z'),
    })
    await expectClean()
  })
})

describe('a due date that is moved into the past', () => {
  it('makes the debt overdue at once, once for each date', async () => {
    await storeEventRules(catalog(), { money: [{ event_type: 'overdue' }] })
    const _id = await storeInvoice(39, 3901, 12)
    const move = (due_date: string) =>
      world.ok('bills', 'update', { query: { _id }, update: { due_date } })
    await move('2026-03-01')
    await move('2026-03-01')
    await move('2026-02-01')
    const made = await eventsOf(catalog(), 39)
    const dates = made.map(({ extra_params: { row } }) => (row as { due_date: number }).due_date)
    expect(dates).toEqual([Date.UTC(2026, 2, 1) / 1000, Date.UTC(2026, 1, 1) / 1000])
    await pay(39, 12)
    await storeEventRules(catalog(), {})
  })
})

describe('bills/delete', () => {
  it('reverses the postings of an invoice; its number can be used again', async () => {
    const { journal, books, audit } = catalog()
    for (const round of [1, 2]) {
      const _id = await storeInvoice(32, 3201, 12)
      await remove(_id)
      const postings = await journal.find({ aid: 32 }).sort({ number: 1 }).toArray()
      expect(postings.map(({ number }) => number)).toEqual(
        Array.from({ length: 2 * round }, (_, index) => index + 1),
      )
      const [invoice, removal] = postings.slice(-2)
      expect(removal).toMatchObject({ event: 'delete', reverses: invoice?._id })
      const entries = removal?.entries.map(({ account, amount }) => [account, Number(amount)])
      expect(Object.fromEntries(entries ?? [])).toEqual({
        'receivable:32': -12,
        revenue: 10,
        'tax:VAT': 2,
      })
      expect(Number((await books.findOne({ _id: 32 }))?.totals.receivable)).toBe(0)
      expect(await audit.countDocuments({ collection: 'bills', key: _id, type: 'delete' })).toBe(1)
      await expectClean()
    }
  })

  it('reverses the posting of a payment that covers nothing', async () => {
    const txid = await pay(33, 5)
    await remove(await idOf({ txid }))
    const posting = await catalog().journal.findOne({ aid: 33, event: 'delete' })
    const entries = posting?.entries.map(({ account, amount }) => [account, Number(amount)])
    expect(Object.fromEntries(entries ?? [])).toEqual({ 'cash:cash': -5, 'credit:33': 5 })
    await expectClean()
  })

  it('refuses one that is paid, and the records of a cancelled payment', async () => {
    const paid = await storeInvoice(34, 3401, 12)
    const txid = await pay(34, 12)
    for (const _id of [paid, await idOf({ txid })]) {
      const { message } = await world.refused('bills', 'delete', { query: { _id } })
      expect(message).toContain('refers to 1 other bills')
    }
    const options = { ignoreErrors: false, userFields: [], digits: 2 }
    await write((writer) => cancelPayments(writer, [{ txid }], options))
    for (const filter of [{ txid }, { cancel: txid }]) {
      const { message } = await world.refused('bills', 'delete', {
        query: { _id: await idOf(filter) },
      })
      expect(message).toContain('it belongs to other payments of the account')
    }
    await expectClean()
  })
})
