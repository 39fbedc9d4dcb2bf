/** Pages of customers: the hosted page of the sandbox, and the return of hosted pages. */
import type { FastifyReply } from 'fastify'
import {
  finishTokenization,
  TokenizeError,
  type TokenizeResult,
} from '../../billing/cards/tokenize.ts'
import { text } from '../../catalog/entities/json-schema.ts'
import {
  ForgedReturnError,
  GatewayRefusedError,
  GatewayUnansweredError,
} from '../../external/payment/gateway.ts'
import { cardPage, messagePage } from '../../external/payment/sandbox/page.ts'
import type { SandboxGateway } from '../../external/payment/sandbox/sandbox.ts'
import type { RawParameters } from '../../requests/raw-parameters.ts'
import { policyOriginOf } from '../headers.ts'
import { bodyParameters, queryParameters } from '../http/body.ts'
import { BODY, get, post } from '../http/endpoint.ts'
import type { Payments } from '../payments.ts'

const REFERENCE = text('The part of the address that nobody can guess.')
const SANDBOX = '/paymentgateways/sandbox/:reference'

const page = (description: string) => ({
  description,
  schema: text('An HTML page.'),
  type: 'text/html',
  example: '<!doctype html>',
})

const UNKNOWN = page('There is no such page.')
const CLOSED = page('The page has expired, or was used.')

const show = get(SANDBOX, {
  access: 'public',
  about: 'Show the hosted page of the sandbox',
  request: { parameters: { reference: REFERENCE }, example: { reference: 'kJ3vX0pQ' } },
  answer: { ...page('The form.'), others: { '404': UNKNOWN, '410': CLOSED } },
  async run(payments: Payments, request, reply) {
    const { reference } = request.params as Referenced
    const found = await findPage(payments, reference)
    if (found === null) return sendUnknown(reply)
    const { page: shown, tokenization } = found
    if (shown.state !== 'open') return sendClosed(reply, shown.state)
    const html = cardPage({ reference, aid: shown.aid, problem: '' })
    return sendPage(reply, 200, html, originsOf(tokenization))
  },
})

const submit = post(SANDBOX, {
  access: 'public',
  about: 'Enter a card on the hosted page of the sandbox',
  request: {
    parameters: {
      reference: REFERENCE,
      number: text('Number of a test card.'),
      expiry: text('Month and year: `MM/YY`.'),
      personal_id: text('Number of the holder.'),
      choice: text('`save`, or `cancel` to leave the page.'),
    },
    example: { reference: 'kJ3vX0pQ', number: '4242424242424242', expiry: '12/28' },
  },
  answer: {
    ...page('Not used: an entry leads to another page.'),
    refused: ['ruleError'],
    others: {
      ...BODY,
      '303': { redirect: 'To the return of the page.' },
      '404': UNKNOWN,
      '410': CLOSED,
      '422': page('The entry is refused: the form again, with the reason.'),
    },
  },
  async run(payments: Payments, request, reply) {
    const { reference } = request.params as Referenced
    const found = await findPage(payments, reference)
    if (found === null) return sendUnknown(reply)
    const { gateway, page: shown, tokenization } = found
    if (shown.state !== 'open') return sendClosed(reply, shown.state)
    const form = textsIn(bodyParameters(request))
    const done = await gateway.submit(reference, form, payments.tokens.clock.nowMs())
    if ('url' in done) return reply.redirect(done.url, 303)
    const html = cardPage({ reference, aid: shown.aid, problem: done.problem })
    return sendPage(reply, 422, html, originsOf(tokenization))
  },
})

interface Referenced {
  readonly reference: string
}

async function findPage({ gateways, tokens }: Payments, reference: string) {
  const { clock, catalog } = tokens
  const found = await catalog.tokenizations.findOne({ _id: reference })
  if (found === null || found.gateway.split('#')[0] !== 'sandbox') return null
  const gateway = (await gateways.get(found.gateway)) as SandboxGateway | null
  const page = gateway === null ? null : await gateway.page(reference, clock.nowMs())
  return gateway === null || page === null ? null : { gateway, page, tokenization: found }
}

/** Charged for a return or a notification at most: gateways send them from few addresses. */
export const RETURN_MS = 10

const back = get('/paymentgateways/OkPage', {
  access: 'public',
  writesByGet: true,
  about: 'Return of a hosted page; the gateway verifies its result',
  config: { loopMsMax: RETURN_MS },
  request: {
    parameters: {
      name: text('Instance of the gateway.'),
      reference: REFERENCE,
      result: text('What the page tells; verified by the gateway.'),
      sig: text('Signature of the sandbox.'),
    },
    example: { name: 'sandbox', reference: 'kJ3vX0pQ', result: 'saved', sig: '5f0c7e1a' },
  },
  answer: {
    ...page('The result, if the caller has given no page.'),
    refused: ['ruleError'],
    others: {
      '303': { redirect: 'To the page of the caller, with `status` and `code`.' },
      '403': page('The result is forged.'),
      '404': UNKNOWN,
      '409': page('The customer has not finished.'),
      '410': page('The page has expired.'),
      '503': page('The gateway cannot be reached.'),
    },
  },
  async run({ tokens }: Payments, request, reply) {
    const parameters = textsIn(queryParameters(request.url))
    try {
      return sendResult(reply, await finishTokenization(tokens, parameters))
    } catch (error) {
      if (error instanceof ForgedReturnError) {
        return sendNotice(reply, 403, 'Refused', 'The result of the page cannot be trusted.')
      }
      if (isUnavailable(error)) {
        const notice = 'The payment gateway cannot be reached. Load this page again later.'
        return sendNotice(reply, 503, 'Not available', notice)
      }
      throw error
    }
  },
})

export const PAGE_ENDPOINTS = [show, submit, back]

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
      return sendUnknown(reply)
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
  const notice =
    state === 'expired'
      ? 'Too much time passed: the page was valid for 4 hours. Ask for a new one.'
      : 'This page was used already.'
  return sendNotice(reply, 410, state === 'expired' ? 'Page expired' : 'Page used', notice)
}

function sendUnknown(reply: FastifyReply): FastifyReply {
  return sendNotice(reply, 404, 'Unknown page', 'There is no such page.')
}

function sendNotice(
  reply: FastifyReply,
  code: number,
  title: string,
  notice: string,
): FastifyReply {
  return sendPage(reply, code, messagePage(title, notice), '')
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
