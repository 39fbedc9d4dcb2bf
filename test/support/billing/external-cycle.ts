import { inlineWorkers } from '../../../src/billing/run/inline-workers.ts'
import { type Accounts, createAccounts } from '../../../src/billing/run/open-accounts.ts'
import { participate, type RunDeps } from '../../../src/billing/run/participate.ts'
import type { ComputeAccount } from '../../../src/billing/run/process-page.ts'
import { beginRun } from '../../../src/billing/run/runs.ts'
import type { CycleRunDocument } from '../../../src/catalog/records/money/cycle-documents.ts'
import { writeStoredConfig } from '../../../src/catalog/settings/stored-config.ts'
import { loadConfig } from '../../../src/config/load.ts'
import {
  asCustomer,
  type Crm,
  type CrmSettings,
  customerSettings,
  startCrm,
} from '../external/example-crm.ts'
import { useOpenedEach } from '../opened.ts'
import { ACTOR } from './books.ts'
import { type CycleFixture, computeSmall, cycleOf } from './cycle-fixture.ts'

export const externalConfig = loadConfig({
  env: { TOLLGATE_EXTERNAL_PRIVATE_RANGES: '127.0.0.0/8' },
})

export interface ExternalRun {
  readonly compute?: ComputeAccount
  readonly pageSize?: number
  readonly rerun?: boolean
  readonly day?: number
  readonly signal?: AbortSignal
  readonly onProgress?: (run: CycleRunDocument, waiting: string) => void
}

export interface ExternalCycle {
  crm(): Crm
  accounts(): Accounts
  /** Stores the settings of the customer system. */
  configure(more?: CrmSettings): Promise<void>
  /** Moves the stored accounts and subscribers to the customer system. */
  moveCustomers(): Promise<void>
  deps(compute?: ComputeAccount, pageSize?: number): RunDeps
  run(options?: ExternalRun): Promise<CycleRunDocument | null>
}

export function useExternalCycle(cycle: CycleFixture): ExternalCycle {
  const crm = useOpenedEach(
    () => startCrm([]),
    (opened) => opened.stop(),
  )
  const accounts = useOpenedEach(() =>
    createAccounts(cycle.catalog(), externalConfig, { nowMs: () => cycle.now() }),
  )
  const deps: ExternalCycle['deps'] = (compute = computeSmall, pageSize = 10) => {
    const own = { ...cycle.deps(compute, pageSize), config: externalConfig }
    const { openAccounts } = accounts()
    return { ...own, openAccounts, workers: inlineWorkers({ ...own, compute }) }
  }
  return {
    crm: () => crm(),
    accounts: () => accounts(),
    deps,
    async configure(more = {}) {
      const value = customerSettings(crm().url, more)
      const by = { nowMs: cycle.now(), by: 'test' }
      await writeStoredConfig(cycle.catalog(), 'subscribers', () => value, by)
    },
    async moveCustomers() {
      const { subscribers } = cycle.catalog()
      const stored = await subscribers.find().sort({ aid: 1, type: 1, sid: 1, from: 1 }).toArray()
      crm().revisions.push(...stored.map((each) => asCustomer(each as Record<string, unknown>)))
      await subscribers.deleteMany({})
    },
    async run({ compute, pageSize, rerun = false, day, signal, onProgress } = {}) {
      const own = deps(compute, pageSize)
      const named = cycleOf(undefined, day ?? null)
      await beginRun(own, { cycle: named, rerun, generatePdf: false, actor: ACTOR })
      const watch = onProgress === undefined ? {} : { onProgress }
      return participate(own, named, signal ?? new AbortController().signal, watch)
    },
  }
}

/** A revision of an account as the customer system sends it. */
export const account = (
  aid: number,
  more: Record<string, unknown> = {},
): Record<string, unknown> => ({
  type: 'account',
  aid,
  from: '2026-01-01 00:00:00',
  to: '2170-01-01 00:00:00',
  firstname: 'Dana',
  lastname: `Levi ${aid}`,
  email: `a${aid}@example.org`,
  ...more,
})

/** A revision of its subscriber. */
export const subscriber = (
  aid: number,
  more: Record<string, unknown> = {},
): Record<string, unknown> => ({
  ...account(aid),
  type: 'subscriber',
  sid: 10_000 + aid,
  plan: 'GOLD',
  ...more,
})
