/** Routes below `/paymentgateways`: the list of gateways, and their notifications. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import {
  closed,
  customFields,
  flag,
  listOf,
  mapOf,
  text,
  typed,
} from '../../catalog/entities/json-schema.ts'
import { ForgedReturnError } from '../../external/payment/gateway.ts'
import { GATEWAYS } from '../../external/payment/gateways.ts'
import { RequestError } from '../../requests/errors.ts'
import { realTimeOf } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/log.ts'
import { errorHandler } from '../http/answer.ts'
import { DONE, succeeded, success } from '../http/answer-schema.ts'
import { registerBodies } from '../http/body.ts'
import { ADMITTED, addEndpoints, get, post, refusal } from '../http/endpoint.ts'
import type { Payments } from '../payments.ts'
import { type AdmitCardPage, addGetRequest, GET_REQUEST } from './get-request.ts'
import { PAGE_ENDPOINTS, RETURN_MS } from './pages.ts'

const FORM_BYTES_MAX = 16 * 1024
const NOTIFICATION_BYTES_MAX = 256 * 1024

const GATEWAY = closed('A payment gateway.', {
  name: text('Name of the gateway.'),
  about: text('What it is.'),
  supported: flag('Always true.'),
  enabled: flag('Whether an instance is configured and enabled.'),
  instances: listOf(text('Name of an instance.'), 'The enabled instances.'),
  params: mapOf(
    typed<string | number | boolean>({
      type: ['string', 'number', 'boolean'],
      description: 'The default; empty without one.',
    }),
    'Its parameters, by name.',
  ),
})

const list = get('/paymentgateways/list', {
  isAlsoPosted: true,
  access: ['read'],
  about: 'List the payment gateways',
  answer: {
    description: 'The payment gateways.',
    schema: success('paymentGateways', 'The payment gateways.', listOf(GATEWAY, 'Gateways.')),
    example: succeeded([
      {
        name: 'stripe',
        about: 'Stripe: Checkout for cards, PaymentIntents for charges.',
        supported: true,
        enabled: true,
        instances: ['stripe'],
        params: { api_key: '', webhook_secret: '', currency: '', timeout_seconds: 20 },
      },
    ]),
    others: { ...ADMITTED, '503': 'unavailable' },
  },
  async run({ gateways }: Payments) {
    const enabled = await gateways.list()
    const details = [...GATEWAYS].map(([name, { about, schema }]) => {
      const instances = enabled.filter((each) => each.name === name)
      const names = instances.map(({ instanceName }) => instanceName)
      const isEnabled = names.length > 0
      const fields = Object.entries(schema.properties)
      // Empty for a secret or a value without default.
      const standard = fields.map(([field, { default: value = '' }]) => [field, value])
      const params = Object.fromEntries(standard)
      const shown = { name: String(name), about, instances: names, params }
      return { ...shown, supported: true, enabled: isEnabled }
    })
    return succeeded(details)
  },
})

const FORGED = 'the signature of the notification does not match'
const NO_GATEWAY = 'there is no such payment gateway'

const notify = post('/paymentgateways/notify/:name', {
  access: 'public',
  about: 'Notification of a payment gateway, verified by its signature',
  config: { loopMsMax: RETURN_MS },
  request: {
    parameters: {
      name: text('Instance of the gateway.'),
      type: text('Kind of the event; others than `payment_intent.*` are ignored.'),
      data: customFields('The event, as the gateway defines it.'),
    },
    example: {
      name: 'stripe',
      type: 'payment_intent.succeeded',
      data: { object: { id: 'pi_1', metadata: { tollgateCharge: 'tg_5f0c7e1a' } } },
    },
  },
  answer: {
    description: 'The notification is accepted.',
    schema: closed('Done.', { status: DONE }),
    example: { status: 1 },
    others: {
      '403': refusal('The signature does not match.', 403, FORGED),
      '404': refusal('There is no such instance.', 404, NO_GATEWAY),
      '503': 'unavailable',
    },
  },
  async run({ gateways, charges }: Payments, request) {
    const { name } = request.params as { name: string }
    const gateway = await gateways.get(name)
    if (gateway === null) throw new RequestError(404, NO_GATEWAY)
    const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
    const { clock } = charges
    try {
      const realMs = realTimeOf(clock).nowMs()
      const notification = await gateway.readNotification(request.headers, body, realMs)
      if (notification !== null) await makeDue(charges, notification.key, clock.nowMs())
    } catch (error) {
      if (!(error instanceof ForgedReturnError)) throw error
      throw new RequestError(403, FORGED)
    }
    return { status: 1 }
  },
})

export const PAYMENT_ENDPOINTS = [list, GET_REQUEST, ...PAGE_ENDPOINTS, notify]

export function addPaymentRoutes(
  server: FastifyInstance,
  payments: Payments,
  admit: AdmitCardPage,
  log: Pick<Logger, 'error'>,
): void {
  addGetRequest(server, payments, admit, log)
  server.register(async (routes) => {
    registerBodies(routes, FORM_BYTES_MAX)
    routes.setErrorHandler(errorHandler(log))
    addEndpoints(routes, [list, ...PAGE_ENDPOINTS], payments)
  })
  server.register(async (routes) => {
    routes.removeAllContentTypeParsers()
    routes.addContentTypeParser(
      '*',
      { parseAs: 'buffer', bodyLimit: NOTIFICATION_BYTES_MAX },
      async (_request: FastifyRequest, body: Buffer) => body,
    )
    routes.setErrorHandler(errorHandler(log))
    addEndpoints(routes, [notify], payments)
  })
}

/** The outcome is asked for at the next pass. */
async function makeDue(
  { catalog }: Payments['charges'],
  key: string,
  nowMs: number,
): Promise<void> {
  const now = new Date(nowMs)
  await catalog.gatewaycharges.updateOne(
    // A repeated notification has no effect on a charge that is being asked for.
    { _id: key, state: { $in: ['unknown', 'pending'] }, due: { $not: { $lte: now } } },
    { $set: { due: now }, $inc: { rev: 1 } },
  )
}
