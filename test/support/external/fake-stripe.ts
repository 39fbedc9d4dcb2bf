/** A local server with the documented shapes of Stripe's API, as far as the product uses it. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import Sdk from 'stripe'

export interface FakeIntent {
  id: string
  status: string
  amount: number
  metadata: Record<string, string>
  customer: string
  created: number
  [name: string]: unknown
}

export interface FakeRefund {
  id: string
  status: string
  amount: number
  payment_intent: string | null
  metadata: Record<string, string>
  [name: string]: unknown
}

export interface FakeStripe {
  readonly address: string
  /** Charged PaymentIntents by id: every key makes one. */
  readonly intents: Map<string, FakeIntent>
  readonly requests: { method: string; path: string; form: URLSearchParams; key: string }[]
  /** How the next charges are answered. */
  mode:
    | 'succeeded'
    | 'processing'
    | 'requires_action'
    | 'declined'
    | 'stolen'
    | 'cut'
    | 'hang'
    | 'failure'
    | 'unauthorized'
    | 'key in use'
  /** Refunds by id, and the state of the next ones. */
  readonly refunds: Map<string, FakeRefund>
  refundStatus: 'succeeded' | 'pending' | 'failed'
  /** State of checkout sessions. */
  session: 'open' | 'complete' | 'expired'
  close(): Promise<void>
}

/** The gateway calls this server until it is closed. */
export async function startFakeStripe(): Promise<FakeStripe> {
  const memory: Memory = { keys: new Map(), sessions: new Map() }
  const server = createServer((request, response) => {
    void readBody(request).then((body) => {
      const url = new URL(request.url ?? '', 'http://stripe')
      const form = request.method === 'GET' ? url.searchParams : new URLSearchParams(body)
      const key = String(request.headers['idempotency-key'] ?? '')
      const method = request.method ?? ''
      stripe.requests.push({ method, path: url.pathname, form, key })
      reply(response, answerOf(stripe, memory, { path: `${method} ${url.pathname}`, form, key }))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const stripe: FakeStripe = {
    address: `http://127.0.0.1:${port}`,
    intents: new Map(),
    requests: [],
    refunds: new Map(),
    refundStatus: 'succeeded',
    mode: 'succeeded',
    session: 'complete',
    async close() {
      restore()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  const restore = sendStripeTo(stripe.address)
  return stripe
}

/** The SDK of this process sends its requests to another address until the result is called. */
export function sendStripeTo(address: string): () => void {
  const { hostname, port } = new URL(address)
  const own = Sdk.createNodeHttpClient
  Sdk.createNodeHttpClient = () => {
    const client = own()
    return {
      getClientName: () => client.getClientName(),
      makeRequest: (_host, _port, path, method, headers, data, _protocol, timeoutMs) =>
        client.makeRequest(hostname, port, path, method, headers, data, 'http', timeoutMs),
    }
  }
  return () => {
    Sdk.createNodeHttpClient = own
  }
}

/** PaymentIntents by idempotency key, and checkout sessions by id. */
interface Memory {
  readonly keys: Map<string, string>
  readonly sessions: Map<string, Record<string, unknown>>
}

function answerOf(
  stripe: FakeStripe,
  { sessions, keys }: Memory,
  { path, form, key }: { path: string; form: URLSearchParams; key: string },
): Answer {
  const id = path.split('/').at(-1) ?? ''
  if (path === 'POST /v1/customers') return ok({ id: 'cus_1', object: 'customer' })
  if (path === 'POST /v1/checkout/sessions') {
    const session = {
      id: `cs_test_${sessions.size + 1}`,
      object: 'checkout.session',
      url: 'https://checkout.stripe.com/c/pay/cs_test',
      client_reference_id: form.get('client_reference_id'),
      customer: form.get('customer'),
    }
    sessions.set(session.id, session)
    return ok({ ...session, status: 'open' })
  }
  if (path.startsWith('GET /v1/checkout/sessions/')) {
    const found = sessions.get(id)
    return ok({ ...found, status: stripe.session, setup_intent: setupIntent() })
  }
  if (path === 'POST /v1/payment_intents') return charge(stripe, keys, form, key)
  if (path === 'GET /v1/payment_intents') {
    const data = [...stripe.intents.values()].filter(
      ({ customer, created }) =>
        customer === form.get('customer') && created >= Number(form.get('created[gte]') ?? 0),
    )
    return ok({ object: 'list', data, has_more: false, url: '/v1' })
  }
  if (path.startsWith('GET /v1/payment_intents/')) {
    const found = stripe.intents.get(id)
    return found === undefined
      ? fail(404, { type: 'invalid_request_error', code: 'resource_missing' })
      : ok(found)
  }
  if (path === 'POST /v1/refunds') return refund(stripe, keys, form, key)
  if (path === 'GET /v1/refunds') {
    const intent = form.get('payment_intent')
    const data = [...stripe.refunds.values()].filter((each) => each.payment_intent === intent)
    return ok({ object: 'list', data, has_more: false, url: '/v1' })
  }
  if (path.startsWith('GET /v1/refunds/')) return ok(stripe.refunds.get(id) ?? {})
  return fail(404, { type: 'invalid_request_error', code: 'url_invalid' })
}

function charge(
  stripe: FakeStripe,
  keys: Memory['keys'],
  form: URLSearchParams,
  key: string,
): Answer {
  const { mode } = stripe
  if (mode === 'failure') return fail(500, { type: 'api_error' })
  if (mode === 'unauthorized') {
    const message = 'Invalid API Key provided: sk_test_SECRET'
    return fail(401, { type: 'invalid_request_error', message })
  }
  if (mode === 'key in use') {
    return fail(409, { type: 'idempotency_error', code: 'idempotency_key_in_use' })
  }
  const known = stripe.intents.get(keys.get(key) ?? '')
  const intent = known ?? intentOf(form, `pi_${stripe.intents.size + 1}`)
  if (mode === 'declined' || mode === 'stolen' || mode === 'requires_action') {
    const code = mode === 'requires_action' ? 'authentication_required' : 'card_declined'
    const declined = { declined: 'insufficient_funds', stolen: 'stolen_card' }
    const decline = mode === 'requires_action' ? undefined : declined[mode]
    intent.status = 'requires_payment_method'
    intent['last_payment_error'] = { code, decline_code: decline }
    stripe.intents.set(intent.id, intent)
    return fail(402, {
      type: 'card_error',
      code,
      decline_code: decline,
      payment_intent: intent,
    })
  }
  intent.status = mode === 'processing' ? 'processing' : 'succeeded'
  stripe.intents.set(intent.id, intent)
  keys.set(key, intent.id)
  if (mode === 'cut') return 'cut'
  if (mode === 'hang') return 'hang'
  return ok(intent)
}

function refund(
  stripe: FakeStripe,
  keys: Memory['keys'],
  form: URLSearchParams,
  key: string,
): Answer {
  const known = stripe.refunds.get(keys.get(key) ?? '')
  const made: FakeRefund = known ?? {
    id: `re_${stripe.refunds.size + 1}`,
    object: 'refund',
    status: stripe.refundStatus,
    amount: Number(form.get('amount')),
    payment_intent: form.get('payment_intent'),
    metadata: metadataIn(form),
  }
  stripe.refunds.set(made.id, made)
  keys.set(key, made.id)
  return stripe.mode === 'cut' ? 'cut' : ok(made)
}

function metadataIn(form: URLSearchParams): Record<string, string> {
  const members = [...form]
    .filter(([name]) => name.startsWith('metadata['))
    .map(([name, value]) => [name.slice('metadata['.length, -1), value])
  return Object.fromEntries(members)
}

function intentOf(form: URLSearchParams, id: string): FakeIntent {
  return {
    id,
    object: 'payment_intent',
    status: 'succeeded',
    amount: Number(form.get('amount')),
    currency: form.get('currency'),
    customer: form.get('customer') ?? '',
    metadata: metadataIn(form),
    created: Math.floor(Date.UTC(2026, 5, 15, 12) / 1000),
    last_payment_error: null,
  }
}

function setupIntent() {
  const card = { last4: '4242', exp_month: 12, exp_year: 2028 }
  const payment_method = { id: 'pm_SECRET', object: 'payment_method', card }
  return { id: 'seti_1', object: 'setup_intent', status: 'succeeded', payment_method }
}

type Answer = { readonly status: number; readonly body: object } | 'cut' | 'hang'

const ok = (body: object): Answer => ({ status: 200, body })
const fail = (status: number, error: object): Answer => ({
  status,
  body: { error: { message: 'refused', ...error } },
})

function reply(response: ServerResponse, answer: Answer): void {
  if (answer === 'hang') return
  if (answer === 'cut') {
    response.destroy()
    return
  }
  response.writeHead(answer.status, { 'content-type': 'application/json', 'request-id': 'req_1' })
  response.end(JSON.stringify(answer.body))
}

async function readBody(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  return Buffer.concat(parts).toString('utf8')
}
