/**
 * Money that no run returns: what confirmed invoices of earlier cycles would charge by today's
 * revisions, and do not. A run corrects what was paid ahead for its own cycle, nothing before it.
 */
import type { Catalog } from '../../catalog/connection.ts'
import type { CycleLineDocument } from '../../catalog/records/money/cycle-line.ts'
import { keyAfter } from '../cycle/cycle-key.ts'
import { changedLines } from '../cycle/reconcile.ts'
import { type RunCycle, runCycleOf } from '../cycle/run-cycle.ts'
import type { AccountSource } from './account-source.ts'
import { type Assumed, withAssumed } from './assumed.ts'
import { type ChangedLine, changeOf, comparableLine, readStoredLines } from './changed-lines.ts'
import { type ComputeAccount, computeOne } from './process-page.ts'
import { readAccounts } from './read-accounts.ts'
import type { RunData } from './run-data.ts'

/** A line of a confirmed invoice that today's revisions would not make, or make differently. */
export interface UnreturnedLine extends ChangedLine {
  /** The cycle whose confirmed invoice has it. */
  readonly cycle: string
}

export interface EarlierCycles {
  readonly cycle: RunCycle
  /** Cycles before it. */
  readonly back: number
  readonly aids: readonly number[]
  readonly source: Pick<AccountSource, 'customers'>
  readonly data: RunData
  readonly assumed: Assumed | null
  readonly nowMs: number
}

/** By account. Rejects with `CatalogUnavailableError` or `CustomerSystemError`. */
export async function readUnreturned(
  catalog: Catalog,
  compute: ComputeAccount,
  { cycle, back, aids, source, data, assumed, nowMs }: EarlierCycles,
): Promise<ReadonlyMap<number, UnreturnedLine[]>> {
  const unreturned = new Map<number, UnreturnedLine[]>()
  const { invoicingDay, installedDay, calendar } = cycle
  for (let months = back; months > 0; months -= 1) {
    const key = keyAfter(cycle.key, -months)
    const confirmed = await confirmedAccounts(catalog, key, aids)
    if (confirmed.length === 0) continue
    const run = runCycleOf({ key, invoicingDay }, { ...calendar, cycleDay: installedDay })
    const customers = await source.customers(run, confirmed)
    const [inputs, stored] = await Promise.all([
      readAccounts(catalog, run, data, { aids: confirmed, customers }, nowMs),
      readStoredLines(catalog, key, confirmed),
    ])
    for (const [aid, read] of inputs) {
      const due = linesOf(() => computeOne(withAssumed(read, assumed), compute)?.lines ?? [])
      if (due === null) continue
      const own = stored.filter((line) => line['aid'] === aid).map((line) => comparableLine(line))
      const changes = changedLines(due.filter(isFinal(key)), own.filter(isFinal(key)))
      const lines = changes.map((change) => ({ cycle: key, ...changeOf(change) }))
      if (lines.length > 0) unreturned.set(aid, [...(unreturned.get(aid) ?? []), ...lines])
    }
  }
  return unreturned
}

/** Charges that were paid ahead are corrected by the run of the cycle after it. */
function isFinal(key: string) {
  return ({ type, charged_billrun: charged }: CycleLineDocument) =>
    type !== 'usage' && charged <= key
}

/** Null for an account that cannot be computed for that cycle any more. */
function linesOf(compute: () => readonly CycleLineDocument[]): readonly CycleLineDocument[] | null {
  try {
    return compute()
  } catch {
    return null
  }
}

async function confirmedAccounts(
  catalog: Catalog,
  key: string,
  aids: readonly number[],
): Promise<number[]> {
  const filter = { aid: { $in: [...aids] }, billrun_key: key, billed: { $in: [1, 2] } }
  const found = await catalog.reads.billrun.find(filter, { projection: { aid: 1 } }).toArray()
  return found.map(({ aid }) => aid)
}
