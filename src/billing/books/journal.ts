/**
 * Postings of the journal: one template per event. The entries of a posting add up to 0; positive
 * amounts are debits. `receivable:<aid>` is the sum of what debts have left to pay, `credit:<aid>`
 * minus the sum of what credits have left.
 */
import type { Actor } from '../../catalog/actor.ts'
import { Exact, exactAmount, storedAmount } from '../../catalog/records/money/exact-amount.ts'
import type { PostingDocument } from '../../catalog/records/money/journal-document.ts'
import { sumOf, ZERO } from '../amount.ts'
import { type Bill, type BillRef, isUnconfirmed, isUnusedDeposit, keyOf, refOf } from './bill.ts'

export type PostingEvent =
  | 'invoice'
  | 'payment'
  | 'refund'
  | 'deposit'
  | 'use_deposit'
  | 'agreement'
  | 'confirm'
  | 'unconfirm'
  | 'cover'
  | 'uncover'
  | 'cancel'
  | 'reject'
  | 'deny'
  | 'delete'

export interface Entry {
  readonly account: string
  readonly document: BillRef
  readonly amount: Exact
}

/** The postings that a template creates for an event. */
export interface PostingDraft {
  readonly event: PostingEvent
  /** Stamp of the cause: unique in the journal. */
  readonly id: string
  readonly effective: Date
  readonly entries: readonly Entry[]
  /** Id of the posting that this one corrects. */
  readonly reverses?: string
  /** The bill whose state it changes; not stored. */
  readonly bill?: BillRef
}

export interface Posting extends PostingDraft {
  readonly aid: number
  /** From 1, without gaps, per account. */
  readonly number: number
  readonly booked: Date
  readonly user: Actor
  readonly reason?: string
}

/** Revenue and taxes of an invoice, without rounding; negative for a credit invoice. */
export interface InvoiceParts {
  readonly beforeTax: Exact
  /** By key of the tax. */
  readonly taxes: Readonly<Record<string, Exact>>
}

/** Entries with this many decimals can be stored; `rounding` takes the remainder. */
const ENTRY_DIGITS = 12

/** `number`: of the posting; the number of a removed invoice may be used again. */
export function invoicePosting(
  bill: Bill,
  { beforeTax, taxes }: InvoiceParts,
  number: number,
): PostingDraft {
  const document = refOf(bill)
  const parts = [
    { account: 'revenue', amount: beforeTax },
    ...Object.entries(taxes).map(([key, amount]) => ({ account: `tax:${key}`, amount })),
  ].map(({ account, amount }) => ({
    account,
    amount: new Exact(amount).toDecimalPlaces(ENTRY_DIGITS).negated(),
  }))
  const rounding = sumOf([bill.due, ...parts.map(({ amount }) => amount)]).negated()
  const entries = [
    { account: customerAccount(bill), amount: bill.due },
    ...parts,
    { account: 'rounding', amount: rounding },
  ]
  const posting = draft(
    'invoice',
    bill,
    entries.map((entry) => ({ ...entry, document })),
  )
  return { ...posting, id: `${posting.id}:${number}` }
}

/** The money and the customer's account of a payment, refund or deposit. */
export function paymentPosting(bill: Bill): PostingDraft {
  const event = paymentEventOf(bill)
  const entries = transfer(bill, customerAccount(bill), moneyAccount(bill), moneyOf(bill))
  return draft(event, bill, entries)
}

function paymentEventOf({ due, fields }: Bill): 'deposit' | 'refund' | 'payment' {
  if (fields.deposit === true) return 'deposit'
  return due.greaterThan(0) ? 'refund' : 'payment'
}

export function useDepositPosting(bill: Bill, amount: Exact, effective: Date): PostingDraft {
  const entries = transfer(bill, depositOf(bill), creditOf(bill), amount)
  return { ...draft('use_deposit', bill, entries), effective }
}

/** A payment that pays debts by new debts: of an agreement on installments, or of their merger. */
export function agreementPosting(payment: Bill, debts: readonly Bill[]): PostingDraft {
  const entries = [payment, ...debts].map((bill) => ({
    account: customerAccount(bill),
    document: refOf(bill),
    amount: bill.due,
  }))
  return draft('agreement', payment, entries)
}

/** The money of an unconfirmed payment has arrived; the bill is already marked. */
export function confirmPosting(bill: Bill, number: number): PostingDraft {
  const entries = transfer(bill, gatewayOf(bill), arrivedAccount(bill), moneyOf(bill))
  return { ...draft('confirm', bill, entries), id: `confirm:${keyOf(refOf(bill))}:${number}` }
}

/** It is in question again. */
export function unconfirmPosting(bill: Bill, number: number): PostingDraft {
  const entries = transfer(bill, arrivedAccount(bill), gatewayOf(bill), moneyOf(bill))
  return { ...draft('unconfirm', bill, entries), id: `unconfirm:${keyOf(refOf(bill))}:${number}` }
}

export function coverPosting(
  debt: Bill,
  credit: Bill,
  amount: Exact,
  at: { readonly number: number; readonly date: Date },
): PostingDraft {
  return {
    event: 'cover',
    id: `cover:${keyOf(refOf(debt))}:${keyOf(refOf(credit))}:${at.number}`,
    effective: at.date,
    entries: [
      { account: creditOf(credit), document: refOf(credit), amount },
      { account: receivableOf(debt), document: refOf(debt), amount: amount.negated() },
    ],
  }
}

export function uncoverPosting(
  debt: Bill,
  credit: Bill,
  { amount, posting }: { readonly amount: Exact; readonly posting: string },
  effective: Date,
): PostingDraft {
  return {
    event: 'uncover',
    id: `un${posting}`,
    effective,
    entries: [
      { account: receivableOf(debt), document: refOf(debt), amount },
      { account: creditOf(credit), document: refOf(credit), amount: amount.negated() },
    ],
    reverses: posting,
  }
}

/** Takes a payment, refund or deposit back, after its covers were reversed. */
export function takeBackPosting(
  event: 'cancel' | 'reject' | 'deny',
  bill: Bill,
  effective: Date,
): PostingDraft {
  const ref = refOf(bill)
  const id = keyOf(ref)
  const entries = transfer(bill, moneyAccount(bill), customerAccount(bill), moneyOf(bill))
  const reverses = `${paymentEventOf(bill)}:${id}`
  return { event, id: `${event}:${id}`, effective, entries, reverses, bill: ref }
}

/** A bill without links that is removed: reverses what its postings add up to. */
export function deletePosting(
  bill: Bill,
  postings: readonly Posting[],
  at: { readonly number: number; readonly date: Date },
): PostingDraft {
  const document = refOf(bill)
  const key = keyOf(document)
  const sums = new Map<string, Exact>()
  for (const { entries } of postings) {
    for (const { account, amount, document: of } of entries) {
      if (keyOf(of) === key) sums.set(account, (sums.get(account) ?? ZERO).plus(amount))
    }
  }
  // A number that was removed may have been used again.
  const first = postings[postings.findLastIndex(({ event }) => event === 'delete') + 1]
  return {
    event: 'delete',
    id: `delete:${key}:${at.number}`,
    effective: at.date,
    entries: [...sums]
      .filter(([, amount]) => !amount.isZero())
      .map(([account, amount]) => ({ account, document, amount: amount.negated() })),
    ...(first === undefined ? {} : { reverses: first.id }),
  }
}

function draft(event: PostingEvent, bill: Bill, entries: readonly Entry[]): PostingDraft {
  const kept = entries.filter(({ amount }) => !amount.isZero())
  const ref = refOf(bill)
  const effective = bill.fields.urt
  return { event, id: `${event}:${keyOf(ref)}`, effective, entries: kept, bill: ref }
}

/** Debits one account and credits the other. */
function transfer(bill: Bill, debit: string, credit: string, amount: Exact): Entry[] {
  const document = refOf(bill)
  return [
    { account: debit, document, amount },
    { account: credit, document, amount: amount.negated() },
  ]
}

/** Signed as `due`. */
function moneyOf(bill: Bill): Exact {
  return isUnusedDeposit(bill) ? exactAmount(bill.fields.deposit_amount).negated() : bill.due
}

function customerAccount(bill: Bill): string {
  if (isUnusedDeposit(bill)) return depositOf(bill)
  return bill.due.greaterThan(0) ? receivableOf(bill) : creditOf(bill)
}

function receivableOf({ fields }: Bill): string {
  return `receivable:${fields.aid}`
}

function creditOf({ fields }: Bill): string {
  return `credit:${fields.aid}`
}

function depositOf({ fields }: Bill): string {
  return `deposit:${fields.aid}`
}

/** Where the money of a payment is. */
function moneyAccount(bill: Bill): string {
  return isUnconfirmed(bill) ? gatewayOf(bill) : arrivedAccount(bill)
}

function gatewayOf({ fields }: Bill): string {
  const { payment_gateway: gateway, method } = fields
  return `gateway:${typeof gateway === 'string' ? gateway : (method ?? '')}`
}

function arrivedAccount({ fields }: Bill): string {
  return fields.method === 'write_off' ? 'write_off' : `cash:${fields.method ?? ''}`
}

export function isBalanced({ entries }: Pick<PostingDraft, 'entries'>): boolean {
  return sumOf(entries.map(({ amount }) => amount)).isZero()
}

export function postingDocument(posting: Posting): PostingDocument {
  const { id, entries, bill: _bill, ...others } = posting
  return {
    _id: id,
    ...others,
    entries: entries.map(({ account, document, amount }) => ({
      account,
      document,
      amount: storedAmount(amount),
    })),
  }
}

export function postingOf({ _id: id, entries, ...others }: PostingDocument): Posting {
  return {
    ...others,
    event: others.event as PostingEvent,
    id,
    entries: entries.map((entry) => ({ ...entry, amount: exactAmount(entry.amount) })),
  }
}
