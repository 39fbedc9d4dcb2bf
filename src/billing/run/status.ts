/** Statuses of cycles. */
import type { Filter } from '../../catalog/collections.ts'
import type { Catalog } from '../../catalog/connection.ts'
import type { BillrunDocument } from '../../catalog/records/money/bill.ts'
import type { CycleRunDocument } from '../../catalog/records/money/cycle-documents.ts'
import { exactAmount } from '../../catalog/records/money/exact-amount.ts'
import { type BillingCalendar, type CycleStatus, cycleStatus } from '../cycle/cycle-key.ts'
import { type RunCycle, type RunName, runCycleOf } from '../cycle/run-cycle.ts'
import { invoicesOf, UNCONFIRMED } from '../invoices/stored-invoice.ts'

export type CycleTimeStatus = 'past' | 'present' | 'future'

export interface CycleState {
  readonly cycle: RunCycle
  readonly status: CycleStatus
  readonly run: CycleRunDocument | null
}

export interface InvoiceCounts {
  readonly invoices: number
  /** Invoices that are confirmed, or decided not to be billed. */
  readonly confirmed: number
}

export async function readCycleState(
  catalog: Catalog,
  name: RunName,
  calendar: BillingCalendar,
  nowMs: number,
): Promise<CycleState> {
  const cycle = runCycleOf(name, calendar)
  const exists = async (more: Filter<BillrunDocument>) => {
    const filter = { ...invoicesOf(cycle), ...more } as Filter<BillrunDocument>
    const found = await catalog.billrun.findOne(filter, { projection: { _id: 1 } })
    return found !== null
  }
  const [run, hasInvoices, hasOpen] = await Promise.all([
    catalog.cycleruns.findOne({ _id: cycle.id }),
    exists({}),
    exists(UNCONFIRMED),
  ])
  const isOver = run?.state === 'finished'
  // The status depends only on whether there are any, and whether one is not confirmed.
  const invoices = hasInvoices ? 1 : 0
  const status = cycleStatus({
    startMs: cycle.cycle.startMs,
    endMs: cycle.cycle.endMs,
    nowMs,
    run: run === null ? 'none' : isOver ? 'ended' : 'running',
    invoices,
    confirmed: hasOpen ? 0 : invoices,
  })
  return { cycle, status, run }
}

export async function countInvoices(catalog: Catalog, cycle: RunCycle): Promise<InvoiceCounts> {
  const count = (more: Filter<BillrunDocument>) =>
    catalog.reads.billrun.countDocuments({
      ...invoicesOf(cycle),
      ...more,
    } as Filter<BillrunDocument>)
  const [invoices, confirmed] = await Promise.all([count({}), count({ billed: { $in: [1, 2] } })])
  return { invoices, confirmed }
}

export interface InvoiceSums {
  readonly invoices: number
  readonly before_vat: string
  readonly after_vat: string
}

/** Sums of the invoices that are not confirmed. */
export async function sumUnconfirmed(
  catalog: Catalog,
  cycle: RunCycle,
  signal?: AbortSignal,
): Promise<InvoiceSums> {
  const decimal = (name: string) => ({
    $sum: { $convert: { input: `$totals.exact.${name}`, to: 'decimal', onError: null } },
  })
  const sums = { before_vat: decimal('before_vat'), after_vat: decimal('after_vat') }
  const pipeline = [
    { $match: { ...invoicesOf(cycle), ...UNCONFIRMED } },
    { $group: { _id: null, invoices: { $sum: 1 }, ...sums } },
  ]
  const [found] = await catalog.reads.billrun.aggregate(pipeline, { signal }).toArray()
  const { invoices = 0, before_vat, after_vat } = found ?? {}
  const text = (sum: unknown) => exactAmount(sum).toFixed()
  return { invoices: Number(invoices), before_vat: text(before_vat), after_vat: text(after_vat) }
}

export function timeStatusOf({ cycle }: RunCycle, nowMs: number): CycleTimeStatus {
  if (nowMs < cycle.startMs) return 'future'
  return nowMs < cycle.endMs ? 'present' : 'past'
}

/** Percent of the accounts, with two decimals; below 100 until the run is finished. */
export function completionPercent(run: CycleRunDocument | null): number {
  if (run === null) return 0
  if (run.state === 'finished') return 100
  const share = run.total === 0 ? 0 : run.counts.accounts / run.total
  return Math.min(99.99, Math.round(share * 10_000) / 100)
}

export function percentOf(part: number, whole: number): number {
  return whole === 0 ? 0 : Math.round((part / whole) * 10_000) / 100
}
