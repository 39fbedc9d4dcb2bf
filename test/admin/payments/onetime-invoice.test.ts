/** One-time invoices that are charged through a gateway, after the invoice or before it. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { exactAmount } from '../../../src/catalog/records/exact-amount.ts'
import { usePaymentServer } from '../../support/admin/payment-server.ts'
import { insertEntity } from '../../support/catalog/store.ts'
import { type FakeStripe, startFakeStripe } from '../../support/external/fake-stripe.ts'

let stripe: FakeStripe
beforeAll(async () => {
  stripe = await startFakeStripe()
})
afterAll(() => stripe.close())
const world = usePaymentServer(() => stripe.address)

beforeAll(async () => {
  const params = { api_key: 'sk_test', webhook_secret: 'whsec_test', currency: 'eur' }
  await world.call('/api/settings', {
    action: 'set',
    category: 'payment_gateways',
    data: [{ name: 'stripe', params }],
  })
  await insertEntity(world.stores().catalog, 'rates', {
    key: 'FEE',
    rates: { fee: { BASE: { rate: [{ from: 0, to: 'UNLIMITED', interval: 1, price: 1 }] } } },
    tax: [{ type: 'vat', taxation: 'no' }],
  })
})
beforeEach(() => {
  world.now += 3_600_000
  stripe.mode = 'succeeded'
  stripe.session = 'complete'
})

async function payer(): Promise<number> {
  const aid = await world.account()
  await world.call('/api/cards', { aid, name: 'stripe' })
  const found = await world.stores().catalog.tokenizations.findOne({ aid })
  const query = new URLSearchParams({ name: 'stripe', reference: found?._id ?? '' })
  await fetch(`${world.url}/paymentgateways/OkPage?${query}`)
  return aid
}

const order = (aid: number, more: object = {}) => {
  const time = new Date(world.now).toISOString()
  const cdr = { aid, sid: 0, rate: 'FEE', credit_time: time, usagev: 1, aprice: 11.7 }
  return world.call('/api/onetimeinvoice', { aid, step: 2, cdrs: [cdr], ...more })
}

async function billOf(aid: number) {
  const bill = await world.stores().catalog.bills.findOne({ aid, type: 'inv' })
  return bill === null ? null : { paid: bill.paid, left: exactAmount(bill.left_to_pay).toFixed() }
}

describe('a one-time invoice', () => {
  it.each(['regular', 'charge_before_invoice'])('is charged and paid: %s', async (flow) => {
    const aid = await payer()
    const answer = await order(aid, { charge_flow: flow })
    expect(answer).toMatchObject({ status: 1, details: { paymentData: { stage: 'Completed' } } })
    expect(await billOf(aid)).toEqual({ paid: '1', left: '0' })
  })

  it('stays open if its charge is rejected', async () => {
    const aid = await payer()
    stripe.mode = 'declined'
    const answer = await order(aid)
    expect(answer).toMatchObject({ status: 1, details: { paymentData: { stage: 'Rejected' } } })
    expect(await billOf(aid)).toEqual({ paid: '0', left: '11.7' })
  })

  it('is withdrawn if it was to be charged first, and its number is void', async () => {
    const aid = await payer()
    stripe.mode = 'declined'
    const answer = await order(aid, { charge_flow: 'charge_before_invoice' })
    const text = 'Charge failed before invoicing'
    expect(answer).toMatchObject({ status: 0, desc: text, message: text })
    const { catalog } = world.stores()
    expect(await billOf(aid)).toBeNull()
    expect(await catalog.billrun.countDocuments({ aid })).toBe(0)
    expect(await catalog.lines.countDocuments({ aid } as never)).toBe(0)
    expect(await catalog.voidinvoices.find({ aid }).toArray()).toMatchObject([{ reason: text }])
    expect(
      exactAmount((await catalog.books.findOne({ _id: aid }))?.totals.receivable).toFixed(),
    ).toBe('0')
  })

  it('needs a card to be charged first', async () => {
    const aid = await world.account()
    const answer = await order(aid, { charge_flow: 'charge_before_invoice' })
    expect(answer).toMatchObject({ status: 0, desc: 'No payment method for account' })
    expect(await billOf(aid)).toBeNull()
  })
})
