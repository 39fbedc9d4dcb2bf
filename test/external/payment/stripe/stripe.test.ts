import Sdk from 'stripe'
import { beforeEach, describe, expect, it } from 'vitest'
import type { GatewayCharge } from '../../../../src/external/payment/gateway.ts'
import { createStripe } from '../../../../src/external/payment/stripe/stripe.ts'
import { type FakeStripe, startFakeStripe } from '../../../support/external/fake-stripe.ts'
import { useOpened } from '../../../support/opened.ts'

const NOW = Date.UTC(2026, 5, 15, 12)
const SETTINGS = {
  apiKey: 'sk_test_SECRET',
  webhookSecret: 'whsec_SECRET',
  currency: 'eur',
  timeoutMs: 20_000,
}
const CARD = { cardToken: 'pm_SECRET', customerId: 'cus_1' }

type Sent = FakeStripe['requests'][number]

const gateway = (settings: Partial<typeof SETTINGS> = {}) =>
  createStripe('stripe', { ...SETTINGS, ...settings })

const server = useOpened(startFakeStripe)
beforeEach(() => {
  server().mode = 'succeeded'
  server().session = 'complete'
  server().requests.length = 0
})

const requestOf = (more: Partial<GatewayCharge> = {}): GatewayCharge => ({
  key: 'tg_1',
  aid: 17,
  amount: '70.20',
  card: CARD,
  nowMs: NOW,
  ...more,
})

describe('a charge', () => {
  it('is an off-session PaymentIntent with the idempotency key, in minor units', async () => {
    const done = await gateway().charge(requestOf())
    expect(done).toMatchObject({ stage: 'completed', status: 'succeeded', code: '' })
    const [{ form, key, path }] = server().requests as [Sent]
    expect([path, key]).toEqual(['/v1/payment_intents', 'tg_1'])
    expect(Object.fromEntries(form)).toMatchObject({
      amount: '7020',
      currency: 'eur',
      customer: 'cus_1',
      payment_method: 'pm_SECRET',
      off_session: 'true',
      confirm: 'true',
      error_on_requires_action: 'true',
      'metadata[tollgateCharge]': 'tg_1',
    })
  })

  it.each([
    ['processing', { stage: 'pending', status: 'processing' }],
    ['declined', { stage: 'rejected', code: 'insufficient_funds', isFinal: false }],
    ['stolen', { stage: 'rejected', code: 'stolen_card', isFinal: true }],
    ['requires_action', { stage: 'rejected', code: 'authentication_required', isFinal: true }],
  ] as const)('answered as %s', async (mode, expected) => {
    server().mode = mode
    const done = await gateway().charge(requestOf({ key: `tg_${mode}` }))
    expect(done).toMatchObject({ ...expected, reference: expect.stringMatching(/^pi_\d+$/) })
  })

  it.each(['cut', 'failure', 'key in use'] as const)('%s has an unknown outcome', async (mode) => {
    server().mode = mode
    const charged = gateway().charge(requestOf({ key: `tg_${mode}` }))
    await expect(charged).rejects.toMatchObject({ name: 'GatewayUnansweredError' })
    expect(server().requests.length).toBe(1)
  })

  it('that is not answered in time has an unknown outcome', async () => {
    server().mode = 'hang'
    const charged = gateway({ timeoutMs: 300 }).charge(requestOf({ key: 'tg_hang' }))
    await expect(charged).rejects.toMatchObject({ name: 'GatewayUnansweredError' })
  })

  it('that is refused was not made, and the error quotes no secret', async () => {
    server().mode = 'unauthorized'
    const error: Error = await gateway()
      .charge(requestOf())
      .then(
        () => new Error('not refused'),
        (refused: Error) => refused,
      )
    expect(error).toMatchObject({ name: 'GatewayRefusedError' })
    expect(`${error.message} ${error.stack}`).not.toContain('SECRET')
  })

  it.each([
    ['1.005', 'eur'],
    ['0', 'eur'],
    ['10.5', 'jpy'],
    ['1.001', 'kwd'],
  ])('of %s %s is refused before it leaves', async (amount, currency) => {
    const charged = gateway({ currency }).charge(requestOf({ amount }))
    await expect(charged).rejects.toMatchObject({ name: 'GatewayRefusedError', code: 'amount' })
    expect(server().requests).toEqual([])
  })

  it.each([
    ['500', 'jpy', '500'],
    ['1.25', 'kwd', '1250'],
  ])('of %s %s is sent as %s', async (amount, currency, minor) => {
    await gateway({ currency }).charge(requestOf({ amount, key: `tg_${currency}` }))
    expect(server().requests[0]?.form.get('amount')).toBe(minor)
  })
})

describe('the outcome', () => {
  const query = (key: string, reference = '') =>
    gateway().query({ key, reference, card: CARD, sentMs: NOW, nowMs: NOW + 60_000 })

  it('of a charge without an answer is found by its key', async () => {
    server().mode = 'cut'
    await expect(gateway().charge(requestOf({ key: 'tg_lost' }))).rejects.toThrow()
    expect(await query('tg_lost')).toMatchObject({ stage: 'completed' })
    expect(await query('tg_never')).toBe('absent')
  })

  it('of a known PaymentIntent is read by its id', async () => {
    server().mode = 'processing'
    const { reference } = await gateway().charge(requestOf({ key: 'tg_slow' }))
    const intent = server().intents.get(reference)
    if (intent !== undefined) intent.status = 'succeeded'
    expect(await query('tg_slow', reference)).toMatchObject({ stage: 'completed', reference })
  })

  it('of a refund', async () => {
    const refunded = gateway().refund({ key: 'r1', reference: 'pi_1', amount: '5', nowMs: NOW })
    expect(await refunded).toMatchObject({ stage: 'completed', reference: 're_1' })
    expect(server().requests[0]).toMatchObject({ path: '/v1/refunds', key: 'r1' })
  })
})

describe('tokenization', () => {
  const request = {
    reference: 'ref-1',
    aid: 17,
    returnUrl: 'https://node.example.org/paymentgateways/OkPage?name=stripe&reference=ref-1',
    baseUrl: 'https://node.example.org',
    language: 'en',
    nowMs: NOW,
    expiresMs: NOW + 4 * 3_600_000,
  }
  const finish = (session: string, reference = 'ref-1', parameters = new Map<string, string>()) =>
    gateway().finishTokenization({ reference, session, parameters, nowMs: NOW })

  it('is a Checkout session in mode setup for a new customer, open for 4 hours', async () => {
    const page = await gateway().startTokenization(request)
    expect(page.url).toMatch(/^https:\/\/checkout\.stripe\.com\//)
    const { form } = server().requests.at(-1) as Sent
    expect(Object.fromEntries(form)).toMatchObject({
      mode: 'setup',
      customer: 'cus_1',
      client_reference_id: 'ref-1',
      success_url: request.returnUrl,
      expires_at: String((NOW + 4 * 3_600_000) / 1000),
    })
  })

  it('takes the card from Stripe, not from the return', async () => {
    const { session } = await gateway().startTokenization(request)
    expect(await finish(session)).toEqual({
      stage: 'completed',
      card: {
        cardToken: 'pm_SECRET',
        customerId: 'cus_1',
        expiresMs: Date.UTC(2028, 11, 31, 23, 59, 59),
        fourDigits: '4242',
        personalId: '',
        authNumber: '',
      },
    })
  })

  it('refuses the session of another tokenization', async () => {
    const { session } = await gateway().startTokenization(request)
    await expect(finish(session, 'ref-2')).rejects.toMatchObject({ name: 'ForgedReturnError' })
  })

  it.each([
    ['open', {}, { stage: 'open' }],
    ['open', { result: 'cancelled' }, { stage: 'rejected', code: 'cancelled' }],
    ['expired', {}, { stage: 'rejected', code: 'expired' }],
  ] as const)('of a session that is %s with %o', async (state, parameters, expected) => {
    const { session } = await gateway().startTokenization(request)
    server().session = state
    const given = new Map(Object.entries(parameters))
    expect(await finish(session, 'ref-1', given)).toEqual(expected)
  })
})

describe('a notification', () => {
  const body = JSON.stringify({
    id: 'evt_1',
    object: 'event',
    type: 'payment_intent.succeeded',
    data: { object: { id: 'pi_9', metadata: { tollgateCharge: 'tg_9' } } },
  })
  const signed = (text: string, secret = SETTINGS.webhookSecret, atMs = NOW) => ({
    'stripe-signature': new Sdk('sk_test_x').webhooks.generateTestHeaderString({
      payload: text,
      secret,
      timestamp: Math.floor(atMs / 1000),
    }),
  })
  const read = (headers: Record<string, string>, text = body) =>
    gateway().readNotification(headers, Buffer.from(text), NOW)

  it('with a valid signature names the charge', async () => {
    expect(await read(signed(body))).toEqual({ key: 'tg_9', reference: 'pi_9' })
  })

  it('about something else is ignored', async () => {
    const other = body.replace('payment_intent.succeeded', 'customer.created')
    expect(await read(signed(other), other)).toBeNull()
  })

  function twoTimes(atMs: number) {
    const { 'stripe-signature': one } = signed(body, SETTINGS.webhookSecret, atMs)
    return { 'stripe-signature': `t=${NOW / 1000},${one}` }
  }

  it.each([
    ['of another key', signed(body, 'whsec_other'), body],
    ['of another body', signed(body), body.replace('tg_9', 'tg_8')],
    ['of long ago', signed(body, SETTINGS.webhookSecret, NOW - 3_600_000), body],
    ['of the future', signed(body, SETTINGS.webhookSecret, NOW + 3_600_000), body],
    ['of the future with another time before it', twoTimes(NOW + 3_600_000), body],
    ['without a signature', {}, body],
  ])('%s is refused', async (_case, headers, text) => {
    const notified = read(headers as Record<string, string>, text)
    await expect(notified).rejects.toMatchObject({ name: 'ForgedReturnError' })
  })
})
