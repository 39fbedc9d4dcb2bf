/** `POST /api/charges`: the price of a rate, plan or service with its taxes; nothing is written. */

import { type TObject, Type } from '@sinclair/typebox'
import { CreditProcessError, CreditRefusal } from '../../billing/credit/credit-request.ts'
import { offerPrice, type PricedOffer } from '../../billing/credit/offer-price.ts'
import { integerFrom, isNothing } from '../../billing/payments/payment-order.ts'
import * as schema from '../../catalog/entities/json-schema.ts'
import { missing } from '../../domain/field-errors.ts'
import { isObject } from '../../domain/fields.ts'
import type { TaxData } from '../../domain/tax.ts'
import { ActionError, missingParameters, parameterError } from '../../requests/errors.ts'
import { action, castOptions } from './action.ts'
import { refusedCredit, refuseLong } from './credit-parameters.ts'
import { castParameters, param } from './parameters.ts'

/** Members of `data`, in the order in which errors are reported. */
const DATA = Type.Object({
  rate: param.optional(param.text('Key of a rate: one unit of its first usage type.')),
  plan: param.optional(param.text('Name of a plan: its first cycle.')),
  service: param.optional(param.text('Name of a service: its first cycle.')),
  aprice: param.optional(param.amount('Price before tax; that of the offer if absent.')),
  subscriber: param.optional(
    param.json(
      'Number of the subscriber whose price of the rate applies, or an object with `sid`.',
    ),
  ),
  account: param.optional(param.json('Number of the account, or an object with `aid`.')),
  include_tax_data: param.optional(param.flag('Whether the answer has `tax_data`.')),
})

const EXAMPLE = { rate: 'LATE_FEE', aprice: 10, include_tax_data: true }

export const charges = action({
  name: 'charges',
  level: 'admin',
  about: 'Calculate the price of a rate, plan or service with its taxes',
  isReadByGet: true,
  parameters: Type.Object({
    operation: param.optional(param.text('`calculate`.')),
    data: param.optional(dataParameter(DATA)),
  }),
  answer: {
    details: schema.closed(
      'The price.',
      {
        price: schema.number('Before tax.'),
        tax: schema.number('Sum of the tax rates, such as 0.17.'),
        tax_amount: schema.number('Sum of the taxes.'),
        final_price: schema.number('With taxes, rounded by the rules of the offer.'),
        tax_data: schema.ref<TaxData>('taxData', 'As `tax_data` of a line.'),
      },
      ['tax_data'],
    ),
  },
  example: {
    parameters: { operation: 'calculate', data: EXAMPLE },
    answer: {
      details: {
        price: 10,
        tax: 0.17,
        tax_amount: 1.7,
        final_price: 11.7,
        tax_data: {
          total_amount: 1.7,
          total_tax: 0.17,
          taxes: [
            {
              tax: 0.17,
              amount: 1.7,
              description: 'Vat',
              key: 'DEFAULT_VAT',
              type: 'vat',
              pass_to_customer: 1,
            },
          ],
        },
      },
    },
  },
  async run({ operation, data }, call) {
    if (operation !== 'calculate')
      throw new ActionError('Unrecognized operation', { path: 'operation' })
    if (data === undefined) throw missingParameters(['data'])
    const cast = castParameters(DATA, new Map(Object.entries(data)), castOptions({}, call))
    try {
      const offer = offerOf(cast)
      const { aprice, final_charge, tax_data } = await offerPrice(call, offer)
      const { total_tax: tax, total_amount } = tax_data
      const sums = { price: aprice, tax, tax_amount: total_amount, final_price: final_charge }
      return { details: { ...sums, ...(cast.include_tax_data === true && { tax_data }) } }
    } catch (error) {
      const isRefusal = error instanceof CreditRefusal || error instanceof CreditProcessError
      throw isRefusal ? refusedCredit(error, 'data') : error
    }
  },
})

function dataParameter(declared: TObject) {
  const members = JSON.parse(JSON.stringify(declared.properties)) as Record<string, schema.Schema>
  return Type.Unsafe<Readonly<Record<string, unknown>>>(
    schema.object('What to calculate: one of `rate`, `plan` and `service`.', members),
  )
}

type Data = ReturnType<typeof castParameters<typeof DATA>>

function offerOf({ aprice, subscriber, account, ...data }: Data): PricedOffer {
  const kinds = (['rate', 'plan', 'service'] as const).filter((kind) => !isNothing(data[kind]))
  const [kind, other] = kinds
  if (kind === undefined) {
    const paths = ['data.rate', 'data.plan', 'data.service']
    const text = 'Following field/s are missing: one of: (rate, plan, service)'
    throw new ActionError(text, missing(paths, text))
  }
  if (other !== undefined) throw new ActionError(`data has both ${kind} and ${other}`, 'refused')
  if (aprice !== undefined) refuseLong('aprice', aprice)
  return {
    kind,
    name: data[kind] ?? '',
    aprice: aprice ?? null,
    sid: numberIn(subscriber, 'subscriber', 'sid'),
    aid: numberIn(account, 'account', 'aid'),
  }
}

/** 0 if it is absent. */
function numberIn(parameter: unknown, name: string, member: string): number {
  const value = isObject(parameter) ? parameter[member] : parameter
  if (isNothing(parameter)) return 0
  const number = integerFrom(value)
  if (number !== null && number > 0) return number
  throw parameterError(name, 'should be of type Integer')
}
