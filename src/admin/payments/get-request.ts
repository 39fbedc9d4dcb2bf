/** `/paymentgateways/getRequest`: sends a customer to a hosted page. */
import { Type } from '@sinclair/typebox'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { closed, text } from '../../catalog/entities/json-schema.ts'
import { signatureParameter } from '../../catalog/signature/signed-text.ts'
import { isObject } from '../../domain/fields.ts'
import type { RouteAccess } from '../../identity/access.ts'
import { actorOf, type Caller } from '../../identity/caller.ts'
import { fieldRule, parameterError } from '../../requests/errors.ts'
import { parseJson } from '../../requests/json-text.ts'
import type { OrderedParameters } from '../../requests/raw-parameters.ts'
import type { Logger } from '../../runtime/log.ts'
import { CARD_PAGE_PARAMETERS, openCardPage } from '../actions/cards.ts'
import { actionErrorHandler } from '../actions/errors.ts'
import { castParameters, param } from '../actions/parameters.ts'
import { succeeded, success } from '../http/answer-schema.ts'
import { readParameters, registerBodies } from '../http/body.ts'
import { addEndpoints, CODED, get } from '../http/endpoint.ts'
import type { Payments } from '../payments.ts'

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

/** The parts that the endpoint uses. */
interface CardPageParts {
  readonly payments: Payments
  readonly admit: AdmitCardPage
}

const ACCESS = ['write'] as const

/**
 * The parameters are the members of the JSON object `data`, which may be signed by `_t_` and
 * `_sig_` in it, or those of the request.
 */
export const GET_REQUEST = get('/paymentgateways/getRequest', {
  isAlsoPosted: true,
  writesByGet: true,
  access: ACCESS,
  isAsked: true,
  about: 'Send a customer to a hosted page, as `/api/cards`',
  request: {
    parameters: {
      data: text(
        'JSON object of `aid`, `name`, `return_url`, `ok_page`, `fail_page`, `lang` and ' +
          '`iframe`, which may be signed by `_t_` and `_sig_` in it; or these as parameters.',
      ),
    },
    example: { data: '{"aid":17,"name":"sandbox","iframe":1}' },
  },
  answer: {
    description: 'With `iframe`: the address of the page.',
    schema: success(
      'cardPage',
      'The page.',
      closed('The page.', { url: text('Its address; valid for 4 hours.') }),
    ),
    example: succeeded({ url: 'https://billing.example.org/paymentgateways/sandbox/kJ3vX0pQ' }),
    refused: ['actionError', 'permissionError', 'loginError'],
    others: {
      '302': { redirect: 'Without `iframe`: to the hosted page.' },
      ...CODED,
      '405': 'badMethod',
    },
  },
  async run({ payments, admit }: CardPageParts, request, reply) {
    const { values, ordered } = await readParameters(request, reply)
    const data = dataOf(values.get('data'))
    const isSigned = data !== null && signatureParameter(data) !== null
    const actor = actorOf(await admit(request, isSigned ? data : ordered, ACCESS))
    reply.header('cache-control', 'no-store')
    const { catalog, clock } = payments.tokens
    const nowMs = clock.nowMs()
    const time = { timeZone: 'UTC', nowMs }
    const { iframe, action, ...page } = castParameters(PARAMETERS, data ?? values, time)
    if (action !== undefined && action !== '') {
      throw fieldRule('action', `${action} is not supported: a page stores a card`)
    }
    const baseUrl = `${request.protocol}://${request.host}`
    const url = await openCardPage(page, { catalog, nowMs, payments, baseUrl, actor })
    if (iframe === true) return succeeded({ url })
    return reply.redirect(url, 302)
  },
})

export function addGetRequest(
  server: FastifyInstance,
  payments: Payments,
  admit: AdmitCardPage,
  log: Pick<Logger, 'error'>,
): void {
  server.register(async (routes) => {
    registerBodies(routes, BYTES_MAX)
    routes.setErrorHandler(actionErrorHandler(log))
    addEndpoints(routes, [GET_REQUEST], { payments, admit })
  })
}

/** The members of `data` in the order in which they were sent; null if it is absent. */
function dataOf(sent: unknown): Map<string, unknown> | null {
  if (sent === undefined || sent === '') return null
  const value = typeof sent === 'string' ? parseJson(sent, 'data') : sent
  if (!isObject(value)) throw parameterError('data', 'should be of type Object')
  return new Map(Object.entries(value))
}
