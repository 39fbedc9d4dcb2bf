/** Requests and answers of payment gateways: their list, pages of customers, notifications. */
import {
  customFields,
  flag,
  listOf,
  mapOf,
  object,
  ref,
  text,
} from '../../catalog/entities/json-schema.ts'
import type { NodeAnswer } from './node-answers.ts'

const REFERENCE = text('The part of the address that nobody can guess.')
const SIGNED =
  'JSON object of `aid`, `name`, `return_url`, `ok_page`, `fail_page`, `lang` and `iframe`, ' +
  'which may be signed by `_t_` and `_sig_` in it; or these as parameters.'

/** Parameters by method and path; those of the path too. */
export const PAYMENT_REQUESTS = {
  'GET /paymentgateways/getRequest': {
    parameters: { data: text(SIGNED) },
    example: { data: '{"aid":17,"name":"sandbox","iframe":1}' },
  },
  'GET /paymentgateways/sandbox/:reference': {
    parameters: { reference: REFERENCE },
    example: { reference: 'kJ3vX0pQ' },
  },
  'POST /paymentgateways/sandbox/:reference': {
    parameters: {
      reference: REFERENCE,
      number: text('Number of a test card.'),
      expiry: text('Month and year: `MM/YY`.'),
      personal_id: text('Number of the holder.'),
      choice: text('`save`, or `cancel` to leave the page.'),
    },
    example: { reference: 'kJ3vX0pQ', number: '4242424242424242', expiry: '12/28' },
  },
  'GET /paymentgateways/OkPage': {
    parameters: {
      name: text('Instance of the gateway.'),
      reference: REFERENCE,
      result: text('What the page tells; verified by the gateway.'),
      sig: text('Signature of the sandbox.'),
    },
    example: { name: 'sandbox', reference: 'kJ3vX0pQ', result: 'saved', sig: '5f0c7e1a' },
  },
  'POST /paymentgateways/notify/:name': {
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
} as const

const PAGE: Pick<NodeAnswer, 'schema' | 'type' | 'example'> = {
  schema: text('An HTML page.'),
  type: 'text/html',
  example: '<!doctype html>',
}

const page = (description: string) => ({ description, ...PAGE })
const redirect = (description: string) => ({ redirect: description })

const DONE = object(
  'Done.',
  { status: { type: 'integer', const: 1, description: '1: success.' } },
  ['status'],
)

const refused = (description: string, code: number, message: string) => ({
  description,
  schema: ref('requestError'),
  example: { status: 0, code, data: { message } },
})

const ADMITTED = { '400': 'unreadable', '401': 'badToken', '403': 'forbidden' } as const

export const PAYMENT_ANSWERS: Readonly<Record<string, NodeAnswer>> = {
  'GET /paymentgateways/list': {
    description: 'The payment gateways.',
    schema: object(
      'The payment gateways.',
      {
        status: { type: 'integer', const: 1, description: '1: success.' },
        desc: text('`success`.'),
        details: listOf(
          object('A payment gateway.', {
            name: text('Name of the gateway.'),
            about: text('What it is.'),
            supported: flag('Always true.'),
            enabled: flag('Whether an instance is configured and enabled.'),
            instances: listOf(text('Name of an instance.'), 'The enabled instances.'),
            params: mapOf(
              {
                type: ['string', 'number', 'boolean'],
                description: 'The default; empty without one.',
              },
              'Its parameters, by name.',
            ),
          }),
          'Gateways.',
        ),
      },
      ['status', 'desc', 'details'],
    ),
    example: {
      status: 1,
      desc: 'success',
      details: [
        {
          name: 'stripe',
          about: 'Stripe: Checkout for cards, PaymentIntents for charges.',
          supported: true,
          enabled: true,
          instances: ['stripe'],
          params: { api_key: '', webhook_secret: '', currency: '', timeout_seconds: 20 },
        },
      ],
    },
    others: {
      '400': 'unreadable',
      '401': 'unauthenticated',
      '403': 'notAllowed',
      '503': 'unavailable',
    },
  },
  'GET /paymentgateways/getRequest': {
    description: 'With `iframe`: the address of the page.',
    schema: object(
      'The page.',
      {
        status: { type: 'integer', const: 1, description: '1: success.' },
        desc: text('`success`.'),
        details: object('The page.', { url: text('Its address; valid for 4 hours.') }, ['url']),
      },
      ['status', 'desc', 'details'],
    ),
    example: {
      status: 1,
      desc: 'success',
      details: { url: 'https://billing.example.org/paymentgateways/sandbox/kJ3vX0pQ' },
    },
    refused: ['actionError', 'permissionError', 'loginError'],
    others: {
      ...ADMITTED,
      '405': 'badMethod',
      '503': 'unavailable',
      '302': redirect('Without `iframe`: to the hosted page.'),
    },
  },
  'GET /paymentgateways/sandbox/:reference': {
    description: 'The form.',
    ...PAGE,
    others: {
      '404': page('There is no such page.'),
      '410': page('The page has expired, or was used.'),
    },
  },
  'POST /paymentgateways/sandbox/:reference': {
    description: 'Not used: an entry leads to another page.',
    ...PAGE,
    others: {
      '303': redirect('To the return of the page.'),
      '404': page('There is no such page.'),
      '410': page('The page has expired, or was used.'),
      '422': page('The entry is refused: the form again, with the reason.'),
    },
  },
  'GET /paymentgateways/OkPage': {
    description: 'The result, if the caller has given no page.',
    ...PAGE,
    others: {
      '303': redirect('To the page of the caller, with `status` and `code`.'),
      '403': page('The result is forged.'),
      '404': page('There is no such page.'),
      '409': page('The customer has not finished.'),
      '410': page('The page has expired.'),
      '503': page('The gateway cannot be reached.'),
    },
  },
  'POST /paymentgateways/notify/:name': {
    description: 'The notification is accepted.',
    schema: DONE,
    example: { status: 1 },
    others: {
      '503': 'unavailable',
      '403': refused(
        'The signature does not match.',
        403,
        'the signature of the notification does not match',
      ),
      '404': refused('There is no such instance.', 404, 'there is no such payment gateway'),
    },
  },
}
