/**
 * Stripe through its official SDK: Checkout in mode `setup` stores a card, and a PaymentIntent
 * `off_session` charges it (https://docs.stripe.com/payments/save-and-reuse).
 */
import { type Static, Type } from '@sinclair/typebox'
import type Stripe from 'stripe'
import { exactDecimal, toScale } from '../../../domain/money.ts'
import { withinLimit } from '../deadline.ts'
import { endOfMonthMs } from '../expiry.ts'
import {
  type ChargeQuery,
  ForgedReturnError,
  type GatewayCharge,
  type GatewayNotification,
  type GatewayOutcome,
  GatewayRefusedError,
  GatewayUnansweredError,
  type PaymentGateway,
  type RefundRequest,
  type TokenizationRequest,
  type TokenOutcome,
  type TokenReturn,
} from '../gateway.ts'
import { secret, timeoutSeconds } from '../params.ts'
import { outcomeOfError, outcomeOfIntent, outcomeOfRefund, translated } from './outcomes.ts'

export interface StripeSettings {
  readonly apiKey: string
  /** Empty to refuse notifications. */
  readonly webhookSecret: string
  /** ISO 4217, three small letters. */
  readonly currency: string
  readonly timeoutMs: number
}

/** Metadata of a PaymentIntent that holds the idempotency key of the charge. */
const KEY = 'tollgateCharge'
const PAGE_SIZE = 100
/** Clocks of two systems differ. */
const SKEW_SECONDS = 300

type Client = Stripe

interface Connection {
  readonly settings: StripeSettings
  /** Runs a call within the time limit, with its errors translated. */
  run<T>(call: (client: Client) => Promise<T>): Promise<T>
}

const StripeParams = Type.Object(
  {
    api_key: secret,
    webhook_secret: Type.Optional(secret),
    currency: Type.String({ pattern: '^[a-z]{3}$', description: 'three small letters, as eur' }),
    timeout_seconds: timeoutSeconds,
  },
  {
    additionalProperties: false,
    description: 'an object of api_key, webhook_secret, currency, timeout_seconds',
  },
)

/** Keys that move real money; those of the test mode begin with `sk_test_`. */
const LIVE_KEY = /^(?:sk|rk)_live_/

export const STRIPE = {
  about: 'Stripe: Checkout for cards, PaymentIntents for charges.',
  schema: StripeParams,
  secrets: ['api_key', 'webhook_secret'],
  generated: [],
  isLive: ({ api_key: key }: Readonly<Record<string, unknown>>) => LIVE_KEY.test(String(key)),
  create(name: string, params: Static<typeof StripeParams>): PaymentGateway {
    const { api_key: apiKey, webhook_secret: webhookSecret = '', currency } = params
    const timeoutMs = params.timeout_seconds * 1000
    return createStripe(name, { apiKey, webhookSecret, currency, timeoutMs })
  },
}

export function createStripe(name: string, settings: StripeSettings): PaymentGateway {
  // The SDK has many modules: they are loaded when the gateway is used.
  let loading: Promise<Client> | undefined
  const open = () => {
    loading ??= openClient(settings)
    return loading
  }
  const connection: Connection = {
    settings,
    run: async (call) => {
      const client = await open()
      return translated(() => withinLimit(settings.timeoutMs, () => call(client)))
    },
  }
  return {
    name,
    startTokenization: (request) => start(connection, request),
    finishTokenization: (returned) => finish(connection, returned),
    charge: (request) => charge(connection, request),
    query: (query) =>
      query.refundOf === undefined
        ? ask(connection, query)
        : askForRefund(connection, query, query.refundOf),
    refund: (request) => refund(connection, request),
    readNotification: async (headers, body, nowMs) =>
      notificationIn(await open(), settings, { headers, body, nowMs }),
  }
}

async function openClient({ apiKey, timeoutMs }: StripeSettings): Promise<Client> {
  const { default: Sdk } = await import('stripe')
  return new Sdk(apiKey, {
    maxNetworkRetries: 0,
    httpClient: withoutRepetition(Sdk.createNodeHttpClient()),
    telemetry: false,
    timeout: timeoutMs,
  })
}

/**
 * The SDK repeats a request whose connection was closed even without retries; it recognizes these
 * errors by their code.
 */
function withoutRepetition(client: Stripe.HttpClient): Stripe.HttpClient {
  const makeRequest: Stripe.HttpClient['makeRequest'] = async (...request) => {
    try {
      return await client.makeRequest(...request)
    } catch (error) {
      throw new GatewayUnansweredError('the connection to Stripe has failed', { cause: error })
    }
  }
  return { getClientName: () => client.getClientName(), makeRequest }
}

async function start({ settings, run }: Connection, request: TokenizationRequest) {
  const { reference, aid, returnUrl, expiresMs } = request
  const customer = await run((client) =>
    client.customers.create({ metadata: { aid } }, { idempotencyKey: `customer-${reference}` }),
  )
  const cancelUrl = new URL(returnUrl)
  cancelUrl.searchParams.set('result', 'cancelled')
  const session = await run((client) =>
    client.checkout.sessions.create(
      {
        mode: 'setup',
        customer: customer.id,
        currency: settings.currency,
        allowed_payment_method_types: ['card'],
        client_reference_id: reference,
        success_url: returnUrl,
        cancel_url: cancelUrl.href,
        expires_at: Math.floor(expiresMs / 1000),
      },
      { idempotencyKey: `session-${reference}` },
    ),
  )
  return { url: session.url ?? '', session: session.id }
}

/** The result is read from Stripe; nothing that the browser brings is trusted. */
async function finish(
  { run }: Connection,
  { reference, session: id, parameters }: TokenReturn,
): Promise<TokenOutcome> {
  const session = await run((client) =>
    client.checkout.sessions.retrieve(id, { expand: ['setup_intent.payment_method'] }),
  )
  if (session.client_reference_id !== reference) {
    throw new ForgedReturnError('the session belongs to another tokenization')
  }
  if (session.status === 'expired') return { stage: 'rejected', code: 'expired' }
  const intent = session.setup_intent
  if (session.status !== 'complete' || typeof intent !== 'object' || intent === null) {
    const isCancelled = parameters.get('result') === 'cancelled'
    return isCancelled ? { stage: 'rejected', code: 'cancelled' } : { stage: 'open' }
  }
  const { payment_method: method, status } = intent
  if (status !== 'succeeded' || typeof method !== 'object' || method === null) {
    return { stage: 'rejected', code: status }
  }
  const { card, id: cardToken } = method
  const expiresMs = card === undefined ? null : endOfMonthMs(card.exp_year, card.exp_month)
  const { customer } = session
  const customerId = typeof customer === 'string' ? customer : (customer?.id ?? '')
  const fourDigits = card?.last4 ?? ''
  const saved = { cardToken, customerId, expiresMs, fourDigits, personalId: '', authNumber: '' }
  return { stage: 'completed', card: saved }
}

async function charge(
  { settings, run }: Connection,
  { key, aid, amount, card }: GatewayCharge,
): Promise<GatewayOutcome> {
  const { currency } = settings
  const minor = minorUnits(amount, currency)
  try {
    const intent = await run((client) =>
      client.paymentIntents.create(
        {
          amount: minor,
          currency,
          customer: card.customerId,
          payment_method: card.cardToken,
          allowed_payment_method_types: ['card'],
          off_session: true,
          confirm: true,
          // Nobody is there to authenticate: such a charge fails instead of waiting.
          error_on_requires_action: true,
          metadata: { [KEY]: key, aid },
        },
        { idempotencyKey: key },
      ),
    )
    return outcomeOfIntent(intent)
  } catch (error) {
    const outcome = outcomeOfError(error)
    if (outcome === null) throw error
    return outcome
  }
}

/** Lists of PaymentIntents are consistent immediately; the search is not. */
async function ask({ run }: Connection, query: ChargeQuery): Promise<GatewayOutcome | 'absent'> {
  const { key, reference, card, sentMs } = query
  if (reference !== '') {
    return outcomeOfIntent(await run((client) => client.paymentIntents.retrieve(reference)))
  }
  const created = { gte: Math.floor(sentMs / 1000) - SKEW_SECONDS }
  let after: string | undefined
  for (;;) {
    const page = await run((client) =>
      client.paymentIntents.list({
        customer: card.customerId,
        created,
        limit: PAGE_SIZE,
        ...(after !== undefined && { starting_after: after }),
      }),
    )
    const found = page.data.find(({ metadata }) => metadata[KEY] === key)
    if (found !== undefined) return outcomeOfIntent(found)
    after = page.data.at(-1)?.id
    if (!page.has_more || after === undefined) return 'absent'
  }
}

async function askForRefund(
  { run }: Connection,
  { key, reference }: ChargeQuery,
  intent: string,
): Promise<GatewayOutcome | 'absent'> {
  if (reference !== '') {
    return outcomeOfRefund(await run((client) => client.refunds.retrieve(reference)))
  }
  let after: string | undefined
  for (;;) {
    const page = await run((client) =>
      client.refunds.list({
        payment_intent: intent,
        limit: PAGE_SIZE,
        ...(after !== undefined && { starting_after: after }),
      }),
    )
    const found = page.data.find(({ metadata }) => metadata?.[KEY] === key)
    if (found !== undefined) return outcomeOfRefund(found)
    after = page.data.at(-1)?.id
    if (!page.has_more || after === undefined) return 'absent'
  }
}

async function refund(
  { settings, run }: Connection,
  { key, reference, amount }: RefundRequest,
): Promise<GatewayOutcome> {
  const minor = minorUnits(amount, settings.currency)
  const made = await run((client) =>
    client.refunds.create(
      { payment_intent: reference, amount: minor, metadata: { [KEY]: key } },
      { idempotencyKey: key },
    ),
  )
  return outcomeOfRefund(made)
}

interface Notification {
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: Buffer
  readonly nowMs: number
}

const TOLERANCE_SECONDS = 300

function notificationIn(
  client: Client,
  { webhookSecret }: StripeSettings,
  { headers, body, nowMs }: Notification,
): GatewayNotification | null {
  const signature = headers['stripe-signature']
  if (webhookSecret === '' || typeof signature !== 'string') {
    throw new ForgedReturnError('the notification is not signed, or no secret is set')
  }
  let event: Stripe.Event
  try {
    event = client.webhooks.constructEvent(
      body,
      signature,
      webhookSecret,
      TOLERANCE_SECONDS,
      undefined,
      nowMs,
    )
  } catch {
    throw new ForgedReturnError('the signature of the notification does not match')
  }
  // The library accepts any time of the future, and the last of several times.
  const times = signature.split(',').filter((part) => part.split('=')[0] === 't')
  const signedAt = times.length === 1 ? Number(times[0]?.slice('t='.length)) : Number.NaN
  if (!(signedAt * 1000 - nowMs <= TOLERANCE_SECONDS * 1000)) {
    throw new ForgedReturnError('the notification is from the future')
  }
  if (!event.type.startsWith('payment_intent.')) return null
  const { id, metadata } = event.data.object as Stripe.PaymentIntent
  return { key: metadata[KEY] ?? '', reference: id }
}

const WITHOUT_DECIMALS: ReadonlySet<string> = new Set(
  'bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf'.split(' '),
)
const WITH_THREE: ReadonlySet<string> = new Set(['bhd', 'jod', 'kwd', 'omr', 'tnd'])

/**
 * In the smallest unit of the currency (https://docs.stripe.com/currencies). Throws
 * `GatewayRefusedError` for an amount that it cannot express.
 */
function minorUnits(amount: string, currency: string): number {
  const digits = WITHOUT_DECIMALS.has(currency) ? 0 : WITH_THREE.has(currency) ? 3 : 2
  const decimal = exactDecimal(amount)
  const units = decimal === null ? null : toScale(decimal, digits)
  // Stripe takes no third decimal that is not 0.
  if (units !== null && units > 0 && (digits < 3 || units % 10 === 0)) return units
  throw new GatewayRefusedError('amount', `${currency} cannot express the amount ${amount}`)
}
