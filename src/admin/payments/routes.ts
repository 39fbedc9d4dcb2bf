/** Routes below `/paymentgateways`. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import {
  finishTokenization,
  TokenizeError,
  type TokenizeResult,
} from '../../billing/cards/tokenize.ts'
import {
  ForgedReturnError,
  GatewayRefusedError,
  GatewayUnansweredError,
} from '../../external/payment/gateway.ts'
import { GATEWAYS } from '../../external/payment/gateways.ts'
import { cardPage, messagePage } from '../../external/payment/sandbox/page.ts'
import type { SandboxGateway } from '../../external/payment/sandbox/sandbox.ts'
import { RequestError } from '../../requests/errors.ts'
import type { RawParameters } from '../../requests/raw-parameters.ts'
import { realTimeOf } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/log.ts'
import { policyOriginOf } from '../headers.ts'
import { errorHandler } from '../http/answer.ts'
import { bodyParameters, queryParameters, registerBodies } from '../http/body.ts'
import type { Payments } from '../payments.ts'
import { PAYMENT_ENDPOINTS } from '../permissions/endpoints.ts'
import { type AdmitCardPage, addGetRequest } from './get-request.ts'

const FORM_BYTES_MAX = 16 * 1024
const NOTIFICATION_BYTES_MAX = 256 * 1024

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
    addList(routes, payments)
    addSandboxPage(routes, payments)
    addReturn(routes, payments)
  })
  server.register(async (routes) => {
    routes.removeAllContentTypeParsers()
    routes.addContentTypeParser(
      '*',
      { parseAs: 'buffer', bodyLimit: NOTIFICATION_BYTES_MAX },
      async (_request: FastifyRequest, body: Buffer) => body,
    )
    routes.setErrorHandler(errorHandler(log))
    addNotifications(routes, payments)
  })
}

function addList(routes: FastifyInstance, { gateways }: Payments): void {
  routes.route({
    method: ['GET', 'POST'],
    url: '/paymentgateways/list',
    config: { access: PAYMENT_ENDPOINTS.list.access, readsByGet: true },
    async handler() {
      const enabled = await gateways.list()
      const details = [...GATEWAYS].map(([name, { about, schema }]) => {
        const instances = enabled.filter((each) => each.name === name)
        const names = instances.map(({ instanceName }) => instanceName)
        const isEnabled = names.length > 0
        const fields = Object.entries(schema.properties)
        // Empty for a secret or a value without default.
        const standard = fields.map(([field, { default: value = '' }]) => [field, value])
        const params = Object.fromEntries(standard)
        return { name, about, supported: true, enabled: isEnabled, instances: names, params }
      })
      return { status: 1, desc: 'success', details }
    },
  })
}

/** Charged for a return or a notification at most: gateways send them from few addresses. */
const RETURN_MS = 10

interface Referenced {
  Params: { reference: string }
}

function addSandboxPage(routes: FastifyInstance, { gateways, tokens }: Payments): void {
  const url = '/paymentgateways/sandbox/:reference'
  const find = async (reference: string) => {
    const { clock, catalog } = tokens
    const found = await catalog.tokenizations.findOne({ _id: reference })
    if (found === null || found.gateway.split('#')[0] !== 'sandbox') return null
    const gateway = (await gateways.get(found.gateway)) as SandboxGateway | null
    const page = gateway === null ? null : await gateway.page(reference, clock.nowMs())
    return gateway === null || page === null ? null : { gateway, page, tokenization: found }
  }
  routes.get<Referenced>(url, { config: { access: 'public' } }, async (request, reply) => {
    const { reference } = request.params
    const found = await find(reference)
    if (found === null) return sendNotice(reply, 404, 'Unknown page', 'There is no such page.')
    const { page, tokenization } = found
    if (page.state !== 'open') return sendClosed(reply, page.state)
    const { aid } = page
    const html = cardPage({ reference, aid, problem: '' })
    return sendPage(reply, 200, html, originsOf(tokenization))
  })
  routes.post<Referenced>(url, { config: { access: 'public' } }, async (request, reply) => {
    const { reference } = request.params
    const found = await find(reference)
    if (found === null) return sendNotice(reply, 404, 'Unknown page', 'There is no such page.')
    const { gateway, page, tokenization } = found
    if (page.state !== 'open') return sendClosed(reply, page.state)
    const form = textsIn(bodyParameters(request))
    const done = await gateway.submit(reference, form, tokens.clock.nowMs())
    if ('url' in done) return reply.redirect(done.url, 303)
    const html = cardPage({ reference, aid: page.aid, problem: done.problem })
    return sendPage(reply, 422, html, originsOf(tokenization))
  })
}

function addReturn(routes: FastifyInstance, { tokens }: Payments): void {
  const config = { access: 'public', loopMsMax: RETURN_MS } as const
  routes.get('/paymentgateways/OkPage', { config }, async (request, reply) => {
    const parameters = textsIn(queryParameters(request.url))
    try {
      return sendResult(reply, await finishTokenization(tokens, parameters))
    } catch (error) {
      if (error instanceof ForgedReturnError) {
        return sendNotice(reply, 403, 'Refused', 'The result of the page cannot be trusted.')
      }
      if (isUnavailable(error)) {
        const text = 'The payment gateway cannot be reached. Load this page again later.'
        return sendNotice(reply, 503, 'Not available', text)
      }
      throw error
    }
  })
}

function isUnavailable(error: unknown): boolean {
  return (
    error instanceof TokenizeError ||
    error instanceof GatewayUnansweredError ||
    error instanceof GatewayRefusedError
  )
}

function sendResult(reply: FastifyReply, result: TokenizeResult): FastifyReply {
  switch (result.kind) {
    case 'unknown page':
      return sendNotice(reply, 404, 'Unknown page', 'There is no such page.')
    case 'expired':
      return sendClosed(reply, 'expired')
    case 'open':
      return sendNotice(reply, 409, 'Not finished', 'No card was entered yet.')
    case 'completed':
    case 'rejected':
      break
  }
  const { kind, code, tokenization, fourDigits } = result
  const { okPage, failPage, returnUrl } = tokenization
  const target = (kind === 'completed' ? okPage : failPage) || returnUrl
  if (target !== '') {
    const url = new URL(target)
    url.searchParams.set('status', kind === 'completed' ? '1' : '0')
    if (code !== '') url.searchParams.set('code', code)
    return reply.redirect(url.href, 303)
  }
  if (kind === 'rejected') return sendNotice(reply, 200, 'Not saved', 'The card was not saved.')
  const which = fourDigits === '' ? '' : ` ending in ${fourDigits}`
  return sendNotice(reply, 200, 'Saved', `The card${which} was saved.`)
}

function addNotifications(routes: FastifyInstance, { gateways, charges }: Payments): void {
  const url = '/paymentgateways/notify/:name'
  const config = { access: 'public', loopMsMax: RETURN_MS } as const
  routes.post<{ Params: { name: string } }>(url, { config }, async (request) => {
    const gateway = await gateways.get(request.params.name)
    if (gateway === null) throw new RequestError(404, 'there is no such payment gateway')
    const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
    const { clock } = charges
    try {
      const realMs = realTimeOf(clock).nowMs()
      const notification = await gateway.readNotification(request.headers, body, realMs)
      if (notification !== null) await makeDue(charges, notification.key, clock.nowMs())
    } catch (error) {
      if (!(error instanceof ForgedReturnError)) throw error
      throw new RequestError(403, 'the signature of the notification does not match')
    }
    return { status: 1 }
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

function textsIn(parameters: RawParameters): Map<string, string> {
  const texts = [...parameters].filter((pair): pair is [string, string] => {
    return typeof pair[1] === 'string'
  })
  return new Map(texts)
}

/** The origins to which a form of the page may lead. */
function originsOf(tokenization: { okPage: string; failPage: string; returnUrl: string }): string {
  const { okPage, failPage, returnUrl } = tokenization
  const origins = [okPage, failPage, returnUrl].map(policyOriginOf)
  return [...new Set(origins.filter((origin) => origin !== null))].join(' ')
}

function sendClosed(reply: FastifyReply, state: 'expired' | 'used'): FastifyReply {
  const text =
    state === 'expired'
      ? 'Too much time passed: the page was valid for 4 hours. Ask for a new one.'
      : 'This page was used already.'
  return sendNotice(reply, 410, state === 'expired' ? 'Page expired' : 'Page used', text)
}

function sendNotice(reply: FastifyReply, code: number, title: string, text: string): FastifyReply {
  return sendPage(reply, code, messagePage(title, text), '')
}

/** A browser checks `form-action` for redirects after a form, too. */
function sendPage(reply: FastifyReply, code: number, html: string, origins: string): FastifyReply {
  const policy = [
    "default-src 'none'",
    "style-src 'unsafe-inline'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    `form-action 'self' ${origins}`.trim(),
  ]
  return (
    reply
      .code(code)
      .header('content-security-policy', policy.join('; '))
      // Without a referrer the browser would send the form with the origin `null`.
      .header('referrer-policy', 'same-origin')
      .type('text/html; charset=utf-8')
      .send(html)
  )
}
