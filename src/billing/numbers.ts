/** Numbers of payments and invoices, given out within the transaction that uses them. */
import type { BooksWriter } from './books/store-books.ts'

const TXID_DIGITS = 13

/** The next `count` numbers of payments. */
export async function nextTxids(writer: BooksWriter, count: number): Promise<string[]> {
  const last = await advance(writer, 'payments', count)
  return Array.from({ length: count }, (_, index) =>
    String(last - count + 1 + index).padStart(TXID_DIGITS, '0'),
  )
}

async function advance(
  { catalog, session }: BooksWriter,
  name: string,
  count: number,
): Promise<number> {
  const counter = await catalog.run('take numbers', () =>
    catalog.counters.findOneAndUpdate(
      { _id: name },
      { $inc: { seq: count } },
      { upsert: true, returnDocument: 'after', session },
    ),
  )
  return counter?.seq ?? count
}
