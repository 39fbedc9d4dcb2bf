/** Events of money, written with the payments, corrections and invoices that make them. */
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { adjustpayments, reject } from '../../../src/admin/actions/adjust-payments.ts'
import { onetimeinvoice } from '../../../src/admin/actions/onetime-invoice.ts'
import { pay } from '../../../src/admin/actions/pay.ts'
import { addTenant, TAXED } from '../../support/admin/actions/credit-tenant.ts'
import { useBillingServer } from '../../support/billing/billing-server.ts'
import { ALL_TYPES, eventsOf, storeEventRules, typesOf } from '../../support/billing/money-rules.ts'
import { dyingAfter } from '../../support/catalog/dying.ts'

const ILS = { TOLLGATE_RATING_CURRENCY_CODE: '376' }
const server = useBillingServer([pay, adjustpayments, reject, onetimeinvoice], { ...TAXED, ...ILS })
const HOUR_MS = 3_600_000
const seconds = (ms: number) => Math.floor(ms / 1000)
const types = (aid: number) => typesOf(server.catalog(), aid)
const events = (aid: number) => eventsOf(server.catalog(), aid)
const rules = (money: readonly object[]) => storeEventRules(server.catalog(), { money })
const adjust = (id: string, more: object) =>
  server.details('adjustpayments', { adjustments: [{ id, ...more }] })

beforeAll(() => addTenant(server.catalog()))
beforeEach(() => rules(ALL_TYPES))

describe('a payment', () => {
  it('makes an event with the debt before and after it', async () => {
    const aid = server.newAccount()
    await server.invoice(aid, '23.40')
    const txid = await server.pay(aid, 10.1)
    const [, event] = await events(aid)
    expect(event).toEqual({
      _id: expect.anything(),
      stamp: expect.stringMatching(/^[0-9a-f]{32}$/),
      event_type: 'payment_completed',
      event_code: 'payment_completed',
      event_description: '',
      before: 23.4,
      after: 13.3,
      based_on: 'monetary',
      creation_time: new Date(server.now()),
      extra_params: {
        aid,
        sid: 0,
        row: {
          txid,
          dir: 'fc',
          method: 'cash',
          source: 'web',
          type: 'rec',
          amount: 10.1,
          currency: 'ILS',
          urt: seconds(server.now()),
        },
      },
      conditions: [],
      receiver: {},
      delivery: { state: 'pending', due: new Date(server.now()), attempts: 0 },
    })
  })

  it('of several at once each has its own part of the debt', async () => {
    const aid = server.newAccount()
    await server.invoice(aid, 100)
    const payments = [10, 20].map((amount) => ({ aid, amount }))
    await server.details('pay', { method: 'cash', payments })
    const [, ...made] = await events(aid)
    expect(made.map(({ before, after }) => [before, after])).toEqual([
      [100, 90],
      [90, 70],
    ])
  })

  it('that waits is pending, then completed, in question again, and rejected', async () => {
    const aid = server.newAccount()
    const txid = await server.pay(aid, 10, { method: 'automatic' })
    await adjust(txid, { action: 'mark_paid' })
    await adjust(txid, { action: 'unconfirm' })
    await adjust(txid, { action: 'mark_paid' })
    await server.details('reject', { rejections: [{ id: txid, rejection: { code: 'R1' } }] })
    expect(await types(aid)).toEqual([
      'payment_pending',
      'payment_completed',
      'payment_pending',
      'payment_completed',
      'payment_rejected',
    ])
    const made = await events(aid)
    expect(new Set(made.map(({ stamp }) => stamp)).size).toBe(5)
    expect(made.map(({ before, after }) => [before, after])).toEqual([
      [0, -10],
      [-10, -10],
      [-10, -10],
      [-10, -10],
      [-10, 0],
    ])
    expect(made.every(({ extra_params }) => 'txid' in extra_params.row)).toBe(true)
  })

  it('that is denied is rejected; a refund and a deposit are payments', async () => {
    const aid = server.newAccount()
    const txid = await server.pay(aid, 10)
    await adjust(txid, { action: 'deny' })
    await server.details('pay', {
      action: 'refund',
      method: 'cash',
      payments: [{ aid, amount: 1 }],
    })
    await server.details('pay', {
      action: 'deposit',
      method: 'cash',
      payments: [{ aid, amount: 7 }],
    })
    const made = await events(aid)
    expect(made.map(({ event_type }) => event_type)).toEqual([
      'payment_completed',
      'payment_rejected',
      'payment_completed',
      'payment_completed',
    ])
    const [, , refund, deposit] = made.map(({ extra_params }) => extra_params.row)
    expect(refund).toMatchObject({ dir: 'tc', amount: 1 })
    expect(deposit).toMatchObject({ dir: 'fc', deposit: true, amount: 7 })
  })

  it('that is corrected is a new payment', async () => {
    const aid = server.newAccount()
    const txid = await server.pay(aid, 10)
    await adjust(txid, { method: 'cash', amount: 4 })
    expect(await types(aid)).toEqual(['payment_completed', 'payment_completed'])
    expect((await events(aid)).map(({ before, after }) => [before, after])).toEqual([
      [0, -10],
      [0, -4],
    ])
  })

  it('makes none for used deposits, cancellations, write-offs and split bills', async () => {
    const aid = server.newAccount()
    await rules(ALL_TYPES.filter(({ event_type }) => event_type !== 'invoice_confirmed'))
    await server.invoice(aid, 100)
    const deposit = { action: 'deposit', method: 'cash', payments: [{ aid, amount: 7 }] }
    const { record_ids: ids } = await server.details('pay', deposit)
    const txid = await server.pay(aid, 10)
    const made = await types(aid)
    await server.details('pay', { action: 'use_deposit', txid: ids })
    await server.details('pay', { action: 'cancel_payments', cancellations: [{ txid }] })
    await server.pay(aid, 1, { method: 'write_off' })
    const split = { amount: 50, installments_num: 2, first_due_date: '2026-08-01' }
    const method = 'installment_agreement'
    await server.details('pay', { action: 'split_bill', method, aid, ...split })
    expect(await types(aid)).toEqual(made)
  })
})

describe('an invoice', () => {
  const cdr = (aprice: number) => {
    const line = { aid: 1001, sid: 7, rate: 'FEE_A', credit_time: '2026-06-10', usagev: 1 }
    return { ...line, type: 'credit', aprice }
  }

  it('that is confirmed makes an event; a credit note another one', async () => {
    const before = await events(1001)
    const { invoice_id: id } = await server.details('onetimeinvoice', {
      ...{ aid: 1001, step: 1, cdrs: [cdr(20)] },
    })
    const { invoice_id: note } = await server.details('onetimeinvoice', {
      ...{ aid: 1001, step: 1, cdrs: [cdr(-10)], adjusts: [{ invoice_id: id }] },
    })
    const made = (await events(1001)).slice(before.length)
    // 17 % tax.
    expect(made).toMatchObject([
      {
        event_type: 'invoice_confirmed',
        ...{ before: 0, after: 23.4 },
        extra_params: { row: { type: 'inv', invoice_id: id, amount: 23.4, currency: 'ILS' } },
      },
      {
        event_type: 'credit_note',
        ...{ before: 23.4, after: 11.7 },
        extra_params: { row: { type: 'inv', invoice_id: note, amount: 11.7 } },
      },
    ])
    expect(made[0]?.extra_params.row).toHaveProperty('due_date')
  })

  it('that does not become a bill makes none', async () => {
    const before = (await events(1001)).length
    await server.details('onetimeinvoice', { aid: 1001, step: 0, cdrs: [cdr(7)] })
    expect(await events(1001)).toHaveLength(before)
  })
})

describe('a debt past its due date', () => {
  const past = () => ({ dueDate: new Date(server.now() - HOUR_MS) })

  it('is overdue from its beginning, or if its payment is taken back, once', async () => {
    await rules([{ event_type: 'overdue' }])
    const aid = server.newAccount()
    const id = await server.invoice(aid, 50, past())
    expect(await types(aid)).toEqual(['overdue'])
    const txid = await server.pay(aid, 50)
    await server.details('reject', { rejections: [{ id: txid, rejection: { code: 'R1' } }] })
    expect(await types(aid)).toEqual(['overdue'])

    const paid = server.newAccount()
    await server.pay(paid, 30)
    const covered = await server.invoice(paid, 30, past())
    expect(await types(paid)).toEqual([])
    const { txid: payment = '' } = await server.bill({ aid: paid, type: 'rec' })
    await server.details('reject', { rejections: [{ id: payment, rejection: { code: 'R1' } }] })
    const [event] = await events(paid)
    const due_date = seconds(server.now() - HOUR_MS)
    const row = { invoice_id: covered, amount: 30, left_to_pay: 30, due_date }
    expect(event).toMatchObject({ event_type: 'overdue', extra_params: { row } })
    expect(event).not.toHaveProperty('before')
    expect(id).not.toBe(covered)
  })
})

describe('rules', () => {
  it('name their events, filter accounts and say where events are sent', async () => {
    const [aid, other] = [server.newAccount(), server.newAccount()]
    const email = { notify: true }
    await rules([
      {
        event_type: 'payment_completed',
        event_code: 'PAID',
        event_description: 'thanks',
        filter: { aid: [aid] },
        url: 'https://crm.example.net/paid',
        method: 'post',
        notify_by_email: email,
      },
      { event_type: 'payment_completed', event_code: 'ALL' },
      { event_type: 'payment_completed', event_code: 'OFF', active: false },
    ])
    await server.details('pay', { method: 'cash', payments: [{ aid, amount: 1 }] })
    await server.details('pay', { method: 'cash', payments: [{ aid: other, amount: 1 }] })
    const receiver = { url: 'https://crm.example.net/paid', method: 'post', notify_by_email: email }
    expect(await events(aid)).toMatchObject([
      { event_code: 'PAID', event_description: 'thanks', receiver },
      { event_code: 'ALL', receiver: {} },
    ])
    expect(await events(other)).toMatchObject([{ event_code: 'ALL' }])
  })

  it('apply from the next transaction on; without one nothing is written', async () => {
    const aid = server.newAccount()
    await rules([{ event_type: 'overdue' }])
    await server.pay(aid, 1)
    await storeEventRules(server.catalog(), {})
    await server.pay(aid, 1)
    expect(await types(aid)).toEqual([])
    await rules([{ event_type: 'payment_completed' }])
    await server.pay(aid, 1)
    expect(await types(aid)).toEqual(['payment_completed'])
  })

  it('that are invalid are left out', async () => {
    const aid = server.newAccount()
    await rules([{ event_type: 'paid' }, { event_type: 'payment_completed' }])
    await server.pay(aid, 1)
    expect(await types(aid)).toEqual(['payment_completed'])
  })
})

describe('with the money', () => {
  it('a repeated call makes no second event', async () => {
    const aid = server.newAccount()
    const call = { method: 'cash', payments: [{ aid, amount: 5 }] }
    const answers = await Promise.all([1, 2].map(() => server.ask('pay', call, { key: 'once' })))
    answers.push(await server.ask('pay', call, { key: 'once' }))
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    expect(await types(aid)).toEqual(['payment_completed'])
  })

  it('a refused call makes none, although it shares a transaction with others', async () => {
    const [aid, refused] = [server.newAccount(), server.newAccount()]
    const item = { aid: refused, amount: 5 }
    const [answer] = await Promise.all([
      server.ask('pay', { method: 'write_off', payments: [item] }),
      ...[1, 2, 3].map(() => server.pay(aid, 5)),
    ])
    expect(answer).toMatchObject({ status: 0 })
    expect(await types(refused)).toEqual([])
    expect(await types(aid)).toEqual(Array.from({ length: 3 }, () => 'payment_completed'))
  })

  it('a process that dies at any command leaves both or neither', async () => {
    const outcomes = new Set<number>()
    for (let commands = 0, died = true; died; commands += 1) {
      const dying = await dyingAfter(server.mongo(), commands)
      const other = await server.again(dying.catalog)
      const aid = server.newAccount()
      await other.ask('pay', { method: 'cash', payments: [{ aid, amount: 5 }] })
      died = dying.died()
      await other.close()
      await dying.close()
      const paid = await server.catalog().bills.countDocuments({ aid, type: 'rec' })
      expect(await types(aid)).toHaveLength(paid)
      outcomes.add(paid)
    }
    expect(outcomes).toEqual(new Set([0, 1]))
  })
})
