/** Statuses of cycles. */
import type { Catalog } from '../../catalog/connection.ts'
import type { CycleRunDocument } from '../../catalog/records/cycle-documents.ts'
import type { BillingCalendar } from '../cycle-key.ts'
import { type RunCycle, type RunName, runCycleOf } from './run-cycle.ts'

export type CycleStatus =
  | 'to_rerun'
  | 'to_run'
  | 'running'
  | 'finished'
  | 'confirmed'
  | 'current'
  | 'future'

export type CycleTimeStatus = 'past' | 'present' | 'future'

export interface CycleState {
  readonly cycle: RunCycle
  readonly status: CycleStatus
  readonly run: CycleRunDocument | null
  /** Invoices of the cycle, and those that are confirmed. */
  readonly invoices: number
  readonly confirmed: number
}

/** Of all accounts of the key; with an invoicing day of those whose cycle ends on it. */
export async function readCycleState(
  catalog: Catalog,
  name: RunName,
  calendar: BillingCalendar,
  nowMs: number,
): Promise<CycleState> {
  const cycle = runCycleOf(name, calendar)
  const ofCycle = { billrun_key: name.key, end_date: new Date(cycle.cycle.endMs) }
  const filter = name.invoicingDay === null ? { billrun_key: name.key } : ofCycle
  const count = (more: object) =>
    catalog.run('count invoices', () => catalog.billrun.countDocuments({ ...filter, ...more }))
  const [run, invoices, confirmed] = await Promise.all([
    catalog.run('read a run of the cycle', () => catalog.cycleruns.findOne({ _id: cycle.id })),
    count({}),
    count({ billed: { $in: [1, 2] } }),
  ])
  return { cycle, status: statusOf(cycle, run, invoices, confirmed, nowMs), run, invoices, confirmed }
}

function statusOf(
  { cycle }: RunCycle,
  run: CycleRunDocument | null,
  invoices: number,
  confirmed: number,
  nowMs: number,
): CycleStatus {
  if (nowMs < cycle.startMs) return 'future'
  if (nowMs < cycle.endMs) return 'current'
  if (run !== null && run.state !== 'finished') return 'running'
  if (invoices > 0 && confirmed === invoices) return 'confirmed'
  if (run === null) return invoices > 0 ? 'to_rerun' : 'to_run'
  return 'finished'
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
