/** Invoice documents by account, cycle and the state of their bill. Reads only. */
import type { Filter } from '../../catalog/collections.ts'
import type { Catalog } from '../../catalog/connection.ts'
import type { BillrunDocument, PaidState } from '../../catalog/records/money/bill.ts'

export interface InvoiceQuery {
  /** All accounts if null. */
  readonly aids: readonly number[] | null
  readonly keys: readonly string[] | null
  /** The oldest cycle; null for all. */
  readonly keyFrom: string | null
  /** Any of these states of the bill. */
  readonly paid: readonly PaidState[] | null
  readonly filter: Readonly<Record<string, unknown>>
  readonly page: number
  readonly size: number
}

export interface FoundInvoices {
  readonly invoices: readonly BillrunDocument[]
  readonly nextPage: boolean
}

/** By account, newest cycle first. */
export async function findInvoices(catalog: Catalog, query: InvoiceQuery): Promise<FoundInvoices> {
  const { aids, keys, keyFrom, paid, filter, page, size } = query
  const numbers = paid === null ? null : await numbersOf(catalog, aids ?? [], paid)
  const conditions = [
    filter,
    ...(aids === null ? [] : [{ aid: { $in: [...aids] } }]),
    ...(keys === null ? [] : [{ billrun_key: { $in: [...keys] } }]),
    // Keys of immediate invoices are longer and begin with the month too.
    ...(keyFrom === null ? [] : [{ billrun_key: { $gte: keyFrom } }]),
    ...(numbers === null ? [] : [{ invoice_id: { $in: numbers } }]),
  ]
  const found = await catalog.reads.billrun
    .find({ $and: conditions } as Filter<BillrunDocument>)
    .sort({ aid: 1, billrun_key: -1 })
    .skip(page * size)
    .limit(size + 1)
    .toArray()
  return { invoices: found.slice(0, size), nextPage: found.length > size }
}

async function numbersOf(
  catalog: Catalog,
  aids: readonly number[],
  paid: readonly PaidState[],
): Promise<number[]> {
  const filter = { aid: { $in: [...aids] }, type: 'inv' as const, paid: { $in: [...paid] } }
  const found = await catalog.reads.bills.find(filter, { projection: { invoice_id: 1 } }).toArray()
  return found.flatMap(({ invoice_id: number }) => number ?? [])
}
