/**
 * Stores the results of several accounts in one transaction: lines, invoices with their numbers,
 * failed accounts. Storing the same results again changes nothing but times.
 */
import type { AnyBulkWriteOperation, ClientSession } from '../../catalog/collections.ts'
import type { BillrunDocument } from '../../catalog/records/money/bill.ts'
import type { CycleCounts } from '../../catalog/records/money/cycle-documents.ts'
import type { AccountInvoice } from '../cycle/compute.ts'
import type { RunCycle } from '../cycle/run-cycle.ts'
import { type SettledLine, settleLines } from '../invoices/input-lines.ts'
import { isConfirmed } from '../invoices/stored-invoice.ts'
import { nextInvoiceIds } from '../numbers.ts'
import { dueDatesOf } from './due-dates.ts'
import { forgetParked, parkAccounts } from './parked.ts'
import type { RunData } from './run-data.ts'
import { NO_COUNTS, type RunStores } from './runs.ts'

/** The result of an account: its invoice, null without one, or why it failed. */
export interface StoredResult {
  readonly aid: number
  readonly outcome: AccountInvoice | null | Error
  /** Late lines that are on no invoice, such as those of prepaid plans: without an invoice. */
  readonly left?: readonly SettledLine[]
}

export interface ResultsOfRun {
  readonly cycle: RunCycle
  readonly data: Pick<RunData, 'billrun'>
  readonly nowMs: number
}

const SERIES = 'regular'
/** Lines of one write, which has a time limit. */
const LINES_AT_ONCE = 1_000
const NOT_NEEDED = 'the account has no invoice in a later run of the cycle'

/**
 * Results of accounts whose invoice is confirmed are dropped. Returns the counts; rejects with the
 * errors of `catalog.transaction`.
 */
export async function storeAccounts(
  stores: RunStores,
  session: ClientSession,
  run: ResultsOfRun,
  results: readonly StoredResult[],
): Promise<CycleCounts> {
  const { catalog } = stores
  const { key } = run.cycle
  const aids = results.map(({ aid }) => aid)
  const [found, voids] = await readFormer(stores, session, key, aids)
  const confirmed = new Set([...found.values()].filter(isConfirmed).map(({ aid }) => aid))
  const open = results.filter(({ aid }) => !confirmed.has(aid))
  const failed = open.flatMap(({ aid, outcome }) =>
    outcome instanceof Error ? [{ aid, reason: outcome.message }] : [],
  )
  const invoices = open.flatMap(({ outcome }) =>
    outcome === null || outcome instanceof Error ? [] : [outcome],
  )
  const empty = open.flatMap(({ aid, outcome }) => (outcome === null ? [aid] : []))
  await removeLines(stores, session, key, open, found)
  const numbers = await numbersFor(stores, session, invoices, found, voids)
  const documents = invoices.map((invoice) =>
    documentOf(invoice, numbers.get(invoice.aid) ?? 0, run),
  )
  await writeInvoices(stores, session, documents, found)
  await voidInvoices(stores, session, run, empty, found)
  const lines = invoices.flatMap(({ lines }) => lines.map((line) => ({ ...line })))
  for (let first = 0; first < lines.length; first += LINES_AT_ONCE) {
    await catalog.lines.insertMany(lines.slice(first, first + LINES_AT_ONCE) as never[], {
      session,
    })
  }
  await prepone(stores, session, run, invoices)
  const left = open.flatMap((result) => (result.outcome === null ? (result.left ?? []) : []))
  await settleLines(catalog, session, left)
  await parkAccounts(stores, session, run.cycle, failed)
  await forgetParked(
    stores,
    session,
    run.cycle,
    open.flatMap(({ aid, outcome }) => (outcome instanceof Error ? [] : [aid])),
  )
  return {
    ...NO_COUNTS,
    accounts: results.length,
    invoices: invoices.length,
    empty: empty.length,
    confirmed: confirmed.size,
    failed: failed.length,
  }
}

type Found = ReadonlyMap<number, BillrunDocument>

async function readFormer(
  { catalog }: RunStores,
  session: ClientSession,
  key: string,
  aids: readonly number[],
): Promise<[Found, ReadonlyMap<number, number>]> {
  const filter = { aid: { $in: [...aids] }, billrun_key: key }
  const projection = { aid: 1, billrun_key: 1, invoice_id: 1, billed: 1 }
  const found = await catalog.billrun.find(filter, { session, projection }).toArray()
  const voids = await catalog.voidinvoices.find(filter, { session }).toArray()
  return [
    new Map(found.map((each) => [each.aid, each])),
    new Map(voids.map(({ aid, _id }) => [aid, _id])),
  ]
}

/** Only an account with an invoice has lines of an earlier run. */
async function removeLines(
  { catalog }: RunStores,
  session: ClientSession,
  key: string,
  open: readonly StoredResult[],
  found: Found,
): Promise<void> {
  const former = open.filter(({ aid, outcome }) => found.has(aid) && !(outcome instanceof Error))
  if (former.length === 0) return
  const filter = { aid: { $in: former.map(({ aid }) => aid) }, billrun: key, source: 'billrun' }
  await catalog.lines.deleteMany(filter as never, { session })
}

/** An account keeps its number, also that of an invoice which became void. */
async function numbersFor(
  stores: RunStores,
  session: ClientSession,
  invoices: readonly AccountInvoice[],
  found: Found,
  voids: ReadonlyMap<number, number>,
): Promise<Map<number, number>> {
  const { catalog } = stores
  const numbers = new Map<number, number>()
  const reused: number[] = []
  for (const { aid } of invoices) {
    const own = found.get(aid)?.invoice_id
    const former = own ?? voids.get(aid)
    if (former === undefined) continue
    numbers.set(aid, former)
    if (own === undefined) reused.push(former)
  }
  if (reused.length > 0) {
    await catalog.voidinvoices.deleteMany({ _id: { $in: reused } }, { session })
  }
  const without = invoices.filter(({ aid }) => !numbers.has(aid))
  const taken = await nextInvoiceIds({ catalog, session }, SERIES, without.length)
  for (const [index, { aid }] of without.entries()) numbers.set(aid, taken[index] ?? 0)
  return numbers
}

function documentOf(
  { aid, billrunKey, invoice }: AccountInvoice,
  invoiceId: number,
  { cycle, data, nowMs }: ResultsOfRun,
): BillrunDocument {
  const { zone } = cycle.calendar
  const { dueDate, notBefore } = dueDatesOf(invoice, new Date(nowMs), data.billrun, zone)
  return {
    ...invoice,
    aid,
    billrun_key: billrunKey,
    invoice_id: invoiceId,
    due_date: dueDate,
    charge: { not_before: notBefore },
  }
}

async function writeInvoices(
  { catalog }: RunStores,
  session: ClientSession,
  documents: readonly BillrunDocument[],
  found: Found,
): Promise<void> {
  const added = documents.filter(({ aid }) => !found.has(aid))
  if (added.length > 0) {
    await catalog.billrun.insertMany([...added], { session })
  }
  const replaced: AnyBulkWriteOperation<BillrunDocument>[] = documents
    .filter(({ aid }) => found.has(aid))
    .map((replacement) => {
      const { aid, billrun_key } = replacement
      return { replaceOne: { filter: { aid, billrun_key }, replacement } }
    })
  if (replaced.length > 0) {
    await catalog.billrun.bulkWrite(replaced, { session })
  }
}

async function voidInvoices(
  { catalog }: RunStores,
  session: ClientSession,
  { cycle: { key }, nowMs }: ResultsOfRun,
  empty: readonly number[],
  found: Found,
): Promise<void> {
  const former = empty.flatMap((aid) => found.get(aid) ?? [])
  if (former.length === 0) return
  await catalog.billrun.deleteMany(
    { aid: { $in: former.map(({ aid }) => aid) }, billrun_key: key },
    { session },
  )
  const voided = former.flatMap(({ aid, invoice_id: id }) =>
    id === undefined
      ? []
      : [
          {
            _id: id,
            series: SERIES,
            aid,
            billrun_key: key,
            reason: NOT_NEEDED,
            voided: new Date(nowMs),
          },
        ],
  )
  await catalog.voidinvoices.insertMany(voided, { session })
}

async function prepone(
  { catalog }: RunStores,
  session: ClientSession,
  { cycle: { key }, nowMs }: ResultsOfRun,
  invoices: readonly AccountInvoice[],
): Promise<void> {
  const stamps = invoices.flatMap((invoice) => [...invoice.prepone])
  if (stamps.length === 0) return
  await catalog.lines.updateMany(
    { stamp: { $in: stamps } },
    { $set: { billrun: key, preponed: new Date(nowMs) } } as object,
    { session },
  )
}
