/** The journal: balanced postings, which are only ever added, and the totals of each account. */
import type { Decimal128, IndexDescription } from 'mongodb'
import type { Actor } from '../../actor.ts'

export interface PostingEntryDocument {
  /** `receivable:17`, `revenue`, `cash:cheque` ... */
  account: string
  /** The bill: its number or, for payments, its `txid`. */
  document: { type: 'inv' | 'rec'; id: number | string }
  /** Positive: debit; negative: credit. The sum of a posting is 0. */
  amount: Decimal128
}

export interface PostingDocument {
  /** Stamp of the cause, such as `payment:0000000000042`. */
  _id: string
  aid: number
  /** From 1, without gaps, per account. */
  number: number
  event: string
  booked: Date
  effective: Date
  entries: PostingEntryDocument[]
  /** Id of the posting that this one corrects. */
  reverses?: string
  user: Actor
  reason?: string
}

export const JOURNAL_INDEXES: readonly IndexDescription[] = [
  { key: { aid: 1, number: 1 }, unique: true },
  { key: { aid: 1, 'entries.document.id': 1 } },
]

/** Totals of the postings of an account; written with each of them. */
export interface BooksDocument {
  /** The account. */
  _id: number
  /** Number of the newest posting. */
  number: number
  /** Balances by account of the journal, without the number of the account. */
  totals: Record<'receivable' | 'credit' | 'deposit' | 'gateway', Decimal128>
}
