/** Payments, deposits and cancellations in one transaction each. */

import { exactAmount, storedAmount } from '../../catalog/records/money/exact-amount.ts'
import type { FieldIssue } from '../../domain/field-errors.ts'
import type { Fields } from '../../domain/fields.ts'
import { amountFrom, rounded, sumOf, ZERO } from '../amount.ts'
import type { AccountBooks } from '../books/account-books.ts'
import { type Bill, type BillRef, isActive, isUnusedDeposit } from '../books/bill.ts'
import { useDepositPosting } from '../books/journal.ts'
import { type BooksWriter, loadBooks, saveBooks } from '../books/store-books.ts'
import { BillingError } from '../errors.ts'
import { nextTxids } from '../numbers.ts'
import { isNothing, type PaymentOrder, textOf, userFieldsOf } from './payment-order.ts'
import { recordPayment } from './record.ts'
import { amountOfPayment, canBeTakenBack, takeBack } from './take-back.ts'

/** Records payments of any accounts, all or none; returns their numbers in the order given. */
export async function recordPayments(
  writer: BooksWriter,
  orders: readonly PaymentOrder[],
): Promise<string[]> {
  const txids = await nextTxids(writer, orders.length)
  const numbered = orders.map((order, index) => ({ order, txid: txids[index] as string }))
  for (const [aid, ofAccount] of groupBy(numbered, ({ order }) => order.aid)) {
    const refs = ofAccount.flatMap(({ order }) => order.links)
    const covers = sumOf(ofAccount.map(({ order }) => order.amount))
    const books = await loadBooks(writer, aid, { refs, covers })
    for (const { order, txid } of ofAccount) recordPayment(books, order, txid)
    saveBooks(writer, books, 'pay')
  }
  return txids
}

/** Returns the numbers of the deposits that were not used before. */
export async function useDeposits(
  writer: BooksWriter,
  txids: readonly string[],
  urt: Date | null,
): Promise<string[]> {
  const used: string[] = []
  const { byAccount, unknown } = await findPayments(writer, txids)
  if (unknown.length > 0) throw notDeposits()
  for (const books of byAccount) {
    for (const { txid, bill } of paymentsIn(books, txids)) {
      if (!isDeposit(bill)) throw notDeposits()
      if (useDeposit(books, bill, urt ?? books.now)) used.push(txid)
    }
    saveBooks(writer, books, 'use_deposit')
  }
  return txids.filter((txid) => used.includes(txid))
}

function notDeposits(): BillingError {
  return new BillingError('One or more of the input IDs are not deposits', { path: 'txid' })
}

export interface CancelOptions {
  /** Cancels the others if some cannot be cancelled. */
  readonly ignoreErrors: boolean
  readonly userFields: readonly string[]
  /** Decimals of the currency. */
  readonly digits: number
}

export interface Cancelled {
  readonly succeeded: readonly string[]
  readonly errors: readonly FieldIssue[]
}

/**
 * Cancels payments: what they covered is open again. With errors that are not to be ignored nothing
 * is written.
 */
export async function cancelPayments(
  writer: BooksWriter,
  cancellations: readonly unknown[],
  { ignoreErrors, userFields, digits }: CancelOptions,
): Promise<Cancelled> {
  const parsed = cancellations.map(cancellationOf)
  const named = parsed
    .map((one, index) => ({ ...one, path: `cancellations.${index}` }))
    .filter(({ txid }) => txid !== '')
  const txids = named.map(({ txid }) => txid)
  const { byAccount, unknown } = await findPayments(writer, txids)
  const missing = new Set(unknown)
  const errors: FieldIssue[] = named
    .filter(({ txid }) => missing.delete(txid))
    .map(({ txid, path }) => ({ path: `${path}.txid`, reason: `${textOf(txid)} Not Found` }))
  const succeeded: string[] = []
  const seen = new Set<string>()
  for (const books of byAccount) {
    for (const { txid, amount, uf, path } of named) {
      const bill = books.bill({ type: 'rec', id: txid })
      if (bill === undefined) continue
      const error = seen.has(txid)
        ? `${txid} cannot be cancelled`
        : refusal(books, bill, amount, digits)
      seen.add(txid)
      if (error !== null) {
        errors.push({ path, reason: error, code: 'refused' })
        continue
      }
      const [opposite = ''] = await nextTxids(writer, 1)
      takeBack(books, bill, 'cancel', {
        txid: opposite,
        further: { uf: userFieldsOf(uf, userFields) },
      })
      succeeded.push(txid)
    }
  }
  const without = parsed.length - named.length
  if (without > 0) {
    const reason = `${without} payments was transferred without txid`
    const first = parsed.findIndex(({ txid }) => txid === '')
    errors.push({ path: `cancellations.${first}.txid`, reason, code: 'missing' })
  }
  if (errors.length > 0 && !ignoreErrors) return { succeeded: [], errors }
  for (const books of byAccount) saveBooks(writer, books, 'cancel_payments')
  return { succeeded, errors }
}

interface Cancellation {
  readonly txid: string
  readonly amount: unknown
  readonly uf: unknown
}

function cancellationOf(value: unknown): Cancellation {
  const isObject = typeof value === 'object' && value !== null
  const { txid, amount, uf } = (isObject ? value : {}) as Fields
  const isText = typeof txid === 'string' || typeof txid === 'number'
  return { txid: isText ? String(txid) : '', amount, uf }
}

function refusal(books: AccountBooks, bill: Bill, value: unknown, digits: number): string | null {
  const { txid } = bill.fields
  if (!canBeTakenBack(books, bill)) return `${txid} cannot be cancelled`
  if (isNothing(value)) return null
  const amount = amountFrom(value)
  return amount !== null && rounded(amount, digits).equals(amountOfPayment(bill))
    ? null
    : `Cancellation amount not matching payment amount for ${txid}`
}

export interface FoundPayments {
  /** The books of each account that has some of the payments. */
  readonly byAccount: readonly AccountBooks[]
  /** Numbers that no payment has. */
  readonly unknown: readonly string[]
}

/** The payments with these numbers, in the books of their accounts. */
export async function findPayments(
  writer: BooksWriter,
  txids: readonly string[],
): Promise<FoundPayments> {
  const { catalog, session } = writer
  const distinct = [...new Set(txids)]
  const found = await catalog.bills
    .find({ txid: { $in: distinct } }, { projection: { aid: 1, txid: 1 }, session })
    .toArray()
  const accounts = groupBy(found, ({ aid }) => aid)
  const byAccount: AccountBooks[] = []
  for (const [aid, bills] of accounts) {
    const refs: BillRef[] = bills.map(({ txid }) => ({ type: 'rec', id: txid ?? '' }))
    byAccount.push(await loadBooks(writer, aid, { refs }))
  }
  const known = new Set(found.map(({ txid }) => txid))
  return { byAccount, unknown: distinct.filter((txid) => !known.has(txid)) }
}

/** The payments that the books have, in the order of `txids`, each once. */
export function paymentsIn(
  books: AccountBooks,
  txids: readonly string[],
): { readonly txid: string; readonly bill: Bill }[] {
  return [...new Set(txids)].flatMap((txid) => {
    const bill = books.bill({ type: 'rec', id: txid })
    return bill === undefined ? [] : [{ txid, bill }]
  })
}

function groupBy<T>(items: readonly T[], keyOf: (item: T) => number): Map<number, T[]> {
  const groups = new Map<number, T[]>()
  for (const item of items) {
    const key = keyOf(item)
    const group = groups.get(key) ?? []
    group.push(item)
    groups.set(key, group)
  }
  return groups
}

export function isDeposit(bill: Bill | undefined): bill is Bill {
  return bill !== undefined && bill.fields.deposit === true && isActive(bill)
}

/** False if it was used before. */
export function useDeposit(books: AccountBooks, bill: Bill, urt: Date): boolean {
  if (!isUnusedDeposit(bill)) return false
  const amount = exactAmount(bill.fields.deposit_amount)
  books.post(useDepositPosting(bill, amount, books.now))
  bill.fields.deposit_amount = storedAmount(ZERO)
  bill.fields.unfreeze_date = books.now
  bill.fields.urt = urt
  bill.amount = amount
  bill.due = amount.negated()
  books.touch(bill)
  books.cover()
  return true
}
