/** Agreements on installments in one transaction each. */
import type { BooksWriter } from '../books/store-books.ts'
import { loadBooks, saveBooks } from '../books/store-books.ts'
import { nextTxids } from '../numbers.ts'
import { type MergeOrder, mergeInstallments, splitBill } from './agreements.ts'
import type { SplitOrder } from './split-order.ts'

/** Throws `BillingError`. */
export async function agreeInstallments(
  writer: BooksWriter,
  order: SplitOrder,
  timeZone: string,
): Promise<void> {
  const { aid, installments } = order
  const books = await loadBooks(writer, aid)
  const ids = {
    agreement: await freeAgreement(writer, aid),
    txids: await nextTxids(writer, installments.length + 1),
  }
  splitBill(books, order, ids, timeZone)
  saveBooks(writer, books, 'split_bill')
}

/** A number that no agreement of the account has: the time in milliseconds. */
async function freeAgreement(
  { catalog, session, nowMs }: BooksWriter,
  aid: number,
): Promise<number> {
  for (let number = nowMs; ; number += 1) {
    const known = await catalog.bills.findOne(
      { 'payment_agreement.id': number, aid },
      { projection: { _id: 1 }, session },
    )
    if (known === null) return number
  }
}

/** False if no installment of the agreement is open. */
export async function mergeAgreement(
  writer: BooksWriter,
  aid: number,
  order: MergeOrder,
): Promise<boolean> {
  const books = await loadBooks(writer, aid)
  const isMerged = mergeInstallments(books, order, await nextTxids(writer, 2))
  if (isMerged) saveBooks(writer, books, 'merge_installments')
  return isMerged
}
