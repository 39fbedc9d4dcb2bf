/** Cycles with the real calculation: stored accounts of one plan, invoices, confirmation. */
import type { DestinationStream } from 'pino'
import { computeAccount } from '../../../src/billing/cycle/compute.ts'
import { storedAccounts } from '../../../src/billing/run/accounts.ts'
import {
  type ConfirmDeps,
  type ConfirmResult,
  confirmInvoices,
} from '../../../src/billing/run/confirm.ts'
import { inlineWorkers } from '../../../src/billing/run/inline-workers.ts'
import { participate } from '../../../src/billing/run/participate.ts'
import { beginRun } from '../../../src/billing/run/runs.ts'
import { changeStoredConfig } from '../../../src/catalog/settings/stored-config.ts'
import { loadConfig } from '../../../src/config/load.ts'
import { createLogger, type Logger } from '../../../src/runtime/log.ts'
import { ACTOR } from './books.ts'
import { type CycleFixture, cycleOf, FROM, TO } from './cycle-fixture.ts'
import { inlineDocuments } from './invoices.ts'

export interface RealCycle {
  readonly deps: ConfirmDeps & { readonly log: Logger }
  /** Lines of the log. */
  readonly logged: string[]
  confirm(generatePdf?: boolean): Promise<ConfirmResult>
}

/** Runs the cycle for one account whose plan costs `price`, with settings by environment. */
export async function runReal(
  cycle: CycleFixture,
  price: number,
  env: Record<string, string>,
  generatePdf = false,
): Promise<RealCycle> {
  const logged: string[] = []
  const destination: DestinationStream = { write: (line) => void logged.push(line) }
  const log = createLogger({ name: 'test', level: 'warn', destination })
  const config = loadConfig({ env })
  const { catalog, clock } = cycle.deps()
  const openAccounts = async () => storedAccounts(catalog)
  const documents = inlineDocuments({ catalog, config })
  const deps = { catalog, clock, config, documents, log, openAccounts }
  await catalog.plans.insertOne({
    name: 'GOLD',
    from: FROM,
    to: TO,
    price: [{ from: 0, to: 'UNLIMITED', price }],
    recurrence: { frequency: 1, start: 1 },
    upfront: false,
    tax: [{ type: 'vat', taxation: 'no' }],
  } as never)
  await cycle.addAccounts(1)
  const order = { cycle: cycleOf(), rerun: false, generatePdf, actor: ACTOR }
  await beginRun(deps, order)
  const workers = inlineWorkers({ ...deps, compute: computeAccount })
  const abort = new AbortController()
  const run = await participate({ ...deps, pageSize: 10, workers }, cycleOf(), abort.signal)
  if (run?.counts.invoices !== 1) throw new Error(`no invoice: ${JSON.stringify(run)}`)
  return {
    deps,
    logged,
    confirm: (pdf) =>
      confirmInvoices(deps, {
        ...{ cycle: cycleOf(), invoices: null, actor: ACTOR },
        generatePdf: pdf,
      }),
  }
}

export async function storeSeller(cycle: CycleFixture, name: string): Promise<void> {
  const by = { by: 'test', nowMs: cycle.now() }
  await changeStoredConfig(cycle.catalog(), 'invoices', () => ({ seller: { name } }), by)
}
