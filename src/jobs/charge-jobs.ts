/** Jobs of charges: a run over many accounts, and the standing job for due charges. */
import type { AccountResult, PayMode } from '../billing/charges/account-run.ts'
import type { ChargeDeps } from '../billing/charges/attempt.ts'
import type { BillSelection, ChargeMode } from '../billing/charges/books.ts'
import { handleDueCharges } from '../billing/charges/due.ts'
import { chargeAccount } from '../billing/charges/run.ts'
import { EntityConflictError } from '../catalog/errors.ts'
import { realTimeOf } from '../runtime/clock.ts'
import { beginJob, type ClaimedJob } from './jobs.ts'
import type { JobHandler } from './runner.ts'

/** Selection of a run; kept in the options of its job. */
export interface RunOptions extends BillSelection {
  /** The accounts to charge; absent for all. */
  readonly aids?: readonly number[] | undefined
  readonly exclude?: readonly number[] | undefined
  /** `aids` is a page of all accounts: none of them was named. */
  readonly isPage?: boolean | undefined
  readonly payMode: PayMode
  readonly mode?: ChargeMode | undefined
  readonly uf?: Readonly<Record<string, unknown>> | undefined
  readonly reason: string
}

const PAGE_SIZE = 100
const STANDING_MS = 10_000
const TOKENIZATION_KEPT_MS = 7 * 86_400_000
const NODE = { by: 'node', id: '', name: '', address: '' } as const

/** Begins the standing job, unless there is one. */
export async function beginDueCharges(stores: Parameters<typeof beginJob>[0]): Promise<void> {
  const job = { kind: 'payments', subject: 'charges', options: {}, actor: NODE } as const
  await beginJob(stores, job)
}

export function dueChargesHandler(deps: ChargeDeps): JobHandler {
  return async (claimed, signal) => {
    await handleDueCharges(deps, signal, async () => {
      claimed.count('charges', 1)
      await claimed.saveProgress('charges')
    })
    await forgetTokenizations(deps)
    return deps.clock.nowMs() + (signal.aborted ? 0 : STANDING_MS)
  }
}

/** Hosted pages that nobody can return from any more. */
async function forgetTokenizations({ catalog, clock }: ChargeDeps): Promise<void> {
  const before = new Date(realTimeOf(clock).nowMs() - TOKENIZATION_KEPT_MS)
  await catalog.tokenizations.deleteMany({ expires: { $lte: before } })
}

/** Continues a run after the account of its last step. */
export function chargeRunHandler(deps: ChargeDeps): JobHandler {
  return async (claimed, signal) => {
    const options = claimed.job.options as unknown as RunOptions
    const excluded = new Set(options.exclude ?? [])
    let afterAid = Number(claimed.job.step) || 0
    for (;;) {
      const page = await pageOf(deps, options, afterAid)
      for (const aid of page) {
        if (signal.aborted) return deps.clock.nowMs()
        if (!excluded.has(aid)) await chargeOne(deps, claimed, options, aid)
        afterAid = aid
        await claimed.saveProgress(String(aid))
      }
      if (page.length === 0) return null
    }
  }
}

async function pageOf(
  { books, clock }: ChargeDeps,
  { aids, mode = 'charge', ...selection }: RunOptions,
  afterAid: number,
): Promise<readonly number[]> {
  if (aids === undefined) {
    const filter = { mode, selection, nowMs: clock.nowMs() }
    return books.accountsToCharge(filter, { afterAid, size: PAGE_SIZE })
  }
  return [...aids].filter((aid) => aid > afterAid).sort((one, other) => one - other)
}

async function chargeOne(
  deps: ChargeDeps,
  claimed: ClaimedJob,
  { aids, isPage, payMode, mode, uf, reason, ...selection }: RunOptions,
  aid: number,
): Promise<void> {
  const { _id, actor } = claimed.job
  const isNamed = aids !== undefined && isPage !== true
  const run = _id.toHexString()
  try {
    const accountRun = { aid, selection, payMode, mode, uf, isNamed, run, actor, reason }
    count(claimed, await chargeAccount(deps, accountRun))
  } catch (error) {
    // Others charge this account at the moment.
    if (!(error instanceof EntityConflictError)) throw error
    claimed.count('busy', 1)
  }
}

function count(claimed: ClaimedJob, { charges, skipped }: AccountResult): void {
  if (skipped !== null) claimed.count(skipped.replace(' ', '_'), 1)
  for (const { state } of charges) claimed.count(state, 1)
}
