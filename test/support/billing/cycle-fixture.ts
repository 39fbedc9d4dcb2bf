/** Runs of the cycle over stored accounts, with a small calculation in place of the real one. */
import { createHash } from 'node:crypto'
import { afterAll, beforeEach } from 'vitest'
import { calendarOf } from '../../../src/billing/credit/credits.ts'
import {
  type AccountCycle,
  type AccountInvoice,
  CycleError,
} from '../../../src/billing/cycle/compute.ts'
import { runCycleOf } from '../../../src/billing/cycle/run-cycle.ts'
import { storedAccounts } from '../../../src/billing/run/accounts.ts'
import { inlineWorkers } from '../../../src/billing/run/inline-workers.ts'
import {
  type PageWorkers,
  participate,
  type RunDeps,
} from '../../../src/billing/run/participate.ts'
import type { ComputeAccount } from '../../../src/billing/run/process-page.ts'
import { beginRun } from '../../../src/billing/run/runs.ts'
import { type Catalog, openCatalog } from '../../../src/catalog/connection.ts'
import type { CycleRunDocument } from '../../../src/catalog/records/money/cycle-documents.ts'
import { loadConfig } from '../../../src/config/load.ts'
import { createLogger } from '../../../src/runtime/log.ts'
import { startTestMongo } from '../mongo.ts'
import { useOpened } from '../opened.ts'
import { ACTOR } from './books.ts'

type Fields = Record<string, unknown>

export const KEY = '202606'
/** After the end of the cycle. */
export const RUN_MS = Date.UTC(2026, 5, 2)

export interface CycleFixture {
  catalog(): Catalog
  now(): number
  at(ms: number): void
  deps(compute?: ComputeAccount, pageSize?: number): RunDeps
  /** Accounts 1 to `count`, each with a subscriber that pays 10 and its number as cents. */
  addAccounts(count: number, more?: (aid: number) => Fields): Promise<void>
  run(options?: RunOptions): Promise<CycleRunDocument | null>
  /** By account, without times and ids of documents. */
  invoices(): Promise<Fields[]>
  lines(): Promise<Fields[]>
}

export interface RunOptions {
  readonly rerun?: boolean
  readonly compute?: ComputeAccount
  readonly pageSize?: number
  readonly signal?: AbortSignal
  readonly key?: string
  readonly day?: number
  readonly onProgress?: (run: CycleRunDocument, waiting: string) => void
}

export const config = loadConfig({ env: {} })
export const cycleOf = (key = KEY, invoicingDay: number | null = null) =>
  runCycleOf({ key, invoicingDay }, calendarOf(config))

export function useCycle(): CycleFixture {
  let catalog: Catalog
  let nowMs = RUN_MS
  let databases = 0
  const mongo = useOpened(startTestMongo)
  beforeEach(async () => {
    await catalog?.close()
    databases += 1
    nowMs = RUN_MS
    const database = `${mongo().database}_${databases}`
    catalog = await openCatalog({ url: mongo().url, database, timeoutMs: 20_000, appName: 'test' })
    await catalog.ensureIndexes()
  })
  afterAll(async () => {
    await catalog?.close()
  })
  const log = createLogger({ name: 'test', level: 'silent' })
  const clock = { nowMs: () => nowMs }
  const deps: CycleFixture['deps'] = (compute = computeSmall, pageSize = 10) => {
    const openAccounts = async () => storedAccounts(catalog)
    const stores = { catalog, clock, config, log, pageSize, openAccounts }
    return { ...stores, workers: inlineWorkers({ ...stores, compute }) }
  }
  return {
    catalog: () => catalog,
    now: () => nowMs,
    at(ms) {
      nowMs = ms
    },
    deps,
    addAccounts: (count, more) => addAccounts(catalog, count, more),
    async run({ rerun = false, compute, pageSize, signal, key = KEY, day, onProgress } = {}) {
      const own = deps(compute, pageSize)
      const cycle = cycleOf(key, day ?? null)
      await beginRun(own, { cycle, rerun, generatePdf: false, actor: ACTOR })
      const watch = onProgress === undefined ? {} : { onProgress }
      return participate(own, cycle, signal ?? new AbortController().signal, watch)
    },
    async invoices() {
      return (await catalog.billrun.find().sort({ aid: 1, billrun_key: 1 }).toArray()).map(
        withoutTimes,
      )
    },
    async lines() {
      const found = await catalog.lines
        .find({ source: 'billrun' } as never)
        .sort({ aid: 1, sid: 1, stamp: 1 })
        .toArray()
      return found.map(withoutTimes)
    },
  }
}

function withoutTimes({ _id: _, creation_time: __, process_time: ___, ...rest }: Fields): Fields {
  return rest
}

/** Workers with the small calculation, or another one. */
export function smallWorkers(
  stores: Pick<RunDeps, 'catalog' | 'clock'>,
  compute = computeSmall,
): PageWorkers {
  const log = createLogger({ name: 'test', level: 'silent' })
  return inlineWorkers({ ...stores, config, compute, log })
}

export const FROM = new Date('2026-01-01T00:00:00Z')
export const TO = new Date('2170-01-01T00:00:00Z')

export async function addAccounts(
  catalog: Catalog,
  count: number,
  more: (aid: number) => Fields = () => ({}),
): Promise<void> {
  const documents = Array.from({ length: count }, (_, index) => {
    const aid = index + 1
    const common = { aid, from: FROM, to: TO, rev: 1 }
    return [
      {
        ...common,
        type: 'account',
        firstname: 'Dana',
        lastname: `Levi ${aid}`,
        email: `a${aid}@example.org`,
        ...more(aid),
      },
      { ...common, type: 'subscriber', sid: 10_000 + aid, plan: 'GOLD' },
    ]
  }).flat()
  await catalog.subscribers.insertMany(documents as never[])
}

/**
 * A line of 10 and the number of the account as cents for each subscriber, and the sum of the
 * account's usage; no tax.
 */
export const computeSmall: ComputeAccount = (input) => {
  const broken = input.account[0]?.['broken']
  if (typeof broken === 'string') throw new CycleError(input.aid, 'plan GOLD', broken)
  if (input.subscribers.length === 0 && input.lines.length === 0) return null
  return invoiceOf(input, 10 + input.aid / 100)
}

export function invoiceOf(input: AccountCycle, price: number): AccountInvoice {
  const { aid, cycle, nowMs } = input
  const usage = input.lines.reduce((sum, { aprice }) => sum + Number(aprice ?? 0), 0)
  const total = Math.round((input.subscribers.length * price + usage) * 100) / 100
  const amounts = {
    before_vat: total,
    after_vat: total,
    vatable: 0,
    exact: { before_vat: String(total), after_vat: String(total), vatable: '0' },
  }
  const account: Fields = input.account[0] ?? {}
  return {
    aid,
    billrunKey: cycle.key,
    prepone: [],
    taxChanges: [],
    others: input.lines,
    lines: input.subscribers.map((subscriber) => {
      const sid = Number((subscriber as Fields)['sid'])
      const id = `${aid} ${sid} ${cycle.key}`
      return {
        stamp: createHash('sha256').update(id).digest('hex').slice(0, 32),
        source: 'billrun',
        type: 'flat',
        usaget: 'flat',
        line_id: id,
        aid,
        sid,
        billrun: cycle.key,
        aprice: price,
        urt: new Date(cycle.endMs - 1000),
        process_time: new Date(nowMs),
      } as never
    }),
    invoice: {
      aid,
      billrun_key: cycle.key,
      invoice_date: new Date(cycle.endMs),
      start_date: new Date(cycle.startMs),
      end_date: new Date(cycle.endMs),
      creation_time: new Date(nowMs),
      attributes: {
        firstname: String(account['firstname']),
        lastname: String(account['lastname']),
        fullname: `${String(account['firstname'])} ${String(account['lastname'])}`,
        address: '',
        email: String(account['email']),
        payment_details: '',
        invoice_type: 'regular',
      },
      subs: [],
      added_data: {},
      tax_rules: {},
      account,
      totals: {
        ...amounts,
        after_vat_rounded: total,
        taxes: {},
        tax_data: { total_amount: 0, total_tax: 0, taxes: {} },
        current_balance: { after_vat: total },
        grouping: [],
      },
    },
  }
}
