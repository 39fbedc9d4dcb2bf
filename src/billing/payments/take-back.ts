/**
 * Payments, refunds and deposits that are taken back: cancelled, rejected or denied. What they
 * covered is open again, and a second record with the opposite amount names the first. Pure.
 */
import type { Exact } from '../../catalog/records/money/exact-amount.ts'
import { exactAmount, storedAmount } from '../../catalog/records/money/exact-amount.ts'
import type { Fields } from '../../domain/fields.ts'
import type { AccountBooks } from '../books/account-books.ts'
import {
  type Bill,
  type BillFields,
  isActive,
  isDebt,
  isUnusedDeposit,
  newBill,
} from '../books/bill.ts'
import { takeBackPosting } from '../books/journal.ts'
import { INSTALLMENT_AGREEMENT, MERGE_INSTALLMENTS } from './methods.ts'

export type TakeBackKind = 'cancel' | 'reject' | 'deny'

/** Payments of agreements belong together, and a write-off must not become credit. */
export function canBeTakenBack(books: AccountBooks, bill: Bill): boolean {
  const { fields, links } = bill
  const isOfAgreement = [INSTALLMENT_AGREEMENT, MERGE_INSTALLMENTS].includes(fields.method ?? '')
  if (fields.type !== 'rec' || !isActive(bill) || isOfAgreement) return false
  if (!isDebt(bill)) return true
  return links.every((link) => books.bill(link)?.fields.method !== 'write_off')
}

/** The amount as an operator knows it, also of an unused deposit. */
export function amountOfPayment(bill: Bill): Exact {
  return isUnusedDeposit(bill) ? exactAmount(bill.fields.deposit_amount) : bill.amount
}

/** Returns the second record. `further`: more of its fields. */
export function takeBack(
  books: AccountBooks,
  bill: Bill,
  kind: TakeBackKind,
  { txid, further = {} }: { readonly txid: string; readonly further?: Fields },
): Bill {
  const { fields } = bill
  const original = fields.txid ?? ''
  const covered = books.unlink(bill)
  books.post(takeBackPosting(kind, bill, books.now))
  if (kind === 'reject') {
    for (const other of covered) {
      const past = other.fields.past_rejections ?? []
      other.fields.past_rejections = [...past, { txid: original, date: books.now }]
    }
  }
  const amount = amountOfPayment(bill)
  const opposite: BillFields = {
    type: 'rec',
    aid: books.aid,
    txid,
    dir: fields.dir === 'tc' ? 'fc' : 'tc',
    method: kind === 'deny' ? 'denial' : (fields.method ?? ''),
    urt: books.now,
    process_time: books.now,
    ...(isUnusedDeposit(bill) ? { deposit: true, deposit_amount: storedAmount(amount) } : {}),
    ...(further as Partial<BillFields>),
    ...MARKS[kind].opposite(original),
  }
  Object.assign(fields, MARKS[kind].original(txid))
  fields.pending = false
  fields.waiting_for_confirmation = false
  const record = newBill(opposite, bill.due.negated())
  books.add(record)
  books.touch(bill)
  books.cover()
  return record
}

interface Marks {
  opposite(original: string): Partial<BillFields>
  original(opposite: string): Partial<BillFields>
}

const MARKS: Readonly<Record<TakeBackKind, Marks>> = {
  cancel: {
    opposite: (original) => ({ cancel: original }),
    original: () => ({ cancelled: true }),
  },
  reject: {
    opposite: (original) => ({ rejection: true, original_txid: original }),
    original: () => ({ rejected: true }),
  },
  deny: {
    opposite: (original) => ({ is_denial: true, original_txid: original }),
    original: (opposite) => ({ denied_by: opposite }),
  },
}
