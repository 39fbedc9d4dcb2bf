/** Charge runs: refunds, amounts, other cards, pages; published results of one-time invoices. */
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { exactAmount } from '../../../src/catalog/records/money/exact-amount.ts'
import { usePaymentServer } from '../../support/admin/payment-server.ts'
import { insertEntity } from '../../support/catalog/store.ts'
import { startFakeStripe } from '../../support/external/fake-stripe.ts'
import { useOpened } from '../../support/opened.ts'

const MINUTE_MS = 60_000
const stripe = useOpened(startFakeStripe)
const world = usePaymentServer()

beforeAll(async () => {
  const set = (category: string, data: unknown) =>
    world.call('/api/settings', { action: 'set', category, data })
  const params = { api_key: 'sk_PLANTED', currency: 'eur' }
  await set('payment_gateways', [{ name: 'stripe', params }, { name: 'sandbox' }])
  await set('payments', { offline: { uf: ['clerk'] } })
  const { catalog } = world.stores()
  await insertEntity(catalog, 'taxes', { key: 'VAT', rate: 0.17 })
  await insertEntity(catalog, 'rates', {
    key: 'FEE',
    rates: { fee: { BASE: { rate: [{ from: 0, to: 'UNLIMITED', interval: 1, price: 1 }] } } },
    tax: [{ type: 'vat', taxation: 'custom', custom_tax: 'VAT' }],
  })
})
beforeEach(() => {
  world.now += 60 * MINUTE_MS
  stripe().mode = 'succeeded'
  stripe().session = 'complete'
  stripe().refundStatus = 'succeeded'
})

/** An account with a card at Stripe. */
async function holder(): Promise<number> {
  const aid = await world.account()
  await world.call('/api/cards', { aid, name: 'stripe' })
  const found = await world.stores().catalog.tokenizations.findOne({ aid })
  const query = new URLSearchParams({ name: 'stripe', reference: found?._id ?? '' })
  await (await fetch(`${world.url}/paymentgateways/OkPage?${query}`)).text()
  return aid
}

/** Asks for a one-time invoice of lines before 17 % of tax. `step` 2: it is charged at once. */
function order(aid: number, lines: readonly number[], more: object) {
  const credit_time = new Date(world.now).toISOString()
  const cdr = { aid, sid: 0, rate: 'FEE', credit_time, usagev: 1 }
  const cdrs = lines.map((aprice) => ({ ...cdr, aprice }))
  return world.call('/api/onetimeinvoice', { aid, cdrs, reason: 'Test', ...more })
}

async function oneTime(...asked: Parameters<typeof order>) {
  const answer = await order(...asked)
  expect(answer['status']).toBe(1)
  return answer['details'] as { invoice_id: number; paymentData: { stage?: string } }
}

/** A one-time invoice without a charge. Its due date is over. */
async function oneTimeInvoice(aid: number, ...lines: number[]): Promise<number> {
  const { invoice_id } = await oneTime(aid, lines, { step: 1 })
  world.now += 15 * 24 * 60 * MINUTE_MS
  return invoice_id
}

interface Details {
  completed: number
  skipped?: string
  job: string
  asked: number
  responses: Record<string, { stage: string; additional_params: { amount: string } }>
}

async function charge(params: Record<string, unknown>, path = '/api/charge') {
  const answer = await world.call(path, params)
  return { ...answer, details: answer['details'] as Details, message: answer['message'] }
}
const stagesOf = ({ details }: { details: Details }) =>
  Object.values(details.responses).map(({ stage, additional_params: { amount } }) => [
    stage,
    amount,
  ])

const number = (value: unknown) => exactAmount(value).toNumber()
type Shown = Record<string, unknown> & { due: number; left: number; left_to_pay: number }

async function bill(filter: object): Promise<Shown> {
  const found = await world.stores().catalog.bills.findOne(filter as never)
  if (found === null) throw new Error(`no bill ${JSON.stringify(filter)}`)
  const { due, left, left_to_pay } = found
  return { ...found, due: number(due), left: number(left), left_to_pay: number(left_to_pay) }
}

describe('published results', () => {
  it('one-time invoices of 20 and 30', async () => {
    const aid = await world.account()
    const [one, two] = [await oneTimeInvoice(aid, 20), await oneTimeInvoice(aid, 10, 20)]
    expect(await bill({ invoice_id: one })).toMatchObject({ due: 23.4, left_to_pay: 23.4 })
    expect(await bill({ invoice_id: two })).toMatchObject({ due: 35.1, left_to_pay: 35.1 })
  })

  it('a one-time invoice that is charged afterwards', async () => {
    const aid = await holder()
    const { invoice_id, paymentData } = await oneTime(aid, [10], { step: 2 })
    expect(paymentData.stage).toBe('Completed')
    expect(await bill({ invoice_id })).toMatchObject({ due: 11.7, paid: '1', left_to_pay: 0 })
    expect(await bill({ aid, type: 'rec' })).toMatchObject({ due: -11.7, left: 0, paid: '1' })
  })

  it('a one-time invoice that is charged before', async () => {
    const aid = await holder()
    const more = { step: 2, charge_flow: 'charge_before_invoice' }
    const { invoice_id, paymentData } = await oneTime(aid, [10], more)
    expect(paymentData.stage).toBe('Completed')
    expect(await bill({ invoice_id })).toMatchObject({ due: 11.7, paid: '1', left_to_pay: 0 })
    expect(await bill({ aid, type: 'rec' })).toMatchObject({ due: -11.7, left: 0, paid: '1' })
  })

  it('a one-time refund that is paid back', async () => {
    const aid = await holder()
    await oneTime(aid, [10], { step: 2 })
    const { invoice_id } = await oneTime(aid, [-10], { step: 2 })
    expect(await bill({ invoice_id })).toMatchObject({ due: -11.7, left: 11.7 })
    const answer = await charge({ aids: aid, mode: 'refund' })
    expect(stagesOf(answer)).toEqual([['Completed', '11.7']])
    expect(await bill({ invoice_id })).toMatchObject({ left: 0, paid: '1' })
    expect(await bill({ aid, type: 'rec', dir: 'tc' })).toMatchObject({
      due: 11.7,
      left_to_pay: 0,
      paid: '1',
    })
  })

  it('a charge and a refund that are rejected', async () => {
    const aid = await holder()
    stripe().mode = 'declined'
    const { invoice_id, paymentData } = await oneTime(aid, [10], { step: 2 })
    expect(paymentData.stage).toBe('Rejected')
    expect(await bill({ invoice_id })).toMatchObject({ paid: '0', left_to_pay: 11.7 })
    expect(await bill({ aid, rejection: true })).toMatchObject({ due: 11.7 })
    stripe().mode = 'succeeded'
    await charge({ aids: aid })
    const { invoice_id: refund } = await oneTime(aid, [-10], { step: 2 })
    stripe().refundStatus = 'failed'
    expect(stagesOf(await charge({ aids: aid, mode: 'refund' }))).toEqual([['Rejected', '11.7']])
    expect(await bill({ invoice_id: refund })).toMatchObject({ left: 11.7, paid: '0' })
    expect(await bill({ aid, rejection: true, dir: 'fc' })).toMatchObject({ due: -11.7 })
  })
})

describe('a one-time invoice that is to be charged first', () => {
  const first = { step: 2, charge_flow: 'charge_before_invoice' }

  it('is withdrawn if its charge is rejected, and its number is void', async () => {
    const aid = await holder()
    stripe().mode = 'declined'
    const answer = await order(aid, [10], first)
    const text = 'Charge failed before invoicing'
    expect(answer).toMatchObject({ status: 0, desc: text, message: text })
    const { catalog } = world.stores()
    expect(await catalog.bills.findOne({ aid, type: 'inv' })).toBeNull()
    expect(await catalog.billrun.countDocuments({ aid })).toBe(0)
    expect(await catalog.lines.countDocuments({ aid } as never)).toBe(0)
    expect(await catalog.voidinvoices.find({ aid }).toArray()).toMatchObject([{ reason: text }])
    const books = await catalog.books.findOne({ _id: aid })
    expect(exactAmount(books?.totals.receivable).toFixed()).toBe('0')
  })

  it('needs a card', async () => {
    const aid = await world.account()
    const answer = await order(aid, [10], first)
    expect(answer).toMatchObject({ status: 0, desc: 'No payment method for account' })
    expect(await world.stores().catalog.bills.findOne({ aid, type: 'inv' })).toBeNull()
  })
})

describe('/billrun/chargeaccount', () => {
  it('is the same call at the path of existing clients', async () => {
    const aid = await holder()
    await oneTimeInvoice(aid, 10)
    const answer = await charge({ aids: aid, reason: 'run' }, '/billrun/chargeaccount')
    expect(answer).toMatchObject({ status: 1, desc: 'success', input: { reason: 'run' } })
    expect(answer.details.completed).toBe(1)
  })
})

describe('a charge', () => {
  it('leaves invoices out, and keeps configured fields', async () => {
    const aid = await holder()
    const [one, two] = [await oneTimeInvoice(aid, 10), await oneTimeInvoice(aid, 20)]
    const uf = { clerk: 'ada', secret: 'x' }
    const answer = await charge({ aids: aid, exclude_invoices: [one], uf })
    expect(stagesOf(answer)).toEqual([['Completed', '23.4']])
    expect(await bill({ invoice_id: one })).toMatchObject({ paid: '0' })
    expect(await bill({ invoice_id: two })).toMatchObject({ paid: '1' })
    expect((await bill({ aid, type: 'rec' }))['uf']).toEqual({ clerk: 'ada' })
  })

  it('may be of another card, which is in no answer and no record', async () => {
    const aid = await world.account()
    await oneTimeInvoice(aid, 10)
    const payment_data = { name: 'stripe', card_token: 'pm_PLANTED', customer_id: 'cus_PLANTED' }
    const answer = await charge({ aids: aid, payment_data })
    expect(stagesOf(answer)).toEqual([['Completed', '11.7']])
    expect(JSON.stringify(answer)).not.toContain('PLANTED')
    const sent = stripe().requests.findLast(({ path }) => path === '/v1/payment_intents')
    expect(sent?.form.get('payment_method')).toBe('pm_PLANTED')
    const { catalog } = world.stores()
    const kept = await Promise.all([
      catalog.audit.find().toArray(),
      catalog.gatewaycharges.find().toArray(),
      catalog.idempotency.find().toArray(),
    ])
    expect(JSON.stringify(kept)).not.toContain('PLANTED')
    expect(world.logged.join('')).not.toContain('PLANTED')
  })

  it('of a page of accounts charges these only; pages do not shift', async () => {
    const aids = [await holder(), await holder(), await holder()]
    for (const aid of aids) await oneTimeInvoice(aid, 10)
    const { catalog } = world.stores()
    const done = async (job: string) => {
      const state = async () =>
        (await catalog.jobs.find({ kind: 'charge' }).toArray()).find(({ _id }) => _id.equals(job))
          ?.state
      await expect.poll(state).toBe('done')
    }
    const paid = async () => {
      const found = await Promise.all(aids.map((aid) => bill({ aid, type: 'inv' })))
      return found.map((each) => each.paid)
    }
    await done((await charge({ aids: aids.join(','), page: 1, size: 2 })).details.job)
    expect(await paid()).toEqual(['0', '0', '1'])
    const before = await catalog.books.countDocuments({ _id: { $lt: aids[1] as number } })
    await done((await charge({ page: before, size: 1 })).details.job)
    expect(await paid()).toEqual(['0', '1', '1'])
  })

  it('whose outcome is open is asked for at once with mode pending', async () => {
    const aid = await holder()
    await oneTimeInvoice(aid, 10)
    stripe().mode = 'processing'
    expect(stagesOf(await charge({ aids: aid }))).toEqual([['Pending', '11.7']])
    for (const intent of stripe().intents.values()) intent.status = 'succeeded'
    expect((await charge({ aids: aid, mode: 'pending' })).details).toEqual({ asked: 1 })
    world.now += 15_000
    await expect.poll(async () => (await bill({ aid, type: 'inv' })).paid).toBe('1')
  })

  it.each([
    [{ aid: 1 }, `One or more of the parameters of the 'charge' command is not valid`],
    [{ aids: '1', charge_mode: 'x' }, 'Wrong input! mode can be charge or refund'],
    [
      { aids: '1', exclude_invoices: 'x' },
      'Wrong input! non numeric values in exclude_invoices filter',
    ],
    [{ aids: '1', invoices: '1,x' }, 'Wrong input! non numeric values in invoices filter'],
    [{ exclude_accounts: 'x' }, 'Wrong input! non numeric values in exclude_accounts filter'],
    [{ aids: '1,2', amount: 5 }, 'Field amount requires exactly one account in aids'],
    [{ amount: 5 }, 'Field amount requires exactly one account in aids'],
    [
      { aids: '1', amount: 0 },
      'Field amount must be above 0, below 10^12, with at most 2 decimals',
    ],
    [{ aids: '1', amount: 1.005 }, /^Field amount must be above 0/],
    [{ aids: '1', amount: 'x' }, 'Field amount should be of type Float'],
    [{ payment_data: { name: 'x' } }, 'Field payment_data requires exactly one account in aids'],
    [{ aids: '1', payment_data: {} }, 'Following field/s are missing: payment_data.name'],
    [
      { aids: '1', payment_data: { name: 'stripe' } },
      'Following field/s are missing: payment_data.card_token',
    ],
    [
      { aids: '1', payment_data: { name: 'paypal', card_token: 'x' } },
      'payment_data.name must be one of stripe, sandbox',
    ],
    [
      { aids: '1', payment_data: { name: 'stripe', card_token: 5 } },
      'Field payment_data.card_token should be of type String',
    ],
    [{ size: 0 }, 'Field size must be at least 1'],
    [{ page: -1 }, 'Field page must be at least 0'],
    [{ uf: 'x' }, /^uf is not JSON/],
    [{ aids: '1', mode: 'refund', amount: 5 }, 'amount 5 is bigger than the credit of account 1'],
  ])('with %j is refused', async (params: Record<string, unknown>, message) => {
    const answer = await charge(params)
    const text = typeof message === 'string' ? message : expect.stringMatching(message)
    expect(answer).toMatchObject({ status: 0, message: text, desc: text })
  })
})
