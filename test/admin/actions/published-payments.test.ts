/** Payments with the results that another implementation has published. */
import { describe, expect, it } from 'vitest'
import { adjustpayments, reject } from '../../../src/admin/actions/adjust-payments.ts'
import { pay } from '../../../src/admin/actions/pay.ts'
import { useBillingServer } from '../../support/billing/billing-server.ts'

const server = useBillingServer([pay, adjustpayments, reject])
const aids = () => server.newAccount()

describe('payments', () => {
  it('refund without credit (1)', async () => {
    const aid = aids()
    const txid = await server.pay(aid, 15, { dir: 'tc' })
    expect(await server.bill({ txid })).toMatchObject({ amount: 15, due: 15, left_to_pay: 15 })
  })

  it('debt, then exactly its amount (3, 4)', async () => {
    const aid = aids()
    const debt = await server.pay(aid, 15, { dir: 'tc' })
    const txid = await server.pay(aid, 15)
    expect(await server.bill({ txid })).toMatchObject({ due: -15, left: 0, paid: '1' })
    expect(await server.bill({ txid: debt })).toMatchObject({ left_to_pay: 0, paid: '1' })
  })

  it('debt, then two payments that are its amount (6)', async () => {
    const aid = aids()
    const debt = await server.pay(aid, 15, { dir: 'tc' })
    await server.pay(aid, 10)
    expect(await server.bill({ txid: debt })).toMatchObject({ left_to_pay: 5, paid: '0' })
    await server.pay(aid, 5)
    expect(await server.bill({ txid: debt })).toMatchObject({ left_to_pay: 0, paid: '1' })
  })

  it('payment, then a larger refund (8)', async () => {
    const aid = aids()
    await server.pay(aid, 15)
    const txid = await server.pay(aid, 20, { dir: 'tc' })
    expect(await server.bill({ txid })).toMatchObject({ left_to_pay: 5, paid: '0' })
  })

  it.each([
    { debt: 0, deposit: 20, left: 20, owed: 0 },
    { debt: 15, deposit: 20, left: 5, owed: 0 },
    { debt: 15, deposit: 15, left: 0, owed: 0 },
    { debt: 20, deposit: 15, left: 0, owed: 5 },
  ])('deposit of $deposit used with a debt of $debt (11-14)', async (row) => {
    const aid = aids()
    const debt = row.debt > 0 ? await server.pay(aid, row.debt, { dir: 'tc' }) : null
    const txid = await server.pay(aid, row.deposit, { deposit: true })
    expect(await server.bill({ txid })).toMatchObject({ amount: 0, due: 0, left: 0, deposit: true })
    const details = await server.details('pay', { action: 'use_deposit', txid: [txid] })
    expect(details).toEqual({ deposits_received: [txid], deposits_unfreezed: [txid] })
    const { deposit: amount, left } = row
    expect(await server.bill({ txid })).toMatchObject({ amount, due: -amount, left })
    if (debt !== null) {
      expect(await server.bill({ txid: debt })).toMatchObject({ left_to_pay: row.owed })
    }
  })

  it.each([{}, { first_due_date: '2026-07-31' }])('split of 15 in 3: %j (18, 19)', async (more) => {
    const aid = aids()
    const debt = await server.pay(aid, 15, { dir: 'tc' })
    const split = { method: 'installment_agreement', action: 'split_bill', aid, amount: 15 }
    const answer = await server.ask('pay', { ...split, installments_num: 3, ...more })
    expect(answer).toMatchObject({ status: 1, desc: '' })
    expect(answer['details']).toMatch(/^created installments successfully . parameters: \{/)
    const primary = await server.bill({ aid, method: 'installment_agreement', dir: 'fc' })
    expect(primary).toMatchObject({ due: -15, left: 0 })
    expect(await server.bill({ txid: debt })).toMatchObject({ paid: '1', left_to_pay: 0 })
    const dates: (string | undefined)[] = []
    for (const index of [1, 2, 3]) {
      const part = await server.bill({ aid, 'payment_agreement.installment_index': index })
      expect(part).toMatchObject({ due: 5, left_to_pay: 5, dir: 'tc', split_bill: true })
      dates.push(part.due_date?.toISOString().slice(0, 10))
    }
    const expected =
      'first_due_date' in more ? ['07-31', '08-31', '09-30'] : ['06-30', '07-31', '08-31']
    expect(dates).toEqual(expected.map((date) => `2026-${date}`))
  })

  it('split of more than the debt (21), and of contradicting parameters (24)', async () => {
    const aid = aids()
    await server.pay(aid, 15, { dir: 'tc' })
    const split = { method: 'installment_agreement', action: 'split_bill', aid }
    const before = await server.catalog().bills.countDocuments({ aid })
    expect(await server.ask('pay', { ...split, amount: 20, installments_num: 2 })).toMatchObject({
      status: 0,
      message: 'Passed amount is bigger than the customer debt',
    })
    const installments = [{ due_date: '2026-07-01', amount: 15 }]
    const both = { ...split, amount: 15, installments, first_due_date: '2026-07-01' }
    expect(await server.ask('pay', both)).toMatchObject({
      message: 'Passed parameters in contradiction',
    })
    expect(await server.catalog().bills.countDocuments({ aid })).toBe(before)
  })

  it.each([
    { paid: 0, merged: 15 },
    { paid: 3, merged: 12 },
  ])('merge of installments of 3, 2 and 10 after $paid is paid (31, 32)', async (row) => {
    const aid = aids()
    await server.pay(aid, 15, { dir: 'tc' })
    const installments = [3, 2, 10].map((amount, index) => ({
      amount,
      due_date: `2026-0${7 + index}-01`,
    }))
    const split = { method: 'installment_agreement', action: 'split_bill', aid, amount: 15 }
    await server.details('pay', { ...split, installments })
    if (row.paid > 0) await server.pay(aid, row.paid)
    const { payment_agreement: agreement } = await server.bill({ aid, split_bill: true })
    const { id } = agreement as { id: number }
    const merge = { method: 'merge_installments', action: 'merge_installments', aid }
    const answer = await server.ask('pay', { ...merge, split_bill_id: id })
    expect(answer).toMatchObject({ desc: '', details: 'merged installments successfully' })
    const merged = await server.bill({ aid, method: 'merge_installments', dir: 'tc' })
    expect(merged).toMatchObject({ due: row.merged, left_to_pay: row.merged })
  })

  it('cancelled payment of a debt paid by two (39)', async () => {
    const aid = aids()
    const debt = await server.pay(aid, 15, { dir: 'tc' })
    const txid = await server.pay(aid, 5)
    await server.pay(aid, 10)
    expect(await server.bill({ txid: debt })).toMatchObject({ paid: '1' })
    const details = await server.details('pay', {
      action: 'cancel_payments',
      cancellations: [{ txid, amount: 5 }],
    })
    expect(details).toEqual({ succeeded_cancels: [txid], errors: [] })
    const reopened = { left_to_pay: 5, total_paid: 10, paid: '0' }
    expect(await server.bill({ txid: debt })).toMatchObject(reopened)
    expect(await server.bill({ cancel: txid })).toMatchObject({ due: 5, amount: 5, dir: 'tc' })
    expect(await server.bill({ txid })).toMatchObject({ cancelled: true })
  })

  it.each([
    {
      item: { method: 'cash', amount: -15 },
      text: 'Billrun_Bill_Payment: Wrong input. Was: Customer: AID, amount: -15.',
    },
    { item: { method: 'yossi', amount: 5 }, text: 'Illegal payment method yossi' },
    { item: { id: undefined, method: 'cash', amount: 5 }, text: 'Missing id' },
    { item: { id: '', method: 'cash', amount: 5 }, text: 'Missing id' },
    { item: { method: 'cash' }, text: 'Missing payment method or amount for payment TXID' },
    { item: { id: '9999999999999', method: 'cash', amount: 5 }, text: 'Unknown id' },
    { item: { action: 'mark_paid' }, text: 'Payment TXID not applicable' },
  ])('adjustment %j (58, 64-66)', async ({ item, text }) => {
    const aid = aids()
    const txid = await server.pay(aid, 15)
    const answer = await server.ask('adjustpayments', { adjustments: [{ id: txid, ...item }] })
    const message = text.replace('AID', String(aid)).replace('TXID', txid)
    expect(answer).toMatchObject({ status: 0, message, desc: message, display: { code: 999 } })
    expect(await server.bill({ txid })).toMatchObject({ due: -15 })
  })

  it('adjustment of a rejected payment, and none at all (67, 68)', async () => {
    const txid = await server.pay(aids(), 15)
    await server.details('reject', { rejections: [{ id: txid, rejection: { code: '342' } }] })
    expect(
      await server.ask('adjustpayments', {
        adjustments: [{ id: txid, method: 'cheque', amount: 4 }],
      }),
    ).toMatchObject({ message: `Payment ${txid} not applicable` })
    expect(await server.ask('adjustpayments', { adjustments: [] })).toMatchObject({
      message: 'No adjustments found',
    })
  })
})
