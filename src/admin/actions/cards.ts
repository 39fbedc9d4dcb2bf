/** `cards`: begins the tokenization of a payment card, or, with `method`, acts on prepaid cards. */
import { type Static, Type } from '@sinclair/typebox'
import { startTokenization, TokenizeError } from '../../billing/cards/tokenize.ts'
import { closed, either, text } from '../../catalog/entities/json-schema.ts'
import { NOT_DELETED } from '../../catalog/revisions/validity.ts'
import { PAYMENTS } from '../../catalog/settings/money/payment-settings.ts'
import { isWebAddress, WEB_ADDRESS_FORM } from '../../domain/fields.ts'
import { GatewayRefusedError, GatewayUnansweredError } from '../../external/payment/gateway.ts'
import { ActionError, fieldRule, missingParameters, RequestError } from '../../requests/errors.ts'
import { policyOriginOf } from '../headers.ts'
import { type ActionCall, action } from './action.ts'
import { param } from './parameters.ts'
import {
  CARD_DETAILS,
  CARD_PARAMETERS,
  CARD_SECRETS,
  CARDS_BODY,
  type CardParameters,
  METHODS,
  runCardMethod,
} from './prepaid-cards.ts'

export const CARD_PAGE_PARAMETERS = Type.Object({
  aid: param.optional(param.integer('Number of the account.', { minimum: 1 })),
  name: param.optional(
    param.text('Payment gateway; the one of the settings, or the first, if absent.'),
  ),
  return_url: param.optional(
    param.text('Page to which the customer returns, of `payments.return_origins`.'),
  ),
  ok_page: param.optional(param.text('Page to which the customer returns with a saved card.')),
  fail_page: param.optional(param.text('Page to which the customer returns without a card.')),
  lang: param.optional(param.text('Language of the page.')),
})

export const cards = action({
  name: 'cards',
  level: 'write',
  about: 'Begin the tokenization of a payment card, or act on prepaid cards (`method`)',
  parameters: Type.Object({
    method: param.optional(
      param.choice(METHODS, 'Acts on prepaid cards; absent to tokenize a payment card.'),
    ),
    ...CARD_PARAMETERS,
    ...CARD_PAGE_PARAMETERS.properties,
  }),
  body: CARDS_BODY,
  notEchoed: CARD_SECRETS,
  answer: {
    details: either(
      'The hosted page, or by `method`.',
      closed('The hosted page.', { url: text('Its address, valid for 4 hours.') }),
      ...CARD_DETAILS,
    ),
  },
  example: {
    parameters: { aid: 17, name: 'sandbox', return_url: 'https://shop.example.org/account' },
    answer: {
      details: { url: 'https://billing.example.org/paymentgateways/sandbox/kJ3vX0pQ' },
    },
  },
  async run({ method, cards, query, update, size, page, ...hosted }, call) {
    if (method !== undefined) {
      return runCardMethod(method, { cards, query, update, size, page } as CardParameters, call)
    }
    return { details: { url: await openCardPage(hosted, call) } }
  },
})

/** The parts of a call that a hosted page needs. */
export type CardPageCall = Pick<ActionCall, 'catalog' | 'nowMs' | 'payments' | 'baseUrl' | 'actor'>

/** Returns the address of a hosted page. Rejects with `ActionError`, or `RequestError` 503. */
export async function openCardPage(
  { aid, name, lang = 'en', ...pages }: Static<typeof CARD_PAGE_PARAMETERS>,
  call: CardPageCall,
): Promise<string> {
  if (aid === undefined) throw missingParameters(['aid'])
  await refuseUnknownAccount(call, aid)
  const { tokens, charges } = call.payments
  const { return_origins: returnOrigins } = await charges.settings.get(PAYMENTS)
  const request = {
    aid,
    gateway: await gatewayOf(call, name),
    returnUrl: addressOf(pages.return_url, 'return_url', returnOrigins),
    okPage: addressOf(pages.ok_page, 'ok_page', returnOrigins),
    failPage: addressOf(pages.fail_page, 'fail_page', returnOrigins),
    language: lang,
    baseUrl: call.baseUrl,
    actor: call.actor,
  }
  try {
    return await startTokenization(tokens, request)
  } catch (error) {
    throw translated(error)
  }
}

async function gatewayOf(call: CardPageCall, name: string | undefined): Promise<string> {
  const { gateways, charges } = call.payments
  const names = (await gateways.list()).map(({ instanceName }) => instanceName)
  const chosen = name ?? (await charges.settings.get(PAYMENTS)).gateway ?? names[0]
  if (chosen !== undefined && names.includes(chosen)) return chosen
  if (names.length === 0) throw new ActionError('No payment gateway is configured', 'refused')
  throw fieldRule('name', `must be one of ${names.join(', ')}`)
}

async function refuseUnknownAccount(
  { catalog, payments, nowMs }: CardPageCall,
  aid: number,
): Promise<void> {
  if ((await payments.charges.lookup.accounts([], nowMs)) !== null) {
    throw fieldRule('aid:', 'the customer system keeps accounts, and has to save their cards')
  }
  const at = new Date(nowMs)
  const held = { type: 'account', aid, from: { $lte: at }, to: { $gt: at }, ...NOT_DELETED }
  const found = await catalog.subscribers.findOne(held as object, { projection: { _id: 1 } })
  if (found === null) throw fieldRule('aid:', `there is no account ${aid}`)
}

/** An address of one of the origins, or an empty text. */
function addressOf(value: string | undefined, name: string, origins: readonly string[]): string {
  if (value === undefined || value === '') return ''
  const origin = policyOriginOf(value)
  if (origin === null || !isWebAddress(value)) {
    throw fieldRule(name, `must be ${WEB_ADDRESS_FORM}`)
  }
  if (origins.includes(origin)) return new URL(value).href
  const setting = 'payments.return_origins of the settings, as https://shop.example.net'
  throw fieldRule(`${name}:`, `its origin is not in ${setting}`)
}

function translated(error: unknown): unknown {
  if (error instanceof TokenizeError) return new ActionError(error.message, 'refused')
  if (error instanceof GatewayRefusedError) {
    return new ActionError(`the payment gateway has refused: ${error.code}`, 'refused')
  }
  if (error instanceof GatewayUnansweredError) {
    return new RequestError(503, 'the payment gateway does not answer')
  }
  return error
}
