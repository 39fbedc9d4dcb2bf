/** Numbers of payments and invoices, given out within the transaction that uses them. */
import { stateOf } from '../catalog/transactions/state.ts'
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
export async function nextTxids(writer: NumberWriter, count: number): Promise<string[]> {
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
  const { memory, writes } = stateOf(session)
  const key = `counters/${name}`
  const known = memory.get(key) as Counter | undefined
  const { seq, isNew } = known ?? (await readCounter(catalog, session, name))
  const next = { seq: seq + count, isNew }
  memory.set(key, next)
  writes.put('counters', { _id: name, seq: next.seq }, isNew)
  return next.seq
}

interface Counter {
  readonly seq: number
  readonly isNew: boolean
}

async function readCounter(
  catalog: BooksWriter['catalog'],
  session: BooksWriter['session'],
  name: string,
): Promise<Counter> {
  const found = await catalog.counters.findOne({ _id: name }, { session })
  return { seq: found?.seq ?? 0, isNew: found === null }
}
