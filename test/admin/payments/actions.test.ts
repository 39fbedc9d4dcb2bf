/** Actions and routes of payment gateways over HTTP; secrets in no answer, export, audit or log. */
import { createHmac } from 'node:crypto'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { NOW_MS, usePaymentServer } from '../../support/admin/payment-server.ts'
import { storeInvoice } from '../../support/billing/store-invoice.ts'
import { startFakeStripe } from '../../support/external/fake-stripe.ts'
import { useOpened } from '../../support/opened.ts'

const MINUTE_MS = 60_000
const stripe = useOpened(startFakeStripe)
const world = usePaymentServer()
const WEBHOOK_SECRET = 'whsec_PLANTED'

beforeAll(async () => {
  const sandbox = { name: 'sandbox', params: { timeout_seconds: 1 } }
  const params = { api_key: 'sk_PLANTED', webhook_secret: WEBHOOK_SECRET, currency: 'eur' }
  await world.call('/api/settings', {
    action: 'set',
    category: 'payment_gateways',
    data: [sandbox, { name: 'stripe', params }],
  })
})
beforeEach(() => {
  world.now += 60 * MINUTE_MS
  stripe().mode = 'succeeded'
  stripe().session = 'complete'
})

/** An account with a card at Stripe and an invoice over 10. */
async function payer(): Promise<number> {
  const aid = await world.account()
  await world.call('/api/cards', { aid, name: 'stripe' })
  const found = await world.stores().catalog.tokenizations.findOne({ aid })
  const query = new URLSearchParams({ name: 'stripe', reference: found?._id ?? '' })
  const response = await fetch(`${world.url}/paymentgateways/OkPage?${query}`)
  expect(await response.text()).toContain('The card ending in 4242 was saved.')
  await invoice(aid)
  return aid
}

/** The address to which a page with an entered card leads back. */
async function returnOf(aid: number): Promise<string> {
  const { details } = await world.call('/api/cards', { aid, name: 'sandbox' })
  const body = new URLSearchParams({ number: '4242424242424242', expiry: '12/28' })
  const { url } = details as { url: string }
  const entered = await fetch(url, { method: 'POST', body, redirect: 'manual' })
  return entered.headers.get('location') ?? ''
}

let invoiceId = 1000
async function invoice(aid: number): Promise<void> {
  invoiceId += 1
  const bill = { aid, invoiceId, due: 10, nowMs: world.now, dueDate: new Date(NOW_MS) }
  await storeInvoice(world.stores().catalog, bill)
}

interface Charged {
  completed: number
  skipped?: string
  job?: string
  responses: Record<string, { status: string; stage: string }>
}

async function charge(params: Record<string, unknown>, key?: string) {
  const headers: Record<string, string> = key === undefined ? {} : { 'idempotency-key': key }
  const texts = Object.entries(params).map(([name, value]) => [name, String(value)])
  const body = new URLSearchParams(Object.fromEntries(texts))
  const response = await fetch(`${world.url}/api/charge`, { method: 'POST', headers, body })
  const text = await response.text()
  const { details, message } = JSON.parse(text) as { details: Charged; message: string }
  return { text, details, message }
}

const stagesOf = ({ responses }: Charged) => Object.values(responses).map(({ stage }) => stage)

describe('/paymentgateways/list', () => {
  it('names the gateways and what is enabled', async () => {
    const response = await fetch(`${world.url}/paymentgateways/list`)
    expect(await response.json()).toMatchObject({
      status: 1,
      desc: 'success',
      details: [
        { name: 'sandbox', supported: true, enabled: true, instances: ['sandbox'] },
        { name: 'stripe', supported: true, enabled: true, instances: ['stripe'] },
      ],
    })
  })
})

describe('/api/cards', () => {
  it('returns the address of a hosted page', async () => {
    const aid = await world.account()
    const answer = await world.call('/api/cards', { aid, name: 'sandbox' })
    expect(answer).toMatchObject({ status: 1, desc: 'success' })
    const { url } = answer['details'] as { url: string }
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/paymentgateways\/sandbox\/[\w-]{32}$/)
  })

  it.each([
    [{ method: 'query', query: '{}' }, /^query.batch_number is missing/],
    [{}, 'Following field/s are missing: aid'],
    [{ aid: 'x' }, 'Field aid should be of type Integer'],
    [{ aid: 999_999 }, 'aid: there is no account 999999'],
    [{ aid: 'own', name: 'paypal' }, 'name must be one of sandbox, stripe'],
    [{ aid: 'own', return_url: 'javascript:alert(1)' }, /^return_url must be an address/],
    [{ aid: 'own', ok_page: 'https://user:pw@example.org' }, /^ok_page must be an address/],
    [{ aid: 'own', return_url: "https://a.example;script-src'self'" }, /^return_url must be an/],
    [{ aid: 'own', ok_page: 'https://*/' }, /^ok_page must be an address/],
    [{ aid: 'own', fail_page: 'https://shop,example' }, /^fail_page must be an address/],
  ])('refuses %o', async (params, message) => {
    const aid = 'aid' in params && params.aid === 'own' ? await world.account() : undefined
    const sent = aid === undefined ? params : { ...params, aid }
    const answer = await world.call('/api/cards', sent)
    const text = typeof message === 'string' ? message : expect.stringMatching(message)
    expect(answer).toMatchObject({ status: 0, message: text, desc: text })
  })
})

describe('the return of a hosted page', () => {
  it('saves the card once, however often it is sent at the same time', async () => {
    const aid = await world.account()
    const { catalog } = world.stores()
    const revisions = () => catalog.subscribers.countDocuments({ type: 'account', aid } as object)
    const before = await revisions()
    world.now += MINUTE_MS
    const url = await returnOf(aid)
    const sent = Array.from({ length: 10 }, async () => (await fetch(url)).text())
    for (const text of await Promise.all(sent)) expect(text).toContain('ending in 4242 was saved')
    // Each further change at a later time would add a revision.
    expect(await revisions()).toBe(before + 1)
    const changes = { type: 'permanentchange', key: String(aid) }
    // One of the revision that ends, one of the new one.
    expect(await catalog.audit.countDocuments(changes)).toBe(2)
  })

  it('may be sent again after the account could not be changed', async () => {
    const aid = await world.account()
    const url = await returnOf(aid)
    const { catalog } = world.stores()
    const account = { type: 'account', aid } as object
    const stored = await catalog.subscribers.find(account).toArray()
    await catalog.subscribers.deleteMany(account)
    expect(await (await fetch(url)).text()).not.toContain('was saved')
    await catalog.subscribers.insertMany(stored)
    expect(await (await fetch(url)).text()).toContain('ending in 4242 was saved')
  })

  it('has the result of the first one, whatever the gateway says later', async () => {
    const aid = await world.account()
    await world.call('/api/cards', { aid, name: 'stripe' })
    const found = await world.stores().catalog.tokenizations.findOne({ aid })
    const query = new URLSearchParams({ name: 'stripe', reference: found?._id ?? '' })
    const returned = async (more = '') =>
      (await fetch(`${world.url}/paymentgateways/OkPage?${query}${more}`)).text()
    stripe().session = 'open'
    expect(await returned()).toContain('No card was entered yet')
    const cancelled = await returned('&result=cancelled')
    expect(cancelled).toContain('The card was not saved')
    expect(await returned()).toBe(cancelled)
    stripe().session = 'complete'
    expect(await returned()).toBe(cancelled)
  })
})

describe('/api/charge', () => {
  it('of one account is answered with its charges', async () => {
    const aid = await payer()
    const { details } = await charge({ aids: aid, reason: 'test' })
    expect(details.completed).toBe(1)
    expect(Object.values(details.responses)).toEqual([
      {
        status: 'succeeded',
        stage: 'Completed',
        additional_params: {
          aid,
          amount: '10',
          attempt: 1,
          txid: expect.stringMatching(/^\d{13}$/),
        },
      },
    ])
    const bill = await world.stores().catalog.bills.findOne({ aid, type: 'inv' })
    expect([bill?.paid, String(bill?.left_to_pay)]).toEqual(['1', '0'])
  })

  it('with the same Idempotency-Key charges once and has the same answer', async () => {
    const aid = await payer()
    stripe().mode = 'declined'
    const first = await charge({ aids: aid }, 'key-1')
    const made = stripe().intents.size
    stripe().mode = 'succeeded'
    expect((await charge({ aids: aid }, 'key-1')).text).toBe(first.text)
    expect(stripe().intents.size).toBe(made)
    expect(stagesOf(first.details)).toEqual(['Rejected'])
    expect((await charge({ aids: aid + 1 }, 'key-1')).message).toContain('Idempotency-Key')
  })

  it('without an answer is unknown, and may be decided by an operator', async () => {
    const aid = await payer()
    stripe().mode = 'cut'
    const { details } = await charge({ aids: aid })
    expect(stagesOf(details)).toEqual(['Unknown'])
    const [id = ''] = Object.keys(details.responses)
    expect((await charge({ aids: aid })).details.skipped).toBe('no bills')
    const decided = await charge({ operation: 'complete', id })
    expect(stagesOf(decided.details)).toEqual(['Completed'])
    const again = await charge({ operation: 'reject', id })
    expect(again.message).toBe(`Payment ${id} not applicable: it is completed`)
  })

  it('is asked for after a notification of the gateway', async () => {
    const aid = await payer()
    stripe().mode = 'processing'
    const { details } = await charge({ aids: aid })
    expect(stagesOf(details)).toEqual(['Pending'])
    const [id = ''] = Object.keys(details.responses)
    for (const intent of stripe().intents.values()) intent.status = 'succeeded'
    const event = { type: 'payment_intent.succeeded', object: 'event', id: 'evt_1' }
    const object = { id: 'pi_1', metadata: { tollgateCharge: id } }
    const body = JSON.stringify({ ...event, data: { object } })
    const notify = (secret: string) => {
      const seconds = Math.floor(world.now / 1000)
      const signed = createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')
      const headers = { 'stripe-signature': `t=${seconds},v1=${signed}` }
      const url = `${world.url}/paymentgateways/notify/stripe`
      return fetch(url, { method: 'POST', body, headers })
    }
    expect((await notify('whsec_other')).status).toBe(403)
    expect((await notify(WEBHOOK_SECRET)).status).toBe(200)
    const told = () => world.stores().catalog.gatewaycharges.findOne({ _id: id })
    const before = await told()
    expect((await notify(WEBHOOK_SECRET)).status).toBe(200)
    expect(await told()).toEqual(before)
    world.now += 15_000
    const status = async () => {
      const { details: found } = await world.call('/api/chargestatus', { aid })
      return (found as { state: string }[]).map(({ state }) => state)
    }
    await expect.poll(status).toEqual(['completed'])
  })

  it('of several accounts is a job', async () => {
    const aids = [await payer(), await payer()]
    const { details } = await charge({ aids: aids.join(',') })
    expect(details.job).toMatch(/^[\da-f]{24}$/)
    const job = async () => {
      const { catalog } = world.stores()
      const jobs = await catalog.jobs.find({ kind: 'charge' }).sort({ created: -1 }).toArray()
      return jobs[0]
    }
    await expect.poll(async () => (await job())?.state).toBe('done')
    expect((await job())?.counts).toEqual({ completed: 2 })
  })

  it.each([
    [{ aids: '1,x' }, 'Wrong input! non numeric values in aids filter'],
    [
      { aids: '1', exclude_accounts: '2' },
      'Wrong input! please choose between aids filter to exclude_accounts filter',
    ],
    [{ aids: '1', billrun_key: '2026' }, 'Wrong input! billrun key is invalid'],
    [{ aids: '1', min_invoice_date: 'x' }, 'Wrong input! min_invoice_date filter is invalid'],
    [{ aids: '1', pay_mode: 'x' }, 'Wrong input! pay_mode can be multiple_payments or one_payment'],
    [{ aids: '1', mode: 'x' }, 'Wrong input! mode can be charge or refund'],
    [{ operation: 'complete', id: 'none' }, 'Unknown id none'],
    [{ operation: 'complete' }, 'Following field/s are missing: id'],
  ])('refuses %o', async (params, message) => {
    expect((await charge(params)).message).toBe(message)
  })
})

describe('secrets of a card', () => {
  const PLANTED = /PLANTED|pm_SECRET|cus_1|v2:[0-9a-f]{8}:/

  it('are in no answer, audit record or log line', async () => {
    const aid = await payer()
    stripe().mode = 'unauthorized'
    const { text } = await charge({ aids: aid })
    const answers = await Promise.all([
      world.call('/billapi/accounts/get', { query: { aid } }),
      world.call('/billapi/accounts/uniqueget', { query: { aid } }),
      world.call('/billapi/audit/get', { query: {}, size: 1000 }),
      world.call('/billapi/jobs/get', { query: {} }),
      world.call('/api/chargestatus', { aid }),
      world.call('/api/settings', { action: 'get', category: 'payment_gateways' }),
      world.call('/api/settings', { action: 'history', category: 'payment_gateways' }),
      world.call('/paymentgateways/list', {}),
    ])
    for (const answer of answers) {
      expect(answer['status']).toBe(1)
      expect(JSON.stringify(answer)).not.toMatch(PLANTED)
    }
    expect(text).not.toMatch(PLANTED)
    expect(world.logged.length).toBeGreaterThan(0)
    expect(world.logged.join('')).not.toMatch(PLANTED)
    const { catalog } = world.stores()
    const audit = await catalog.audit.find().toArray()
    expect(JSON.stringify(audit)).not.toMatch(PLANTED)
    const stored = await catalog.subscribers.find({ type: 'account', aid } as object).toArray()
    expect(JSON.stringify(stored)).not.toMatch(/PLANTED|pm_SECRET|cus_1/)
  })

  it('are kept when an account is sent back as it was read', async () => {
    const aid = await payer()
    const read = await world.call('/billapi/accounts/get', { query: { aid } })
    const item = (read['details'] as Record<string, unknown>[]).at(-1) ?? {}
    expect(item['payment_gateway']).toMatchObject({
      active: { name: 'stripe', four_digits: '4242' },
    })
    const { _id: id } = item as { _id: { $id: string } }
    const update = { ...item, firstname: 'Grace' }
    const sent = { query: { _id: id.$id, aid }, update }
    expect(await world.call('/billapi/accounts/update', sent)).toMatchObject({ status: 1 })
    expect(stagesOf((await charge({ aids: aid })).details)).toEqual(['Completed'])
  })

  it('of another system are sealed when they are written', async () => {
    const aid = await world.account()
    const read = await world.call('/billapi/accounts/get', { query: { aid } })
    const [item] = read['details'] as { _id: { $id: string } }[]
    const active = { name: 'CreditGuard', card_token: 1087, auth_number: 'PLANTED' }
    const sent = { query: { _id: item?._id.$id, aid }, update: { payment_gateway: { active } } }
    const answer = await world.call('/billapi/accounts/update', sent)
    expect(answer['entity']).toMatchObject({ payment_gateway: { active: { name: 'CreditGuard' } } })
    expect(JSON.stringify(answer['entity'])).not.toMatch(PLANTED)
    const found = await world.stores().catalog.subscribers.findOne({ aid } as object)
    expect(found).toMatchObject({
      payment_gateway: { active: { card_token: expect.stringMatching(/^v2:/) } },
    })
  })
})
