/**
 * Accounts per second of a run of the billing cycle (`tollgate cycle run`), as a ratio to the
 * driver alone reading the same documents and inserting as many invoices and lines in the same run.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { calendarOf } from '../src/billing/credit/credits.ts'
import { computeAccount } from '../src/billing/cycle/compute.ts'
import { runCycleOf } from '../src/billing/cycle/run-cycle.ts'
import { computeOne } from '../src/billing/run/process-page.ts'
import { readAccounts } from '../src/billing/run/read-accounts.ts'
import { readRunData } from '../src/billing/run/run-data.ts'
import { storeAccounts } from '../src/billing/run/store-accounts.ts'
import { type Catalog, openCatalog } from '../src/catalog/connection.ts'
import { loadConfig } from '../src/config/load.ts'
import { systemClock } from '../src/runtime/clock.ts'
import { insertEntity } from '../test/support/catalog/store.ts'
import { type Product, ROOT, startProduct } from '../test/support/product/product.ts'
import { accountDocuments, BILLED_KEY, insertOffers } from './cycle-data.ts'
import { type CpuOfNode, cpuOf, cpuOfNode } from './measure/threads.ts'

const { values } = parseArgs({
  options: {
    accounts: { type: 'string', default: '200000' },
    threads: { type: 'string', default: '2' },
  },
})
const ACCOUNTS = Number(values.accounts)
/** Accounts of a page of the run, and pages that it has under way for each thread. */
const PAGE = 100
const PAGES_AT_ONCE = 2 * Number(values.threads)
const INSERTED_AT_ONCE = 200
const SAMPLED_PAGES = 10
const QUARTERS = 4
const GOAL = 0.4
const MILLION = 1_000_000
const say = (text: string) => process.stdout.write(`${text}\n`)
const config = loadConfig({ env: {} })
const run = runCycleOf({ key: BILLED_KEY, invoicingDay: null }, calendarOf(config))

async function insertAccounts(catalog: Catalog): Promise<void> {
  await insertEntity(catalog, 'taxes')
  await insertOffers(catalog)
  for (let first = 1; first <= ACCOUNTS; first += INSERTED_AT_ONCE) {
    const count = Math.min(INSERTED_AT_ONCE, ACCOUNTS - first + 1)
    const all = Array.from({ length: count }, (_, index) => accountDocuments(first + index))
    await catalog.subscribers.insertMany(all.flatMap(({ revisions }) => revisions) as never[])
    await catalog.lines.insertMany(all.flatMap(({ lines }) => lines) as never[])
  }
}

interface RunFigures {
  seconds: number
  cpu: CpuOfNode
  mongoMicros: number
  /** MiB of the process, mean of each quarter of the accounts. */
  memory: number[]
}

/** `tollgate cycle run` as an operator starts it; its progress is read from the store. */
async function measureRun(product: Product, catalog: Catalog): Promise<RunFigures> {
  const mongoBefore = cpuOf(product.pid('mongo'))
  const child = spawnRun(product)
  const pid = child.pid as number
  const exited = once(child, 'exit')
  const samples: number[][] = Array.from({ length: QUARTERS }, () => [])
  let cpu: CpuOfNode = { main: 0, workers: 0, helpers: 0 }
  while (child.exitCode === null && child.signalCode === null) {
    try {
      const now = cpuOfNode(pid)
      // Threads that have ended are not counted by the kernel any more.
      cpu = {
        main: Math.max(cpu.main, now.main),
        workers: Math.max(cpu.workers, now.workers),
        helpers: Math.max(cpu.helpers, now.helpers),
      }
      const { counts } = (await catalog.cycleruns.findOne({ _id: run.id })) ?? {}
      const share = (counts?.accounts ?? 0) / ACCOUNTS
      const quarter = samples[Math.min(QUARTERS - 1, Math.floor(share * QUARTERS))]
      if (share > 0) quarter?.push(memoryOf(pid))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
    await pause(100)
  }
  const [code] = (await exited.catch(() => [child.exitCode])) as [number]
  if (code !== 0) throw new Error(`the run ended with ${code}`)
  const ended = await catalog.cycleruns.findOne({ _id: run.id })
  if (ended?.ended == null || ended.counts.invoices !== ACCOUNTS) {
    throw new Error(`the run has not made all invoices: ${JSON.stringify(ended?.counts)}`)
  }
  return {
    seconds: (ended.ended.getTime() - ended.started.getTime()) / 1000,
    cpu,
    mongoMicros: cpuOf(product.pid('mongo')) - mongoBefore,
    memory: samples.map((each) => each.reduce((sum, one) => sum + one, 0) / each.length),
  }
}

function spawnRun({ folder, mongoUrl, redisUrl, database }: Product): ChildProcess {
  const args = ['cycle', 'run', '--key', BILLED_KEY, '--threads', values.threads]
  return spawn(process.execPath, [join(ROOT, 'bin/tollgate.mjs'), ...args], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: folder,
      TOLLGATE_DATA_DIR: folder,
      TOLLGATE_REDIS_URL: redisUrl,
      TOLLGATE_MONGO_URL: mongoUrl,
      TOLLGATE_MONGO_DATABASE: database,
    },
  })
}

/** MiB of resident memory. */
function memoryOf(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024
}

/**
 * Seconds of the driver: the documents of each page in two reads, then invoices and lines of the
 * page, copies of stored ones with other identities, into a database with the same indexes.
 */
async function measureDriver(catalog: Catalog, empty: Catalog): Promise<number> {
  const first = { aid: { $in: Array.from({ length: PAGE }, (_, index) => index + 1) } }
  const written = { ...first, billrun: BILLED_KEY, source: 'billrun' }
  const lines = await catalog.lines.find(written as never).toArray()
  const invoices = await catalog.billrun.find(first).toArray()
  let next = 0
  const startedMs = performance.now()
  await Promise.all(
    Array.from({ length: PAGES_AT_ONCE }, async () => {
      while (next < ACCOUNTS) {
        const after = next
        next += PAGE
        const aids = Array.from(
          { length: Math.min(PAGE, ACCOUNTS - after) },
          (_, i) => after + 1 + i,
        )
        await catalog.subscribers.find({ aid: { $in: aids } } as never).toArray()
        const usage = { aid: { $in: aids }, billrun: BILLED_KEY, source: { $ne: 'billrun' } }
        await catalog.lines.find(usage as never).toArray()
        const copyOf = (document: object & { aid: number }) => {
          const { _id: _, ...fields } = document as { _id?: unknown; aid: number }
          return { ...fields, aid: document.aid + after }
        }
        const isOwn = ({ aid }: { aid: number }) => aid <= aids.length
        const own = (invoices as unknown as { aid: number }[]).filter(isOwn).map(copyOf)
        await empty.billrun.insertMany(
          own.map((each) => ({ ...each, invoice_id: 100 + each.aid })) as never[],
        )
        const copies = (lines as unknown as { aid: number; stamp: string }[]).filter(isOwn)
        await empty.lines.insertMany(
          copies.map((each) => ({ ...copyOf(each), stamp: `${each.stamp}${after}` })) as never[],
        )
      }
    }),
  )
  return (performance.now() - startedMs) / 1000
}

/** Milliseconds per account of each stage, one page after the other on one thread. */
async function measureStages(catalog: Catalog, mongo: number): Promise<void> {
  const data = await readRunData(catalog, config)
  const stores = { catalog, clock: systemClock }
  const spent = { read: [0, 0], compute: [0, 0], write: [0, 0] }
  const timed = async <T>(stage: keyof typeof spent, act: () => Promise<T>): Promise<T> => {
    const [startedMs, before] = [performance.now(), cpuOf(mongo)]
    const result = await act()
    const [tookMs = 0, cpuMs = 0] = spent[stage]
    spent[stage] = [tookMs + performance.now() - startedMs, cpuMs + (cpuOf(mongo) - before) / 1000]
    return result
  }
  const pages = Math.min(SAMPLED_PAGES, Math.floor(ACCOUNTS / PAGE))
  for (let page = 0; page < pages; page += 1) {
    const aids = Array.from({ length: PAGE }, (_, index) => page * PAGE + index + 1)
    const ofPage = { aid: { $in: aids } }
    // The page is stored like one of a first run.
    await catalog.billrun.deleteMany(ofPage)
    await catalog.lines.deleteMany({ ...ofPage, source: 'billrun' } as never)
    const nowMs = systemClock.nowMs()
    const inputs = await timed('read', () =>
      readAccounts(catalog, run, data, { aids, customers: null }, nowMs),
    )
    const results = await timed('compute', async () =>
      [...inputs].map(([aid, read]) => ({ aid, outcome: computeOne(read, computeAccount) })),
    )
    await timed('write', () =>
      catalog.transaction('store a page', (session) =>
        storeAccounts(stores, session, { cycle: run, data, nowMs }, results),
      ),
    )
  }
  say(`one page after the other on one thread, ${pages} pages of ${PAGE}, per account:`)
  for (const [stage, [tookMs = 0, cpuMs = 0]] of Object.entries(spent)) {
    const per = (ms: number) => (ms / (pages * PAGE)).toFixed(2)
    say(`  ${stage.padEnd(8)} ${per(tookMs)} ms, of it processor time of MongoDB ${per(cpuMs)} ms`)
  }
}

async function main(product: Product, catalog: Catalog, empty: Catalog): Promise<void> {
  say(`load average ${loadavg()[0]?.toFixed(1)}`)
  await Promise.all([catalog.ensureIndexes(), empty.ensureIndexes()])
  await insertAccounts(catalog)
  say(`${ACCOUNTS} accounts are inserted`)
  const before = await catalog.unguarded.lines.estimatedDocumentCount()
  const { seconds, cpu, mongoMicros, memory } = await measureRun(product, catalog)
  const lines = (await catalog.unguarded.lines.estimatedDocumentCount()) - before
  const rate = ACCOUNTS / seconds
  say(`run: ${rate.toFixed(0)} accounts/s (${seconds.toFixed(1)} s), ${lines} lines written`)
  say(`a million accounts: ${(MILLION / rate / 3600).toFixed(1)} hours`)
  say(`memory of the process by quarter: ${memory.map((each) => each.toFixed(0)).join(', ')} MiB`)
  const per = (micros: number) => `${(micros / 1000 / ACCOUNTS).toFixed(2)} ms`
  say(
    `processor time per account: worker threads ${per(cpu.workers)}, ` +
      `main thread ${per(cpu.main)}, ` +
      `garbage collection and compiler ${per(cpu.helpers)}, MongoDB ${per(mongoMicros)}`,
  )
  const driver = await measureDriver(catalog, empty)
  const ratio = driver / seconds
  say(
    `the driver alone: ${(ACCOUNTS / driver).toFixed(0)} accounts/s; ratio ${ratio.toFixed(2)} ` +
      `(goal ${GOAL})`,
  )
  await measureStages(catalog, product.pid('mongo'))
  say(`load average ${loadavg()[0]?.toFixed(1)}`)
}

const product = await startProduct({ roles: [] })
const connection = { url: product.mongoUrl, timeoutMs: 60_000, appName: 'bench' }
const catalog = await openCatalog({ ...connection, database: product.database })
const empty = await openCatalog({ ...connection, database: `${product.database}_driver` })
try {
  await main(product, catalog, empty)
} finally {
  await Promise.all([catalog.close(), empty.close()])
  await product.stop()
}
