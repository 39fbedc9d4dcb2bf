/**
 * Usage and credits that invoices depend on: those of the cycle, and late usage of earlier cycles
 * of which no confirmed invoice has the charge.
 */
import type { ClientSession } from '../../catalog/collections.ts'
import type { Catalog } from '../../catalog/connection.ts'
import { CatalogUnavailableError, SlowReadError } from '../../catalog/errors.ts'
import type { ReadLimits } from '../../catalog/guarded.ts'
import type { BillrunDocument } from '../../catalog/records/money/bill.ts'
import type { CycleUsageDocument } from '../../catalog/records/money/cycle-line.ts'
import type { CreditLineDocument } from '../../catalog/records/usage/credit-line.ts'
import type { RealtimeLineDocument } from '../../catalog/records/usage/line-document.ts'
import {
  IS_LATE_COPY,
  IS_UNINVOICED,
  type Uninvoiced,
} from '../../catalog/records/usage/uninvoiced.ts'
import type { Fields } from '../../domain/fields.ts'
import type { LateUsage } from '../cycle/late-usage.ts'
import { type RunCycle, runCycleOf } from '../cycle/run-cycle.ts'
import { invoicesOf, isConfirmed, UNCONFIRMED } from './stored-invoice.ts'

export type InputLine = (RealtimeLineDocument | CreditLineDocument) & {
  readonly uninvoiced?: Uninvoiced
}

/** The lines of one account. */
export interface InputLines {
  /** Lines of the cycle. */
  readonly own: readonly InputLine[]
  /** Usage of earlier cycles whose invoices are closed. */
  readonly late: readonly LateUsage[]
  /** Copies of lines of the cycle in confirmed invoices of later ones. */
  readonly taken: readonly CycleUsageDocument[]
}

export const NO_LINES: InputLines = { own: [], late: [], taken: [] }

/** How lines and invoices are read: on their own, or in a transaction. */
export interface LineReader {
  lines(filter: Fields, projection: Fields): Promise<Fields[]>
  invoices(filter: Fields, limit?: number): Promise<BillrunDocument[]>
}

const READ_LINES = 'read the lines of a page'
/** Lines of one read or write, which has a time limit. */
const BATCH = 1_000

/**
 * Waits like for an outage if the limit of reads is not enough on a busy machine: a run that gave
 * up each page would not get on.
 */
export function lineReader(catalog: Catalog, session?: ClientSession): LineReader {
  // Operations of a transaction must not overlap.
  let last: Promise<unknown> = Promise.resolve()
  const read = <T>(what: string, operation: (options: ReadOptions) => Promise<T>): Promise<T> => {
    if (session === undefined) return readPage(catalog.read(what, operation))
    const next = last.then(() => catalog.run(what, () => operation({ session })))
    last = next.catch(() => undefined)
    return next
  }
  return {
    async lines(filter, projection) {
      const options = { projection, batchSize: BATCH, ...(session && { session }) }
      const open = (more: { signal?: AbortSignal } = {}) =>
        catalog.unguarded.lines.find(filter as never, { ...options, ...more })
      // A time limit for each batch: a large customer has a hundred thousand lines.
      if (session === undefined) {
        const limits = { limitMs: Number.POSITIVE_INFINITY }
        const batches = catalog.readBatches(READ_LINES, ({ signal }) => open({ signal }), limits)
        return readPage(collected(batches as AsyncIterable<unknown> as AsyncIterable<Fields[]>))
      }
      const cursor = open()
      const found: Fields[] = []
      const next = async () => {
        if (!(await cursor.hasNext())) return false
        found.push(...(cursor.readBufferedDocuments() as unknown as Fields[]))
        return true
      }
      try {
        for (let hasMore = true; hasMore; ) hasMore = await read(READ_LINES, next)
        return found
      } finally {
        await cursor.close().catch(() => undefined)
      }
    },
    invoices: (filter, limit = 0) =>
      read('read the invoices of lines', (options) =>
        catalog.unguarded.billrun
          .find(filter as never, { ...options, limit, projection: INVOICE_FIELDS })
          .toArray(),
      ),
  }
}

async function collected(batches: AsyncIterable<Fields[]>): Promise<Fields[]> {
  const found: Fields[] = []
  for await (const batch of batches) found.push(...batch)
  return found
}

type ReadOptions = ReadLimits | { readonly session: ClientSession }

const INVOICE_FIELDS = { _id: 0, aid: 1, billrun_key: 1, billed: 1 }

export async function readPage<T>(read: Promise<T>): Promise<T> {
  try {
    return await read
  } catch (error) {
    if (error instanceof SlowReadError) throw new CatalogUnavailableError(error.message)
    throw error
  }
}

const COPY_FIELDS = {
  ...{ _id: 0, stamp: 1, aid: 1, billrun: 1, late_of: 1, charge_op: 1 },
  ...{ usagev: 1, aprice: 1, final_charge: 1, tax_data: 1, exact: 1 },
}

/** Fields of late usage: what its copy has. */
const LATE_FIELDS = {
  ...{ _id: 0, stamp: 1, v: 1, aid: 1, sid: 1, type: 1, usaget: 1, arate_key: 1, plan: 1 },
  ...{ billrun: 1, urt: 1, last_urt: 1, uninvoiced: 1, prepriced: 1 },
  ...{ usagev: 1, aprice: 1, final_charge: 1, tax_data: 1, exact: 1 },
}

/** By account. `projection`: fields of the lines of the cycle. Rejects as `catalog.read`. */
export async function readInputLines(
  reader: LineReader,
  run: RunCycle,
  aids: readonly number[],
  projection: Fields,
): Promise<ReadonlyMap<number, InputLines>> {
  const ofAccounts = { aid: { $in: [...aids] } }
  const [own, late, taken] = await Promise.all([
    reader.lines({ ...ofAccounts, billrun: run.key, source: { $ne: 'billrun' } }, projection),
    readLate(reader, run, aids),
    readTaken(reader, run.key, aids),
  ])
  const found = new Map<
    number,
    { own: InputLine[]; late: LateUsage[]; taken: CycleUsageDocument[] }
  >()
  const linesFor = (aid: unknown) => {
    const lines = found.get(Number(aid)) ?? { own: [], late: [], taken: [] }
    found.set(Number(aid), lines)
    return lines
  }
  for (const line of own) linesFor(line['aid']).own.push(line as unknown as InputLine)
  for (const line of late) linesFor(line.aid).late.push(line)
  for (const line of taken) linesFor(line.aid).taken.push(line)
  return found
}

async function readLate(
  reader: LineReader,
  run: RunCycle,
  aids: readonly number[],
): Promise<LateUsage[]> {
  const filter = { aid: { $in: [...aids] }, ...IS_UNINVOICED, billrun: { $lt: run.key } }
  const found = (await reader.lines(filter, LATE_FIELDS)) as unknown as LateUsage[]
  const isClosed = await closedCycles(reader, run, found)
  return found.filter((line) => isClosed(line))
}

type OfCycle = Pick<LateUsage, 'aid' | 'billrun'>

/**
 * A cycle is closed for an account if its invoice is confirmed, or if it has none and all others of
 * the cycle are confirmed. A line of another cycle belongs to the invoice that it may still get.
 */
async function closedCycles(
  reader: LineReader,
  { invoicingDay, installedDay, calendar }: RunCycle,
  lines: readonly OfCycle[],
): Promise<(line: OfCycle) => boolean> {
  if (lines.length === 0) return () => false
  const keys = [...new Set(lines.map(({ billrun }) => billrun))]
  const aids = [...new Set(lines.map(({ aid }) => aid))]
  const own = await reader.invoices({ aid: { $in: aids }, billrun_key: { $in: keys } })
  const confirmed = new Map(
    own.map((invoice) => [`${invoice.aid} ${invoice.billrun_key}`, isConfirmed(invoice)]),
  )
  const installed = { ...calendar, cycleDay: installedDay }
  const closed = new Set<string>()
  for (const key of keys) {
    const all = invoicesOf(runCycleOf({ key, invoicingDay }, installed))
    const [some] = await reader.invoices(all, 1)
    const [open] = some === undefined ? [] : await reader.invoices({ ...all, ...UNCONFIRMED }, 1)
    if (some !== undefined && open === undefined) closed.add(key)
  }
  return ({ aid, billrun }) => confirmed.get(`${aid} ${billrun}`) ?? closed.has(billrun)
}

/** Copies of lines of this cycle, by `late_of`, in confirmed invoices of later ones. */
export async function readTaken(
  reader: LineReader,
  key: string,
  aids: readonly number[],
): Promise<CycleUsageDocument[]> {
  const filter = { aid: { $in: [...aids] }, ...IS_LATE_COPY, charged_billrun: key }
  const copies = (await reader.lines(filter, COPY_FIELDS)) as unknown as CycleUsageDocument[]
  return confirmedCopies(reader, copies)
}

/** Copies in other invoices are replaced by the next run of their cycle. */
async function confirmedCopies(
  reader: LineReader,
  copies: readonly CycleUsageDocument[],
): Promise<CycleUsageDocument[]> {
  if (copies.length === 0) return []
  const found = await reader.invoices({
    aid: { $in: [...new Set(copies.map(({ aid }) => aid))] },
    billrun_key: { $in: [...new Set(copies.map(({ billrun }) => billrun))] },
    billed: { $in: [1, 2] },
  })
  const confirmed = new Set(found.map(({ aid, billrun_key: key }) => `${aid} ${key}`))
  return copies.filter(({ aid, billrun }) => confirmed.has(`${aid} ${billrun}`))
}

/** A version of a marked line, whose charge is settled. */
export interface SettledLine {
  readonly stamp: string
  readonly v: number
}

/** The marked lines: those that an invoice of these lines settles. */
export function markedLines({ own, late }: InputLines): SettledLine[] {
  return [...own, ...late].flatMap(({ stamp, uninvoiced, ...line }) =>
    uninvoiced === undefined ? [] : [{ stamp, v: Number((line as { v?: number }).v) }],
  )
}

/** Removes the marks of these versions; a newer one that was recorded meanwhile keeps its mark. */
export async function settleLines(
  catalog: Catalog,
  session: ClientSession,
  settled: readonly SettledLine[],
): Promise<void> {
  for (let first = 0; first < settled.length; first += BATCH) {
    const updates = settled.slice(first, first + BATCH).map(({ stamp, v }) => ({
      updateOne: { filter: { stamp, v }, update: { $unset: { uninvoiced: true } } },
    }))
    await catalog.lines.bulkWrite(updates as never[], { session })
  }
}
