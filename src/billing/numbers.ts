/** Numbers of payments and invoices, given out within the transaction that uses them. */
import type { BooksWriter } from './books/store-books.ts'

const TXID_DIGITS = 13

/** Series of invoice numbers, by the number that comes before the first one. */
export const INVOICE_SERIES = {
  /** Invoices of cycles. */
  regular: 100,
  /** Invoices outside of cycles. */
  immediate: 8_100_000_000,
  /** Refunds and credit notes outside of cycles. */
  refund: 4_100_000_000,
} as const

export type InvoiceSeries = keyof typeof INVOICE_SERIES

/** The next `count` numbers of payments. */
export async function nextTxids(writer: BooksWriter, count: number): Promise<string[]> {
  const last = await advance(writer, 'payments', count)
  return Array.from({ length: count }, (_, index) =>
    String(last - count + 1 + index).padStart(TXID_DIGITS, '0'),
  )
}

/** The next `count` numbers of a series of invoices, without gaps in the order of the commits. */
export async function nextInvoiceIds(
  writer: NumberWriter,
  series: InvoiceSeries,
  count: number,
): Promise<number[]> {
  if (count === 0) return []
  const last = await advance(writer, `invoices/${series}`, count)
  return Array.from(
    { length: count },
    (_, index) => INVOICE_SERIES[series] + last - count + 1 + index,
  )
}

type NumberWriter = Pick<BooksWriter, 'catalog' | 'session'>

async function advance(
  { catalog, session }: NumberWriter,
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
