/** `adjustpayments` and `reject`: later decisions on payments, in one transaction each. */
import { missing } from '../../domain/field-errors.ts'
import type { Fields } from '../../domain/fields.ts'
import { amountFrom, rounded } from '../amount.ts'
import type { AccountBooks } from '../books/account-books.ts'
import { type Bill, isActive, isUnconfirmed, refOf } from '../books/bill.ts'
import { type BooksWriter, saveBooks } from '../books/store-books.ts'
import { BillingError, withinEach } from '../errors.ts'
import { nextTxids } from '../numbers.ts'
import { canBeConfirmed, canBeUnconfirmed, confirmPayment, unconfirmPayment } from './confirm.ts'
import type { PaymentMethod } from './methods.ts'
import { ADJUSTABLE } from './methods.ts'
import { findPayments } from './operations.ts'
import {
  isNothing,
  type PaymentOrder,
  type PaymentRules,
  paymentOrder,
  textOf,
  wrongInput,
} from './payment-order.ts'
import { recordPayment } from './record.ts'
import { canBeTakenBack, takeBack } from './take-back.ts'

const ACTIONS = ['mark_paid', 'reject', 'deny', 'unconfirm'] as const
type AdjustAction = (typeof ACTIONS)[number]

/** Adjustments without a change: the payment is as requested already. */
export interface Adjusted {
  readonly unsaved: readonly string[]
}

/**
 * Members either have `action`, or `method` and `amount`, by which the payment is replaced; with
 * another method the amount may be absent, and stays. The first error stops everything. Throws
 * `BillingError`.
 */
export async function adjustPayments(
  writer: BooksWriter,
  adjustments: readonly unknown[],
  rules: PaymentRules,
): Promise<Adjusted> {
  if (adjustments.length === 0)
    throw new BillingError('No adjustments found', { path: 'adjustments', code: 'missing' })
  const parsed = withinEach('adjustments', adjustments, adjustmentOf)
  refuseDuplicates('adjustments', parsed)
  const { byAccount, unknown } = await findPayments(
    writer,
    parsed.map(({ id }) => id),
  )
  if (unknown.length > 0) throw new BillingError('Unknown id', { path: 'adjustments' })
  const unsaved: string[] = []
  for (const books of byAccount) {
    for (const { id, fields } of parsed) {
      const bill = books.bill({ type: 'rec', id })
      if (bill === undefined) continue
      const isChanged = await adjust(writer, books, bill, fields, rules)
      if (!isChanged) unsaved.push(id)
    }
    saveBooks(writer, books, 'adjustpayments')
  }
  return { unsaved }
}

interface Adjustment {
  readonly id: string
  readonly fields: Fields
}

function adjustmentOf(value: unknown): Adjustment {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  const fields = (isObject ? value : {}) as Fields
  const id = idOf(fields)
  if (isNothing(fields['action']) && isNothing(fields['method'])) throw nothingToCorrect(id)
  return { id, fields }
}

function nothingToCorrect(id: unknown): BillingError {
  return new BillingError(
    `Missing payment method or amount for payment ${textOf(id)}`,
    missing(['method', 'amount']),
  )
}

function idOf({ id }: Fields): string {
  const isText = typeof id === 'string' || typeof id === 'number'
  if (!isText || id === '') throw new BillingError('Missing id', { path: 'id', code: 'missing' })
  return String(id)
}

function refuseDuplicates(path: string, parsed: readonly { readonly id: string }[]): void {
  const seen = new Set<string>()
  for (const { id } of parsed) {
    if (seen.has(id)) throw new BillingError(`Duplicate id ${textOf(id)}`, { path })
    seen.add(id)
  }
}

/** False if the payment is as requested already. */
async function adjust(
  writer: BooksWriter,
  books: AccountBooks,
  bill: Bill,
  fields: Fields,
  rules: PaymentRules,
): Promise<boolean> {
  const { action } = fields
  if (isNothing(action)) return correct(writer, books, bill, fields, rules)
  const known = ACTIONS.find((each) => each === action)
  if (known === undefined)
    throw new BillingError(`Illegal action ${textOf(action)}`, { path: 'action' })
  await decide(writer, books, bill, known, fields)
  return true
}

async function decide(
  writer: BooksWriter,
  books: AccountBooks,
  bill: Bill,
  action: AdjustAction,
  fields: Fields,
): Promise<void> {
  if (action === 'mark_paid') {
    if (!canBeConfirmed(bill)) throw notApplicable(bill)
    return confirmPayment(books, bill)
  }
  if (action === 'unconfirm') {
    if (!canBeUnconfirmed(bill)) throw notApplicable(bill)
    return unconfirmPayment(books, bill)
  }
  if (!canBeTakenBack(books, bill)) throw notApplicable(bill)
  const [txid = ''] = await nextTxids(writer, 1)
  takeBack(books, bill, action, { txid, further: rejectionOf(fields) })
}

/** Cancels the payment and, unless the new amount is 0, records another one. */
async function correct(
  writer: BooksWriter,
  books: AccountBooks,
  bill: Bill,
  fields: Fields,
  rules: PaymentRules,
): Promise<boolean> {
  const method = ADJUSTABLE.has(fields['method']) ? (fields['method'] as PaymentMethod) : null
  if (method === null)
    throw new BillingError(`Illegal payment method ${textOf(fields['method'])}`, { path: 'method' })
  const isKept = isNothing(fields['amount'])
  if (isKept && bill.fields.method === method) throw nothingToCorrect(fields['id'])
  const isApplicable = ADJUSTABLE.has(bill.fields.method) && !isUnconfirmed(bill)
  if (!isApplicable || bill.fields.deposit === true || !canBeTakenBack(books, bill)) {
    throw notApplicable(bill)
  }
  const corrected = isKept ? { ...fields, amount: bill.amount.toString() } : fields
  const order = correctionOrder(books.aid, bill, method, corrected, rules)
  const amount = order?.amount ?? null
  if (bill.fields.method === method && amount?.equals(bill.amount)) return false
  const [opposite = '', txid = ''] = await nextTxids(writer, order === null ? 1 : 2)
  takeBack(books, bill, 'cancel', { txid: opposite })
  if (order !== null) recordPayment(books, order, txid)
  return true
}

/** Null if the payment is only to be cancelled. */
function correctionOrder(
  aid: number,
  bill: Bill,
  method: PaymentMethod,
  fields: Fields,
  rules: PaymentRules,
): PaymentOrder | null {
  const amount = amountFrom(fields['amount'])
  if (amount === null || amount.lessThan(0)) throw wrongInput(aid, fields['amount'])
  if (rounded(amount, rules.digits).isZero()) return null
  const { dir } = bill.fields
  const slip = { deposit_slip: '', deposit_slip_bank: '' }
  const item = { payer_name: bill.fields.payer_name ?? '', ...slip, ...fields, aid, dir }
  const order = paymentOrder(item, method, rules)
  return { ...order, fields: { ...order.fields, correction: true } }
}

function notApplicable(bill: Bill): BillingError {
  return new BillingError(`Payment ${refOf(bill).id} not applicable`, 'refused')
}

export interface Rejected {
  readonly received: number
  readonly saved: number
}

/** Throws `BillingError`. */
export async function rejectPayments(
  writer: BooksWriter,
  rejections: readonly unknown[],
  rules: PaymentRules,
): Promise<Rejected> {
  if (rejections.length === 0)
    throw new BillingError('No rejections found', { path: 'rejections', code: 'missing' })
  const parsed = withinEach('rejections', rejections, rejectedOf)
  refuseDuplicates('rejections', parsed)
  const { byAccount, unknown } = await findPayments(
    writer,
    parsed.map(({ id }) => id),
  )
  const [first] = unknown
  if (first !== undefined)
    throw new BillingError(`Unknown id ${textOf(first)}`, { path: 'rejections' })
  for (const books of byAccount) {
    for (const { id, fields } of parsed) {
      const bill = books.bill({ type: 'rec', id })
      if (bill === undefined) continue
      if (bill.fields.rejected === true)
        throw new BillingError(`Payment ${id} already rejected`, 'refused')
      if (!isActive(bill) || !canBeTakenBack(books, bill)) throw notApplicable(bill)
      const [txid = ''] = await nextTxids(writer, 1)
      takeBack(books, bill, 'reject', { txid, further: rejectionFields(fields, rules) })
    }
    saveBooks(writer, books, 'reject')
  }
  return { received: parsed.length, saved: parsed.length }
}

function rejectedOf(value: unknown): Adjustment {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  const fields = (isObject ? value : {}) as Fields
  const id = idOf(fields)
  const { rejection } = fields
  if (typeof rejection !== 'object' || rejection === null || Object.keys(rejection).length === 0) {
    throw new BillingError('Missing rejection params', { path: 'rejection', code: 'missing' })
  }
  return { id, fields }
}

function rejectionFields(fields: Fields, rules: PaymentRules): Fields {
  const urt = isNothing(fields['urt']) ? null : rules.dateOf(fields['urt'])
  if (!isNothing(fields['urt']) && urt === null) {
    throw new BillingError('Field urt should be of type Date', { path: 'urt' })
  }
  return { ...rejectionOf(fields), ...(urt === null ? {} : { urt }) }
}

/** The code of a rejection, if there is one. */
function rejectionOf({ rejection }: Fields): Fields {
  if (typeof rejection !== 'object' || rejection === null) return {}
  const { code } = rejection as Fields
  return typeof code === 'string' || typeof code === 'number'
    ? { rejection_code: String(code).slice(0, 100) }
    : {}
}
