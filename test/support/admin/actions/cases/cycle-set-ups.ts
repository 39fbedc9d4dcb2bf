/** Set-ups of the billing cycle, and of the invoices that it computes. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect } from 'vitest'
import { ACTIONS } from '../../../../../src/admin/actions/table.ts'
import { computeAccount } from '../../../../../src/billing/cycle/compute.ts'
import { storedAccounts } from '../../../../../src/billing/run/accounts.ts'
import { createCycle } from '../../../../../src/jobs/cycle/cycle.ts'
import { confirmHandler, cycleHandler } from '../../../../../src/jobs/cycle/jobs.ts'
import { jobsDue } from '../../../../../src/jobs/jobs.ts'
import { runJob } from '../../../../../src/jobs/runner.ts'
import { createLogger } from '../../../../../src/runtime/log.ts'
import {
  addAccounts,
  computeSmall,
  config,
  FROM,
  smallWorkers,
  TO,
} from '../../../billing/cycle-fixture.ts'
import { inlineThreads } from '../../../billing/invoices.ts'
import { type ActionServer, useActionServer } from '../action-server.ts'
import { emptied, type SetUp } from './set-up.ts'
import type { World } from './steps.ts'

/** Runs the jobs that are due, as the control plane does. */
async function runJobs(server: ActionServer): Promise<void> {
  const catalog = server.catalog()
  const clock = { nowMs: server.now }
  const log = createLogger({ name: 'test', level: 'silent' })
  const openAccounts = async () => storedAccounts(catalog)
  const startWorkers = () => smallWorkers({ catalog, clock })
  const startDocuments = () => inlineThreads({ catalog, config, openAccounts })
  const stores = { catalog, clock, config, log, openAccounts }
  const parts = createCycle({ ...stores, startWorkers, startDocuments })
  const metrics = { cycleRun: () => undefined }
  const handlers = { cycle: cycleHandler(parts, metrics), confirm: confirmHandler(parts) }
  for (const job of await jobsDue({ catalog, clock })) {
    await runJob({ catalog, clock, config, log, handlers }, job, new AbortController().signal)
  }
}

/** Five accounts that are computed by the small calculation. */
export function billrun(): SetUp {
  const server = useActionServer(ACTIONS)
  const empty = emptied(
    server,
    ...(['subscribers', 'billrun', 'bills', 'journal', 'books', 'lines', 'counters'] as const),
    ...(['config', 'cycleruns', 'cyclepages', 'cycleparked', 'voidinvoices', 'jobs'] as const),
  )
  return {
    server,
    async reset() {
      await empty()
      await addAccounts(server.catalog(), 5)
    },
    verbs: { jobs: () => runJobs(server) },
  }
}

/** Accounts with a plan, which are really computed. */
export function billrunConsole(): SetUp {
  const server = useActionServer(ACTIONS, {}, { compute: computeAccount })
  const empty = emptied(
    server,
    ...(['subscribers', 'billrun', 'lines', 'counters', 'cycleruns', 'cyclepages'] as const),
    ...(['cycleparked', 'jobs', 'audit', 'plans'] as const),
  )
  const lasting = { from: FROM, to: TO, rev: 1, connection_type: 'postpaid' }
  const monthly = { recurrence: { frequency: 1, start: 1 }, upfront: false }
  const price = [{ from: 0, to: 'UNLIMITED', price: 10.01 }]
  const tax = [{ type: 'vat', taxation: 'no' }]
  return {
    server,
    async reset() {
      await empty()
      const plan = { name: 'GOLD', ...lasting, ...monthly, price, tax }
      await server.catalog().plans.insertOne(plan as never)
    },
    verbs: {
      /** Accounts, of which some cannot be computed. */
      async accounts(_world: World, count: number, broken: readonly number[] = []) {
        await addAccounts(server.catalog(), count)
        const filter = { aid: { $in: broken }, type: 'subscriber' }
        const change = { $set: { plan: 'NONE' } }
        await server.catalog().subscribers.updateMany(filter as never, change)
      },
    },
  }
}

/** Five accounts, and a folder for the files of their invoices. */
export function invoices(): SetUp {
  const folder = mkdtempSync(join(tmpdir(), 'tg-expected-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  let computed = 0
  const compute: typeof computeSmall = (input) => {
    computed += 1
    return computeSmall(input)
  }
  const server = useActionServer(ACTIONS, { TOLLGATE_INVOICES_FOLDER: folder }, { compute })
  const draft = join(folder, '202607', '002', '2-0-draft.pdf')
  const empty = emptied(server, 'subscribers', 'billrun', 'lines', 'counters', 'cycleparked')
  return {
    server,
    async reset() {
      computed = 0
      rmSync(draft, { force: true })
      await empty()
      await addAccounts(server.catalog(), 5)
    },
    variablesOf: () => ({ draft }),
    verbs: {
      /** The file of the draft of account 2 begins with a text; it is removed. */
      file(_world: World, start: string) {
        expect(readFileSync(draft).subarray(0, start.length).toString()).toBe(start)
        rmSync(draft)
      },
      /** So many invoices have been computed in the case. */
      computed(_world: World, count: number) {
        expect(computed).toBe(count)
      },
      noFile() {
        expect(existsSync(draft)).toBe(false)
      },
    },
  }
}
