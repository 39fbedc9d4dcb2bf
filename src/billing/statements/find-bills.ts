/** Bills by account, number, cycle, type, due date and payment state. Reads only. */
import type { Filter } from '../../catalog/collections.ts'
import type { Catalog } from '../../catalog/connection.ts'
import type { BillDocument, PaidState } from '../../catalog/records/money/bill.ts'
import { UNPAID } from './balances.ts'

/** `ref`: a payment to the customer. */
export type BillKind = 'inv' | 'rec' | 'ref'

export interface BillQuery {
  readonly aids: readonly number[]
  readonly kind: BillKind | null
  readonly billrunKeys: readonly string[] | null
  readonly dueFrom: Date | null
  readonly dueTo: Date | null
  /** Any of these states. */
  readonly paid: readonly PaidState[] | null
  readonly page: number
  readonly size: number
}

export interface BillPage {
  readonly bills: readonly BillDocument[]
  readonly nextPage: boolean
}

/** Oldest first. */
export async function findBills(catalog: Catalog, query: BillQuery): Promise<BillPage> {
  const { aids, kind, billrunKeys, dueFrom, dueTo, paid, page, size } = query
  const dueDate = {
    ...(dueFrom === null ? {} : { $gte: dueFrom }),
    ...(dueTo === null ? {} : { $lte: dueTo }),
  }
  const filter = {
    aid: { $in: [...aids] },
    ...(kind === null ? {} : KINDS[kind]),
    ...(billrunKeys === null ? {} : { billrun_key: { $in: [...billrunKeys] } }),
    ...(Object.keys(dueDate).length === 0 ? {} : { due_date: dueDate }),
    ...(paid === null ? {} : { paid: { $in: [...paid] } }),
  } as Filter<BillDocument>
  const found = await catalog.bills
    .find(filter)
    .sort({ aid: 1, urt: 1, _id: 1 })
    .skip(page * size)
    .limit(size + 1)
    .toArray()
  return { bills: found.slice(0, size), nextPage: found.length > size }
}

const KINDS = {
  inv: { type: 'inv' },
  rec: { type: 'rec', dir: { $ne: 'tc' } },
  ref: { type: 'rec', dir: 'tc' },
} as const satisfies Record<BillKind, object>

/** Returns null if no bill matches. */
export function findInvoice(
  catalog: Catalog,
  invoiceId: number,
  aid: number | null,
): Promise<BillDocument | null> {
  const filter = { type: 'inv' as const, invoice_id: invoiceId, ...(aid === null ? {} : { aid }) }
  return catalog.bills.findOne(filter)
}

/** Invoices of an account with something to pay, oldest first. */
export async function unpaidInvoices(catalog: Catalog, aid: number): Promise<BillDocument[]> {
  const filter = { aid, type: 'inv', ...UNPAID } as unknown as Filter<BillDocument>
  const found = await catalog.bills.find(filter).sort({ urt: 1, _id: 1 }).toArray()
  return found.filter(({ left_to_pay: left }) => left !== undefined)
}

/** Invoices that match, in the order in which they may be collected. */
export function queryInvoices(
  catalog: Catalog,
  filter: Readonly<Record<string, unknown>>,
  limit: number,
): Promise<BillDocument[]> {
  const invoices = { $and: [{ type: 'inv' }, filter] } as Filter<BillDocument>
  return catalog.bills
    .find(invoices)
    .sort({ 'charge.not_before': 1, _id: 1 })
    .limit(limit)
    .toArray()
}
