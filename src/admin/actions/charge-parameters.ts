/** Parameters of `charge`: which accounts and bills, and how. */

import { type Static, Type } from '@sinclair/typebox'
import type { Decimal } from 'decimal.js'
import type { PayMode } from '../../billing/charges/account-run.ts'
import type { BillSelection, ChargeMode } from '../../billing/charges/books.ts'
import { isInvoiceKey } from '../../billing/cycle/cycle-key.ts'
import { isNothing, userFieldsOf } from '../../billing/payments/payment-order.ts'
import { Exact } from '../../catalog/records/money/exact-amount.ts'
import { isObject } from '../../domain/fields.ts'
import { ActionError, fieldRule, missingParameters, parameterError } from '../../requests/errors.ts'
import { truncatedName } from '../../requests/problems.ts'
import type { RawParameters } from '../../requests/raw-parameters.ts'
import { type ActionCall, REASON } from './action.ts'
import { paymentRules } from './books.ts'
import { plainParameters } from './envelope.ts'
import { param } from './parameters.ts'

const OPERATIONS = ['run', 'complete', 'reject'] as const
const IDS_MAX = 10_000
const PAGE_SIZE = 100
const PAGE_SIZE_MAX = 10_000
const PAGE_MAX = 1_000_000

export const CHARGE_PARAMETERS = Type.Object({
  operation: param.optional(
    param.choice(
      OPERATIONS,
      '`run` (default) charges accounts; the others decide the charge `id`, whose outcome is open.',
    ),
  ),
  id: param.optional(param.text('Id of the charge to decide.')),
  aids: param.optional(param.json('Accounts: a list, or numbers separated by commas.')),
  exclude_accounts: param.optional(param.json('Accounts that are not charged; likewise.')),
  invoices: param.optional(param.json('Numbers of the only invoices to charge; likewise.')),
  exclude_invoices: param.optional(param.json('Invoices that are not charged; likewise.')),
  billrun_key: param.optional(param.text('Key of the only billing cycle to charge.')),
  min_invoice_date: param.optional(param.text('Date of the oldest invoice to charge.')),
  pay_mode: param.optional(param.text('`one_payment` (default), or `multiple_payments`.')),
  mode: param.optional(
    param.text(
      '`charge` (default); `refund`: credits are paid back; `pending`: open outcomes are asked ' +
        'for now.',
    ),
  ),
  charge_mode: param.optional(param.text('The same as `mode`, which takes precedence.')),
  amount: param.optional(
    param.amount('Of one account: exactly this, or for a refund at most the credit.'),
  ),
  payment_data: param.optional(
    param.object(
      'Of one account: `name` (instance of a gateway), `card_token` and `customer_id` of the ' +
        'card to charge instead of the stored one; for a refund `name` only.',
    ),
  ),
  uf: param.optional(param.object('Configured fields of the payments.')),
  page: param.optional(
    param.integer('Only this page of the accounts by number, from 0.', {
      minimum: 0,
      maximum: PAGE_MAX,
    }),
  ),
  size: param.optional(
    param.integer('Accounts per page; 100 by default.', { minimum: 1, maximum: PAGE_SIZE_MAX }),
  ),
})

export type ChargeParameters = Static<typeof CHARGE_PARAMETERS>

const NAMES: ReadonlySet<string> = new Set(
  Object.keys({ ...CHARGE_PARAMETERS.properties, ...REASON }),
)

/** An unknown filter, as a mistyped one, would charge everybody. */
export function refuseUnknownNames(raw: RawParameters): void {
  const unknown = Object.keys(plainParameters(raw)).filter((name) => !NAMES.has(name))
  if (unknown.length === 0) return
  const issues = unknown.map((name) => {
    return { path: truncatedName(name), reason: 'is not known', code: 'unknown' } as const
  })
  throw new ActionError(
    `One or more of the parameters of the 'charge' command is not valid`,
    issues,
  )
}

/** A charge or a refund, of the accounts and bills that were selected. */
export interface ChargeOrder {
  readonly selection: BillSelection
  readonly aids: readonly number[] | undefined
  readonly exclude: readonly number[] | undefined
  readonly payMode: PayMode
  readonly mode: ChargeMode | 'pending'
  /** Null for all accounts at once. */
  readonly page: { readonly number: number; readonly size: number } | null
  readonly amount: Exact | undefined
  readonly paymentData: PaymentData | undefined
  readonly uf: Readonly<Record<string, unknown>>
}

export interface PaymentData {
  /** Instance of a gateway. */
  readonly name: string
  readonly cardToken: string
  readonly customerId: string
}

/** Throws `ActionError` for the first parameter that is refused. */
export async function chargeOrderOf(
  parameters: ChargeParameters,
  call: ActionCall,
): Promise<ChargeOrder> {
  const selection = selectionOf(parameters)
  const modes = modesOf(parameters)
  const aids = numbersOf(parameters.aids, 'aids')
  const exclude = numbersOf(parameters.exclude_accounts, 'exclude_accounts')
  if (aids !== undefined && exclude !== undefined) {
    throw new ActionError(
      'Wrong input! please choose between aids filter to exclude_accounts filter',
      { path: 'exclude_accounts' },
    )
  }
  const isForOne = aids?.length === 1
  for (const name of ['amount', 'payment_data'] as const) {
    if (parameters[name] === undefined) continue
    if (!isForOne) throw parameterError(name, 'requires exactly one account in aids')
  }
  const { userFields } = await paymentRules(call)
  return {
    selection,
    ...modes,
    aids,
    exclude,
    page: pageOf(parameters),
    amount: amountIn(parameters.amount),
    paymentData: paymentDataOf(parameters.payment_data, modes.mode),
    uf: userFieldsOf(parameters.uf, userFields),
  }
}

function pageOf({ page, size }: ChargeParameters): ChargeOrder['page'] {
  if (page === undefined && size === undefined) return null
  return { number: page ?? 0, size: size ?? PAGE_SIZE }
}

function selectionOf(parameters: ChargeParameters): BillSelection {
  const { billrun_key: key, min_invoice_date: date } = parameters
  if (key !== undefined && !isInvoiceKey(key)) {
    throw new ActionError('Wrong input! billrun key is invalid', { path: 'billrun_key' })
  }
  const dateMs = date === undefined ? undefined : Date.parse(date)
  if (Number.isNaN(dateMs)) {
    throw new ActionError('Wrong input! min_invoice_date filter is invalid', {
      path: 'min_invoice_date',
    })
  }
  return {
    invoices: numbersOf(parameters.invoices, 'invoices'),
    excludeInvoices: numbersOf(parameters.exclude_invoices, 'exclude_invoices'),
    billrunKey: key,
    minInvoiceDateMs: dateMs,
  }
}

function modesOf(parameters: ChargeParameters) {
  const {
    pay_mode: payMode = 'one_payment',
    charge_mode: other = 'charge',
    mode = other,
  } = parameters
  if (payMode !== 'one_payment' && payMode !== 'multiple_payments') {
    throw new ActionError('Wrong input! pay_mode can be multiple_payments or one_payment', {
      path: 'pay_mode',
    })
  }
  if (mode !== 'charge' && mode !== 'refund' && mode !== 'pending') {
    throw new ActionError('Wrong input! mode can be charge or refund', { path: 'mode' })
  }
  return { payMode, mode } as const
}

const AMOUNT_DIGITS = 2
const AMOUNT_MAX = 1e12

function amountIn(amount: Decimal | undefined): Exact | undefined {
  if (amount === undefined) return undefined
  if (amount.decimalPlaces() <= AMOUNT_DIGITS && amount.gt(0) && amount.lt(AMOUNT_MAX)) {
    return new Exact(amount)
  }
  throw parameterError('amount', 'must be above 0, below 10^12, with at most 2 decimals')
}

const TOKEN_LENGTH_MAX = 1_000

function paymentDataOf(
  value: ChargeParameters['payment_data'],
  mode: ChargeOrder['mode'],
): PaymentData | undefined {
  if (!isObject(value)) return undefined
  const { name: type, instance_name: name = type, card_token: token, customer_id: id } = value
  const isRefund = mode !== 'charge'
  const text = (value: unknown, member: string, isNeeded: boolean): string => {
    if (isNothing(value) && !isNeeded) return ''
    if (isNothing(value)) {
      throw missingParameters([`payment_data.${member}`])
    }
    if (typeof value === 'string' && value.length <= TOKEN_LENGTH_MAX) return value
    throw parameterError(`payment_data.${member}`, 'should be of type String')
  }
  return {
    name: text(name, 'name', true),
    cardToken: text(token, 'card_token', !isRefund),
    customerId: text(id, 'customer_id', false),
  }
}

/** Undefined if absent. */
function numbersOf(value: unknown, name: string): readonly number[] | undefined {
  if (value === undefined || value === '') return undefined
  const list: readonly unknown[] = Array.isArray(value) ? value : String(value).split(',')
  if (list.length > IDS_MAX) throw fieldRule(name, `has more than ${IDS_MAX} members`)
  const numbers = list.map((each) => {
    return /^\s*\d{1,15}\s*$/.test(String(each)) ? Number(each) : Number.NaN
  })
  if (numbers.length === 0 || numbers.some((each) => !(each > 0))) {
    throw new ActionError(`Wrong input! non numeric values in ${name} filter`, { path: name })
  }
  return [...new Set(numbers)]
}
