/** Computes the invoice that an account would get; nothing is stored. */
import type { Catalog } from '../../catalog/connection.ts'
import type { AccountInvoice, StoredRevision } from '../cycle/compute.ts'
import { type ComputeAccount, computeOne } from './process-page.ts'
import { readAccounts } from './read-accounts.ts'
import type { RunCycle } from './run-cycle.ts'
import { type RunConfig, readRunData } from './run-data.ts'

export interface Expectation {
  readonly aid: number
  readonly cycle: RunCycle
  /** Whether usage and credits are left out. */
  readonly ignoresLines: boolean
  /** In place of the stored revisions. */
  readonly account: readonly StoredRevision[] | null
  readonly subscribers: readonly StoredRevision[] | null
  readonly nowMs: number
}

/** Null without anything to invoice. Throws `CycleError` if the account cannot be computed. */
export async function expectedInvoice(
  { catalog, config }: { readonly catalog: Catalog; readonly config: RunConfig },
  compute: ComputeAccount,
  { aid, cycle, ignoresLines, account, subscribers, nowMs }: Expectation,
): Promise<AccountInvoice | null> {
  const data = await readRunData(catalog, config)
  const read = (await readAccounts(catalog, cycle, data, [aid], nowMs)).get(aid)
  if (read === undefined) return null
  if (read.input instanceof Error) throw read.input
  const input = {
    ...read.input,
    ...(ignoresLines && { lines: [], laterInstallments: [] }),
    ...(account !== null && { account }),
    ...(subscribers !== null && { subscribers }),
  }
  return computeOne({ ...read, input }, compute)
}
