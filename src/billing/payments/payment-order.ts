/** Checked members of `payments`: amounts, directions and links. */

import type { Exact } from '../../catalog/records/money/exact-amount.ts'
import { missing } from '../../domain/field-errors.ts'
import type { Fields } from '../../domain/fields.ts'
import { amountFrom, rounded } from '../amount.ts'
import type { MoneyFormat } from '../currency.ts'
import { BillingError, within } from '../errors.ts'
import { type LinkWish, linkWishes } from './link-wishes.ts'
import { type PaymentMethod, requireFields } from './methods.ts'

/** A payment as requested. */
export interface PaymentOrder {
  readonly aid: number
  readonly method: PaymentMethod
  readonly amount: Exact
  /** `fc`: from the customer; `tc`: to the customer. */
  readonly dir: 'fc' | 'tc'
  readonly isDeposit: boolean
  readonly links: readonly LinkWish[]
  readonly urt: Date | null
  /** Covers the oldest bills before unconfirmed payments do. */
  readonly switchLinks?: boolean
  /** Further fields of the bill. */
  readonly fields: Fields
}

/** How parameters are read. */
export interface PaymentRules {
  /** Names of permitted sources in addition to `POS` and `web`. */
  readonly sources: readonly string[]
  /** Names of permitted user fields (`uf`). */
  readonly userFields: readonly string[]
  /** Whether new money covers the oldest bills before unconfirmed payments do. */
  readonly switchLinks?: boolean
  /** Decimals of the currency's smallest unit. */
  readonly digits: number
  /** Amounts in errors. */
  readonly money: MoneyFormat
  /** Null if it is not a date. */
  dateOf(value: unknown): Date | null
}

const BASE = 'Billrun_Bill_Payment'
const SOURCES = ['POS', 'web']
const TEXT_LENGTH_MAX = 1_000
const TEXTS = [
  'note',
  'payer_name',
  'aaddress',
  'azip',
  'acity',
  'IBAN',
  'bank_name',
  'BIC',
  'RUM',
  'country',
  'deposit_slip',
  'deposit_slip_bank',
  'cheque_no',
  'billrun_key',
  'dd_stamp',
] as const

/** Throws `BillingError`. `forced`: what the action decides, whatever the item says. */
export function paymentOrder(
  item: unknown,
  method: PaymentMethod,
  rules: PaymentRules,
  forced: { readonly dir?: 'fc' | 'tc'; readonly isDeposit?: true } = {},
): PaymentOrder {
  const fields = fieldsOf(item)
  const isDeposit = forced.isDeposit ?? isTrue(fields['deposit'])
  const { aid, amount } = partiesOf(fields, isDeposit, rules.digits)
  const dir = directionOf(fields['dir'], forced.dir)
  if (isDeposit && dir === 'tc') {
    throw new BillingError('Deposit can only be received from customer', { path: 'dir' })
  }
  requireFields(method, forced.dir === undefined ? fields : { ...fields, dir })
  const source = fields['source'] ?? 'web'
  if (typeof source !== 'string' || ![...SOURCES, ...rules.sources].includes(source)) {
    throw new BillingError(
      `Undefined payment source: ${textOf(source)}, for account id: ${aid}, ` +
        `amount: ${rules.money(amount)}. This payment wasn't saved.`,
      { path: 'source' },
    )
  }
  const [links, others] =
    dir === 'fc' ? (['pays', 'paid_by'] as const) : (['paid_by', 'pays'] as const)
  if (!isNothing(fields[others])) {
    throw new BillingError(`A payment with dir ${dir} has ${links}, not ${others}`, {
      path: others,
    })
  }
  return {
    aid,
    method,
    amount,
    dir,
    isDeposit,
    links: within(links, () => linkWishes(fields[links], rules.digits)),
    urt: dateIn(fields, 'urt', rules),
    ...(rules.switchLinks === true && { switchLinks: true }),
    fields: { source, ...furtherFields(fields, rules) },
  }
}

function fieldsOf(item: unknown): Fields {
  if (typeof item === 'object' && item !== null && !Array.isArray(item)) return item as Fields
  throw new BillingError(`${BASE}: Insufficient options supplied.`, missing(['aid', 'amount']))
}

function partiesOf(
  fields: Fields,
  isDeposit: boolean,
  digits: number,
): { aid: number; amount: Exact } {
  const { aid: aidValue, amount: amountValue } = fields
  const absent = ['aid', 'amount'].filter((name) => isNothing(fields[name]))
  if (absent.length > 0) {
    throw new BillingError(`${BASE}: Insufficient options supplied.`, missing(absent))
  }
  const aid = integerFrom(aidValue)
  const sent = amountFrom(amountValue)
  const amount = sent === null ? null : rounded(sent, digits)
  const isPayable = amount?.greaterThan(0) || (isDeposit && amount?.isZero())
  if (aid === null || amount === null || !isPayable) throw wrongInput(aidValue, amountValue)
  return { aid, amount }
}

export function wrongInput(aid: unknown, amount: unknown): BillingError {
  return new BillingError(
    `${BASE}: Wrong input. Was: Customer: ${textOf(aid)}, amount: ${textOf(amount)}.`,
    { path: integerFrom(aid) === null ? 'aid' : 'amount' },
  )
}

function directionOf(value: unknown, forced: 'fc' | 'tc' | undefined): 'fc' | 'tc' {
  if (!isNothing(value) && value !== 'fc' && value !== 'tc') {
    throw new BillingError("direction could be either 'fc' or 'tc'", { path: 'dir' })
  }
  if (forced === undefined) return value === 'tc' ? 'tc' : 'fc'
  if (!isNothing(value) && value !== forced) {
    throw new BillingError(`direction must be '${forced}' for this action`, { path: 'dir' })
  }
  return forced
}

function furtherFields(given: Fields, rules: PaymentRules): Fields {
  const fields: Record<string, unknown> = {}
  for (const name of TEXTS) {
    const text = textIn(given, name)
    if (text !== null) fields[name] = text
  }
  const dueDate = dateIn(given, 'due_date', rules)
  if (dueDate !== null) fields['due_date'] = dueDate
  const notBefore = notBeforeOf(given, rules)
  if (notBefore !== null) fields['charge'] = { not_before: notBefore }
  const uf = userFieldsOf(given['uf'], rules.userFields)
  if (Object.keys(uf).length > 0) fields['uf'] = uf
  return fields
}

function notBeforeOf(fields: Fields, rules: PaymentRules): Date | null {
  const { charge } = fields
  const nested =
    typeof charge === 'object' && charge !== null ? (charge as Fields)['not_before'] : undefined
  const field = 'charge.not_before'
  return dateIn({ [field]: nested ?? fields[field] }, field, rules)
}

/** The configured fields of `uf`, as text. */
export function userFieldsOf(uf: unknown, permitted: readonly string[]): Fields {
  if (typeof uf !== 'object' || uf === null) return {}
  const known = permitted.flatMap((name) => {
    const text = Object.hasOwn(uf, name) ? textIn(uf as Fields, name) : null
    return text === null ? [] : [[name, text] as const]
  })
  return Object.fromEntries(known)
}

/** A date of the item; null if it has none. */
export function dateIn(fields: Fields, name: string, rules: PaymentRules): Date | null {
  const value = fields[name]
  if (isNothing(value)) return null
  const date = rules.dateOf(value)
  if (date === null) throw new BillingError(`Field ${name} should be of type Date`, { path: name })
  return date
}

export function textIn(fields: Fields, name: string): string | null {
  const value = fields[name]
  if (value === undefined || value === null) return null
  const isText = typeof value === 'string' || typeof value === 'number'
  const text = isText ? String(value) : ''
  if (!isText || text.includes('\0')) {
    throw new BillingError(`Field ${name} should be of type String`, { path: name })
  }
  if (text.length > TEXT_LENGTH_MAX) {
    throw new BillingError(`Field ${name} has more than ${TEXT_LENGTH_MAX} characters`, {
      path: name,
    })
  }
  return text
}

/** The number of an account; null if the value is not one. */
export function integerFrom(value: unknown): number | null {
  if (typeof value !== 'number' && typeof value !== 'string') return null
  if (typeof value === 'string' && !/^\d{1,16}$/.test(value.trim())) return null
  const number = Number(value)
  return Number.isSafeInteger(number) && number >= 0 ? number : null
}

export function isNothing(value: unknown): boolean {
  return value === undefined || value === null || value === ''
}

export function isTrue(value: unknown): boolean {
  return value === true || value === 1 || value === '1' || value === 'true'
}

const QUOTED_MAX = 100

/** A value of a request within an error text. */
export function textOf(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
  return text.length > QUOTED_MAX ? `${text.slice(0, QUOTED_MAX)}...` : text
}
