/** Payments at the same time, repeated calls, and parameters of any kind. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { adjustpayments, reject } from '../../../src/admin/actions/adjust-payments.ts'
import { bill } from '../../../src/admin/actions/bill.ts'
import { pay } from '../../../src/admin/actions/pay.ts'
import { auditBooks } from '../../../src/cli/audit/books.ts'
import { useBillingServer } from '../../support/billing/billing-server.ts'

const server = useBillingServer([pay, adjustpayments, reject, bill])
const PAYMENTS = 50

describe('payments at the same time', () => {
  it(`${PAYMENTS} for one bill, by two servers: none is lost, it is not overpaid`, async () => {
    const aid = server.newAccount()
    const invoice_id = await server.invoice(aid, 100)
    const other = await server.again()
    const item = { aid, amount: 5, pays: { inv: { [invoice_id]: 5 } } }
    const answers = await Promise.all(
      Array.from({ length: PAYMENTS }, (_, index) =>
        (index % 2 === 0 ? server : other).ask('pay', { method: 'cash', payments: [item] }),
      ),
    )
    await other.close()
    const accepted = answers.filter(({ status }) => status === 1)
    expect(accepted).toHaveLength(20)
    for (const { status, message } of answers) {
      if (status !== 1) expect(message).toBe(`Invoice ${invoice_id} already paid`)
    }
    expect(await server.bill({ invoice_id })).toMatchObject({ left_to_pay: 0, total_paid: 100 })
    const bills = await server.catalog().bills.find({ aid, type: 'rec' }).toArray()
    expect(new Set(bills.map(({ txid }) => txid)).size).toBe(20)
    expect(await auditBooks(server.catalog(), new Date(server.now()))).toMatchObject({ ok: true })
  })

  it('without links what is beyond the bill becomes credit, in full', async () => {
    const aid = server.newAccount()
    await server.invoice(aid, 100)
    const paid = Array.from({ length: 30 }, () => server.pay(aid, 5))
    await Promise.all(paid)
    const { balance } = (await server.details('bill', { aid })) as { balance: object }
    expect(balance).toMatchObject({ total: '-50.00' })
    expect((await auditBooks(server.catalog(), null)).differences).toEqual([])
  })

  it('the same key twice: one payment, the same answer', async () => {
    const aid = server.newAccount()
    const call = { method: 'cash', payments: [{ aid, amount: 5 }], reason: 'at the desk' }
    const [one, two] = await Promise.all([
      server.ask('pay', call, { key: 'k1' }),
      server.ask('pay', call, { key: 'k1' }),
    ])
    expect(one?.text).toBe(two?.text)
    expect(await server.catalog().bills.countDocuments({ aid })).toBe(1)
    const posting = await server.catalog().journal.findOne({ aid })
    expect(posting).toMatchObject({ reason: 'at the desk', user: { name: 'ada' }, number: 1 })
    const audit = await server.catalog().audit.findOne({ collection: 'bills', key: String(aid) })
    expect(audit).toMatchObject({ type: 'pay', new: { reason: 'at the desk' } })
  })

  it('a failure between two writes leaves nothing behind', async () => {
    const aid = server.newAccount()
    await server.invoice(aid, 10)
    const catalog = server.catalog()
    const before = await catalog.bills.find({ aid }).toArray()
    // The next posting is there already, as if another process had written it.
    const { number } = (await catalog.books.findOne({ _id: aid })) ?? { number: 0 }
    const alien = { aid, number: number + 1, event: 'x', entries: [], user: {} } as never
    const { insertedId } = await catalog.journal.insertOne(alien)
    const answer = await server.ask('pay', { method: 'cash', payments: [{ aid, amount: 4 }] })
    expect(answer['status']).toBe(0)
    expect(await catalog.bills.find({ aid }).toArray()).toEqual(before)
    await catalog.journal.deleteOne({ _id: insertedId })
    await server.pay(aid, 4)
    expect((await auditBooks(catalog, null)).differences).toEqual([])
  })
})

describe('parameters of any kind', () => {
  const value = fc.oneof(
    fc.constantFrom<unknown>(
      '',
      '0',
      '1',
      'cash',
      'cheque',
      'NaN',
      '-1',
      '1e400',
      '[]',
      '{}',
      '\0',
    ),
    fc.constantFrom<unknown>(
      null,
      true,
      0,
      -1,
      1.005,
      [],
      {},
      [null],
      [[]],
      { inv: 3 },
      { $gt: 1 },
    ),
    fc.jsonValue({ maxDepth: 2 }),
  )
  const item = fc.dictionary(
    fc.constantFrom(
      'aid',
      'amount',
      'dir',
      'deposit',
      'pays',
      'paid_by',
      'id',
      'action',
      'uf',
      'urt',
      'method',
      'txid',
      'rejection',
      'due_date',
      'source',
      'note',
      'charge',
    ),
    value,
  )
  const call = fc.record({
    name: fc.constantFrom('pay', 'pay', 'adjustpayments', 'reject', 'bill'),
    params: fc.dictionary(
      fc.constantFrom(
        'action',
        'method',
        'payments',
        'txid',
        'cancellations',
        'adjustments',
        'rejections',
        'aid',
        'aids',
        'amount',
        'installments',
        'installments_num',
        'first_due_date',
        'id',
        'date',
        'query',
        'threshold',
        'page',
        'size',
        'split_bill_id',
        'urt',
        'type',
        'paid',
      ),
      fc.oneof(
        value,
        fc.array(item, { maxLength: 3 }),
        fc.constantFrom<unknown>(
          'split_bill',
          'use_deposit',
          'cancel_payments',
          'merge_installments',
          'installment_agreement',
          'search',
          'get_balances',
          'collection_debt',
          'query_bills_invoices',
        ),
      ),
    ),
  })

  it('never end in an internal error', async () => {
    await fc.assert(
      fc.asyncProperty(call, async ({ name, params }) => {
        const answer = await server.ask(name, params, { as: 'json' })
        expect(answer.http, answer.text).toBeLessThan(500)
        expect(answer['code'], answer.text).not.toBe(500)
      }),
      { numRuns: 400 },
    )
    expect((await auditBooks(server.catalog(), null)).differences).toEqual([])
  })
})
