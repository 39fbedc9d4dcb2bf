/** Numbers of payments and invoices, given out within the transaction that uses them. */
import { stateOf } from '../catalog/transactions/state.ts'
import type { BooksWriter } from './books/store-books.ts'

const TXID_DIGITS = 13

/** The next `count` numbers of payments. */
export async function nextTxids(writer: BooksWriter, count: number): Promise<string[]> {
  const last = await advance(writer, 'payments', count)
  return Array.from({ length: count }, (_, index) =>
    String(last - count + 1 + index).padStart(TXID_DIGITS, '0'),
  )
}

/** The transaction reads a counter once, and writes it at its end. */
async function advance(
  { catalog, session }: BooksWriter,
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
  const found = await catalog.run('read a counter', () =>
    catalog.counters.findOne({ _id: name }, { session }),
  )
  return { seq: found?.seq ?? 0, isNew: found === null }
}
