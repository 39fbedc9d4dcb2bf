/** `/paymentgateways/getRequest`: sends a customer to a hosted page. */
import { Type } from '@sinclair/typebox'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { signatureParameter } from '../../catalog/signature/signed-text.ts'
import { isObject } from '../../domain/fields.ts'
import type { RouteAccess } from '../../identity/access.ts'
import { actorOf, type Caller } from '../../identity/caller.ts'
import { ActionError } from '../../requests/errors.ts'
import { parseJson } from '../../requests/json-text.ts'
import type { OrderedParameters } from '../../requests/raw-parameters.ts'
import type { Logger } from '../../runtime/log.ts'
import { CARD_PAGE_PARAMETERS, openCardPage } from '../actions/cards.ts'
import { actionErrorHandler } from '../actions/errors.ts'
import { castParameters, param } from '../actions/parameters.ts'
import { readParameters, registerBodies } from '../http/body.ts'
import type { Payments } from '../payments.ts'
import { PAYMENT_ENDPOINTS } from '../permissions/endpoints.ts'

/**
 * Authorises a caller to open hosted pages, or throws. `ordered`: parameters that may be signed.
 */
export type AdmitCardPage = (
  request: FastifyRequest,
  ordered: OrderedParameters,
  usual: RouteAccess,
) => Promise<Caller>

const BYTES_MAX = 16 * 1024
const PARAMETERS = Type.Object({
  ...CARD_PAGE_PARAMETERS.properties,
  iframe: param.optional(param.flag('Answers with the address instead of a redirect.')),
  action: param.optional(param.text('Must be absent: payments on the page are not supported.')),
})

/**
 * The parameters are the members of the JSON object `data`, which may be signed by `_t_` and
 * `_sig_` in it, or those of the request.
 */
export function addGetRequest(
  server: FastifyInstance,
  payments: Payments,
  admit: AdmitCardPage,
  log: Pick<Logger, 'error'>,
): void {
  server.register(async (routes) => {
    registerBodies(routes, BYTES_MAX)
    routes.setErrorHandler(actionErrorHandler(log))
    routes.route({
      method: ['GET', 'POST'],
      url: PAYMENT_ENDPOINTS.request.path,
      config: { access: 'asked' },
      async handler(request, reply) {
        const { values, ordered } = await readParameters(request, reply)
        const data = dataOf(values.get('data'))
        const isSigned = data !== null && signatureParameter(data) !== null
        const signed = isSigned ? data : ordered
        const actor = actorOf(await admit(request, signed, PAYMENT_ENDPOINTS.request.access))
        reply.header('cache-control', 'no-store')
        const { catalog, clock } = payments.tokens
        const nowMs = clock.nowMs()
        const time = { timeZone: 'UTC', nowMs }
        const { iframe, action, ...page } = castParameters(PARAMETERS, data ?? values, time)
        if (action !== undefined && action !== '') {
          throw new ActionError(`action ${action} is not supported: a page stores a card`)
        }
        const baseUrl = `${request.protocol}://${request.host}`
        const url = await openCardPage(page, { catalog, nowMs, payments, baseUrl, actor })
        if (iframe === true) return { status: 1, desc: 'success', details: { url } }
        return reply.redirect(url, 302)
      },
    })
  })
}

/** The members of `data` in the order in which they were sent; null if it is absent. */
function dataOf(sent: unknown): Map<string, unknown> | null {
  if (sent === undefined || sent === '') return null
  const value = typeof sent === 'string' ? parseJson(sent, 'data') : sent
  if (!isObject(value)) throw new ActionError('Field data should be of type Object')
  return new Map(Object.entries(value))
}
