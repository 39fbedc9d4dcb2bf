/** Texts of errors that clients may parse; nothing is written. */
import { describe, expect, it } from 'vitest'
import { adjustpayments, reject } from '../../../src/admin/actions/adjust-payments.ts'
import { pay } from '../../../src/admin/actions/pay.ts'
import { useBillingServer } from '../../support/billing/billing-server.ts'

const server = useBillingServer([pay, adjustpayments, reject])
const BASE = 'Billrun_Bill_Payment'

/** A call that is refused with the text; returns the answer. */
async function refused(name: string, params: Record<string, unknown>, message: string) {
  const count = () => server.catalog().journal.countDocuments({})
  const before = await count()
  const answer = await server.ask(name, params)
  expect(answer).toMatchObject({ status: 0, message, desc: message, http: 200 })
  expect(await count()).toBe(before)
  return answer
}

const cash = (item: object) => ({ method: 'cash', payments: [item] })

describe('pay', () => {
  it.each([
    [{}, 'No method found'],
    [{ payments: [{ aid: 1, amount: 5 }] }, 'No method found'],
    [{ method: 'cash' }, 'No payments found'],
    [{ method: 'cash', payments: [] }, 'No payments found'],
    [{ method: 'cash', payments: 'x' }, 'No payments found'],
    [{ method: 'gold', payments: [{}] }, 'Unknown payment method gold'],
    [{ method: 'denial', payments: [{}] }, 'Unknown payment method denial'],
    [
      { method: 'installment_agreement', payments: [{}] },
      'Method installment_agreement must be transferred with action split_bill',
    ],
    [{ method: 'cash', action: 'steal' }, 'Unknown action steal'],
    [cash({ aid: 1 }), `${BASE}: Insufficient options supplied.`],
    [cash({ amount: 1 }), `${BASE}: Insufficient options supplied.`],
    [cash({ aid: 1, amount: 0 }), `${BASE}: Wrong input. Was: Customer: 1, amount: 0.`],
    [cash({ aid: 1, amount: -3 }), `${BASE}: Wrong input. Was: Customer: 1, amount: -3.`],
    [cash({ aid: 'x', amount: 3 }), `${BASE}: Wrong input. Was: Customer: x, amount: 3.`],
    [cash({ aid: 1, amount: 'y' }), `${BASE}: Wrong input. Was: Customer: 1, amount: y.`],
    [cash({ aid: 1, amount: '1e14' }), `${BASE}: Wrong input. Was: Customer: 1, amount: 1e14.`],
    [cash({ aid: 1, amount: 5, dir: 'up' }), "direction could be either 'fc' or 'tc'"],
    [
      cash({ aid: 1, amount: 5, dir: 'tc', deposit: true }),
      'Deposit can only be received from customer',
    ],
    [
      cash({ aid: 1, amount: 5, source: 'van' }),
      "Undefined payment source: van, for account id: 1, amount: 5. This payment wasn't saved.",
    ],
    [cash({ aid: 1, amount: 5, due_date: 'soon' }), 'Field due_date should be of type Date'],
    [{ method: 'cheque', payments: [{ aid: 1, amount: 5 }] }, 'dir not supplied.'],
    [
      { method: 'cheque', payments: [{ aid: 1, amount: 5, dir: 'fc' }] },
      `${BASE}_Cheque: Insufficient options supplied.`,
    ],
    [
      {
        method: 'cheque',
        payments: [{ aid: 1, amount: 5, dir: 'tc', payer_name: 'A', deposit_slip_bank: '' }],
      },
      `${BASE}_Cheque: Insufficient options supplied.`,
    ],
    [
      {
        method: 'wire_transfer',
        payments: [{ aid: 1, amount: 5, dir: 'tc', payer_name: 'A', deposit_slip_bank: '' }],
      },
      `${BASE}_WireTransfer: Insufficient options supplied.`,
    ],
    [
      { method: 'debit', payments: [{ aid: 1, amount: 5 }] },
      `${BASE}_Debit: Insufficient options supplied.`,
    ],
    [{ action: 'use_deposit', txid: ['9'] }, 'One or more of the input IDs are not deposits'],
    [{ action: 'cancel_payments' }, 'No cancellations found'],
    [{ action: 'cancel_payments', cancellations: '{}' }, 'No cancellations found'],
  ])('%j is refused: %s', async (params, message) => {
    await refused('pay', params, message)
  })

  it('explicit links', async () => {
    const aid = server.newAccount()
    const id = await server.invoice(aid, 50)
    const paying = (pays: unknown, amount = 60) => cash({ aid, amount, pays })
    await refused('pay', paying({ inv: { 999999: 5 } }), `Unknown Invoice/s for account ${aid}`)
    await refused('pay', paying({ rec: { 999: 5 } }), `Unknown Payment/s for account ${aid}`)
    await refused('pay', paying({ inv: { [id]: 'x' } }), `Illegal amount for Invoice ${id}`)
    await refused('pay', paying({ inv: { [id]: 51 } }), `Invoice ${id} cannot be overpaid`)
    await refused(
      'pay',
      paying({ inv: { [id]: 20 } }, 10),
      'Total to pay is less than the subtotals',
    )
    const list = [{ type: 'inv', id, amount: 30 }]
    await server.pay(aid, 30, { pays: list })
    expect(await server.bill({ invoice_id: id })).toMatchObject({ left_to_pay: 20, total_paid: 30 })
    await server.pay(aid, 20)
    await refused('pay', paying({ inv: { [id]: 5 } }), `Invoice ${id} already paid`)
  })

  it('a write-off beyond the debt, which would become credit', async () => {
    const aid = server.newAccount()
    const invoice_id = await server.invoice(aid, 5)
    const off = (amount: number) => ({ method: 'write_off', payments: [{ aid, amount }] })
    await refused(
      'pay',
      off(6),
      `Method write_off: amount 6 is bigger than the open debt of account ${aid}`,
    )
    await server.details('pay', off(5))
    expect(await server.bill({ invoice_id })).toMatchObject({ paid: '1' })
    const { entries } = (await server.catalog().journal.findOne({ aid, event: 'payment' })) ?? {}
    expect(entries?.map(({ account }) => account).sort()).toEqual([`credit:${aid}`, 'write_off'])
  })

  it('a refund never opens a paid bill again; cancellation of its payment does', async () => {
    const aid = server.newAccount()
    const invoice_id = await server.invoice(aid, 10)
    const txid = await server.pay(aid, 10)
    await server.pay(aid, 4, { dir: 'tc' })
    expect(await server.bill({ invoice_id })).toMatchObject({ paid: '1', left_to_pay: 0 })
    await server.details('pay', { action: 'cancel_payments', cancellations: [{ txid }] })
    expect(await server.bill({ invoice_id })).toMatchObject({ paid: '0', left_to_pay: 10 })
  })

  it('cancellations', async () => {
    const aid = server.newAccount()
    const [one, two] = [await server.pay(aid, 7), await server.pay(aid, 8)]
    const cancel = (cancellations: unknown, more = {}) =>
      server.ask('pay', { action: 'cancel_payments', cancellations, ...more })
    expect(
      await cancel([{ txid: one, amount: 6 }, { txid: '77' }, {}, { txid: two }]),
    ).toMatchObject({
      status: 0,
      desc: 'error',
      details: {
        errors: [
          '77 Not Found',
          `Cancellation amount not matching payment amount for ${one}`,
          '1 payments was transferred without txid',
        ],
      },
    })
    expect(await cancel([{ txid: '77' }, { txid: two }], { ignore_errors: 1 })).toMatchObject({
      status: 1,
      details: { succeeded_cancels: [two], errors: ['77 Not Found'] },
    })
    expect(await cancel([{ txid: two }])).toMatchObject({
      details: { errors: [`${two} cannot be cancelled`] },
    })
  })

  it.each([
    [
      { amount: 15, installments: [{ due_date: '2026-07-01', amount: 9 }] },
      'Sum of amounts in installments array must be equal to total amount',
    ],
    [
      { installments: [{ due_date: '2026-07-01', amount: 9 }] },
      'Sum of amounts in installments array must be equal to total amount',
    ],
    [
      { amount: 15, installments: [{ amount: 15 }] },
      'Due date field is mandatory for all installments',
    ],
    [
      { installments_num: 3, aid: null },
      'In action split_bill must transfer amount and aid parameters',
    ],
    [
      { amount: 15, first_due_date: '2026-07-01' },
      "Can't pass first_due_date withouh passing installments_num",
    ],
    [
      { amount: 2, installments_num: 3 },
      "Number of installments can't be larger than the passed amount",
    ],
    [{ amount: 500, installments_num: 3 }, 'Passed amount is bigger than the customer debt'],
  ])('split_bill %j is refused: %s', async (params, message) => {
    const aid = server.newAccount()
    await server.invoice(aid, 15)
    const split = { method: 'installment_agreement', action: 'split_bill', aid, ...params }
    await refused('pay', split, message)
  })

  it('merge_installments without an agreement', async () => {
    const merge = { method: 'merge_installments', action: 'merge_installments' }
    await refused(
      'pay',
      merge,
      'In action merge_installments must transfer split_bill_id and aid parameters',
    )
    expect(await server.ask('pay', { ...merge, aid: 1, split_bill_id: 5 })).toMatchObject({
      status: 0,
      desc: 'failure',
      details: 'failed merging installments',
    })
  })
})

describe('adjustpayments and reject', () => {
  it('duplicates, unknown numbers, and payments that are rejected already', async () => {
    const aid = server.newAccount()
    const id = await server.pay(aid, 9)
    const paid = { id, action: 'unconfirm' }
    await refused('adjustpayments', { adjustments: [paid, paid] }, `Duplicate id ${id}`)
    await refused('adjustpayments', { adjustments: [{ id, action: 'x' }] }, 'Illegal action x')
    const rejection = { code: '342' }
    await refused('reject', {}, 'No rejections found')
    await refused('reject', { rejections: [{ rejection }] }, 'Missing id')
    await refused('reject', { rejections: [{ id }] }, 'Missing rejection params')
    await refused('reject', { rejections: [{ id: '88', rejection }] }, 'Unknown id 88')
    const twice = [
      { id, rejection },
      { id, rejection },
    ]
    await refused('reject', { rejections: twice }, `Duplicate id ${id}`)
    expect(await server.details('reject', { rejections: [{ id, rejection }] })).toEqual({
      rejections_received: 1,
      rejections_saved: 1,
    })
    expect(await server.bill({ original_txid: id })).toMatchObject({
      rejection: true,
      rejection_code: '342',
      due: 9,
    })
    await refused('reject', { rejections: [{ id, rejection }] }, `Payment ${id} already rejected`)
  })

  it('a correction replaces the payment; the same again changes nothing', async () => {
    const aid = server.newAccount()
    const invoice_id = await server.invoice(aid, 20)
    const id = await server.pay(aid, 20)
    const adjust = (item: object) =>
      server.details('adjustpayments', { adjustments: [{ id, ...item }] })
    expect(await adjust({ method: 'cash', amount: 20 })).toEqual({
      errors: { unsaved_adjustments: [id] },
    })
    expect(await adjust({ method: 'cheque', amount: 12 })).toEqual({ errors: [] })
    expect(await server.bill({ aid, correction: true })).toMatchObject({
      method: 'cheque',
      due: -12,
      left: 0,
      source: 'web',
    })
    expect(await server.bill({ txid: id })).toMatchObject({ cancelled: true })
    expect(await server.bill({ invoice_id })).toMatchObject({ left_to_pay: 8 })
  })
})
