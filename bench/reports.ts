/**
 * A report over many lines, grouped by plan and day, on the embedded store: its time as a ratio to
 * reading the raw collection in the same run, the memory of the store, and what it costs writes.
 * `npm run bench:report -- --lines N --json FILE`, for `bench:docs`.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { type Catalog, openCatalog } from '../src/catalog/connection.ts'
import { loadConfig } from '../src/config/load.ts'
import { parseReport } from '../src/reports/definition.ts'
import { openReport } from '../src/reports/run.ts'
import { ROOT } from '../test/support/product/product.ts'
import { cpuMicros } from './cpu.ts'
import { median, round } from './measure/load.ts'
import { anonymousMib, byQuarter } from './measure/memory.ts'
import { emptyResults, writeResults } from './report/results.ts'
import { resultText } from './report/text.ts'
import type { ScenarioResult } from './scenario.ts'

const { values } = parseArgs({
  options: {
    lines: { type: 'string', default: '500000' },
    // Lines of the raw scan; all by default.
    scan: { type: 'string', default: '' },
    seconds: { type: 'string', default: '8' },
    // Until the pages of a large collection are on the disk.
    settle: { type: 'string', default: '2' },
    json: { type: 'string', default: '' },
    // Keeps the lines for the next run.
    data: { type: 'string', default: '' },
  },
})
const LINES = Number(values.lines)
const SCANNED = values.scan === '' ? LINES : Math.min(LINES, Number(values.scan))
const WRITE_MS = Number(values.seconds) * 1000
const BATCH = 5_000
const WRITERS = 4
const DAYS = 30
const PLANS = 20
const DAY_MS = 86_400_000
const START_MS = Date.UTC(2026, 4, 1)
const ZONE = 'Europe/Berlin'
const say = (text: string) => process.stdout.write(`${text}\n`)

/** With the fields of a line of usage. */
function line(index: number): Record<string, unknown> {
  const aid = 1 + (index % 100_000)
  const price = (index % 977) / 1000
  const urt = new Date(START_MS + (index % DAYS) * DAY_MS + (index % 86_400) * 1000)
  const tax = { tax: 0.17, amount: price * 0.17, description: 'Vat', key: 'VAT', type: 'vat' }
  return {
    stamp: `line-${index.toString(36)}`,
    v: 1,
    ...{ type: 'realtime', source: 'realtime', state: 'closed', late: false },
    ...{ aid, sid: aid, origin: 'pgw', session_id: `session-${index}`, rating_group: 10 },
    ...{ service_identifier: null, usaget: 'data', called_number: '', arate_key: 'DATA' },
    ...{
      plan: `PLAN_${Math.floor(index / DAYS) % PLANS}`,
      billrun: '202606',
      usagev: index % 10_000,
      in_group: 0,
    },
    ...{ over_group: 0, out_group: index % 10_000, priced_usagev: index % 10_000 },
    arategroups: [],
    rates: [
      { tariff_category: 'retail', key: 'DATA', add_to_retail: true, pricing: { charge: price } },
    ],
    ...{ price_of: 'BASE', band: '', aprice: price, final_charge: price * 1.17 },
    tax_data: { total_amount: price * 0.17, total_tax: 0.17, taxes: [tax] },
    exact: { aprice: String(price), tax: String(price * 0.17), final_charge: String(price * 1.17) },
    ...{ aprice_micros: (index % 977) * 1000, group_cost: 0, group_cost_micros: 0 },
    rating: [
      { step: 'price', category: 'retail', rate: 'DATA', part: 'charge', amount: String(price) },
    ],
    ...{ debt: 0, debt_micros: 0, account_debt_micros: 0, lapsed_usagev: 0, lapsed_micros: 0 },
    payments: [{ owner: 'subscriber', bucket_id: 1, pp_includes_external_id: 1, cost: price }],
    ...{ urt, last_urt: urt },
  }
}

/** Without the indexes of lines: the report reads all of them, and filling takes half the time. */
async function fill({ lines }: Catalog): Promise<void> {
  let next = 0
  const filler = async () => {
    while (next < LINES) {
      const from = next
      next = Math.min(next + BATCH, LINES)
      const documents = Array.from({ length: next - from }, (_, index) => line(from + index))
      await lines.insertMany(documents as never, { ordered: false, writeConcern: { w: 1 } })
      if (next % 500_000 === 0) say(`${next} lines`)
    }
  }
  // One encodes while the store writes the batch of the other.
  await Promise.all([filler(), filler()])
}

/** Reads every document as bytes, as a program that scans the collection would. */
async function scan({ unguarded: { lines } }: Catalog): Promise<number> {
  let found = 0
  const cursor = lines.find({}, { raw: true, batchSize: 10_000, limit: SCANNED })
  while (await cursor.hasNext()) found += cursor.readBufferedDocuments().length
  return found
}

const REPORT = parseReport(
  {
    entity: 'usage',
    type: 1,
    columns: [
      { field_name: 'plan', op: 'group' },
      { field_name: 'urt', key: 'day', op: 'group' },
      { field_name: 'usagev', op: 'sum' },
      { field_name: 'aprice', op: 'sum' },
      { field_name: 'stamp', key: 'n', op: 'count' },
    ],
    conditions: [{ field: 'type', op: 'eq', value: 'realtime' }],
    formats: [{ field: 'day', op: 'date_format', value: 'Y-m-d' }],
    sorts: [{ field: 'plan', op: 1 }],
  },
  () => [],
)

const config = loadConfig({ env: { TOLLGATE_RATING_TIME_ZONE: ZONE } })

async function report(catalog: Catalog, reader: Catalog, signal?: AbortSignal): Promise<number> {
  const run = { report: REPORT, skip: 0, limit: 1_000_000, nowMs: START_MS, signal }
  const rows = await openReport({ catalog, reader, config }, run)
  let groups = 0
  let lines = 0
  for await (const batch of rows.batches()) {
    groups += batch.length
    for (const row of batch) lines += Number(row.at(-1))
  }
  if (lines !== LINES) throw new Error(`the report has ${lines} lines`)
  return groups
}

interface Read {
  readonly seconds: number
  /** Processor time of the store and of this process, s. */
  readonly store: number
  readonly client: number
  /** The largest memory of the store in each quarter of the time, MiB. */
  readonly mib: readonly number[]
  readonly result: number
}

async function measured(pid: number, work: () => Promise<number>): Promise<Read> {
  const samples = [anonymousMib(pid)]
  const timer = setInterval(() => samples.push(anonymousMib(pid)), 50)
  const [startedMs, store, client] = [performance.now(), cpuMicros(pid), cpuMicros(process.pid)]
  const result = await work()
  const seconds = (performance.now() - startedMs) / 1000
  clearInterval(timer)
  return {
    seconds,
    store: (cpuMicros(pid) - store) / 1e6,
    client: (cpuMicros(process.pid) - client) / 1e6,
    mib: byQuarter(samples),
    result,
  }
}

/** Inserted documents per second by writers that wait for their disk. */
async function writesPerSecond({ balances }: Catalog, from: number): Promise<number> {
  let written = 0
  const endMs = performance.now() + WRITE_MS
  const writer = async (id: number) => {
    for (let index = 0; performance.now() < endMs; index += 1) {
      const document = { aid: from + id, sid: index, bucket_id: 1, free: 100, v: 1 }
      await balances.insertOne(document as never)
      written += 1
    }
  }
  await Promise.all(Array.from({ length: WRITERS }, (_, id) => writer(id)))
  return (written * 1000) / WRITE_MS
}

interface Writes {
  readonly alone: number
  readonly beside: number
}

/** Write rates alone and beside reports, in turns, so that both see the same machine. */
async function measureWrites(catalog: Catalog, reader: Catalog): Promise<Writes> {
  const alone: number[] = []
  const beside: number[] = []
  for (let round = 0; round < 3; round += 1) {
    alone.push(await writesPerSecond(catalog, 1_000_000 + round * 20))
    const ended = new AbortController()
    const { signal } = ended
    const reports = (async () => {
      while (!signal.aborted) await report(catalog, reader, signal).catch(() => pause(10))
    })()
    beside.push(await writesPerSecond(catalog, 2_000_000 + round * 20))
    ended.abort()
    await reports
  }
  return { alone: median(alone), beside: median(beside) }
}

function resultOf(scan: Read, grouped: Read, { alone, beside }: Writes): ScenarioResult {
  const rowOf = (name: string, lines: number, { seconds, store, client, mib }: Read) => [
    name,
    round(seconds, 1),
    Math.round(lines / seconds),
    round(store, 1),
    round(client, 1),
    mib.join(', '),
  ]
  const share = (part: number, whole: number) => round(part / whole, 2)
  // The scan may have read only a part of the raw collection.
  const perLine = (name: 'seconds' | 'store' | 'client') =>
    grouped[name] / LINES / (scan[name] / SCANNED)
  return {
    figures: { lines: LINES, groups: grouped.result, report_seconds: round(grouped.seconds, 1) },
    ratios: {
      scan_to_report: round(1 / perLine('seconds'), 2),
      scan_to_report_processor: round(1 / perLine('store'), 2),
      writes_beside_to_alone: share(beside, alone),
    },
    goals: [],
    tables: [
      {
        title: `${LINES} lines, ${grouped.result} groups`,
        columns: [
          'read',
          'seconds',
          'lines/s',
          'processor time of the store, s',
          'of the client, s',
          'memory of the store by quarter, MiB',
        ],
        rows: [
          rowOf(`raw collection, ${SCANNED} lines`, SCANNED, scan),
          rowOf('report', LINES, grouped),
          [
            'report / raw collection, per line',
            round(perLine('seconds'), 2),
            '',
            round(perLine('store'), 2),
            round(perLine('client'), 3),
            '',
          ],
        ],
      },
      {
        title: 'Writes',
        columns: ['writes', 'per second'],
        rows: [
          ['alone', Math.round(alone)],
          ['beside reports that run all the time', Math.round(beside)],
          ['beside reports / alone', share(beside, alone)],
        ],
      },
    ],
    notes: ['memory: anonymous pages; pages of the file of the store are a cache'],
  }
}

interface Store {
  readonly url: string
  readonly pid: number
  stop(): Promise<void>
}

/** The embedded MongoDB as a process of its own. */
async function startStore(data: string): Promise<Store> {
  const program = join(ROOT, 'dist/src/embedded/mongo.js')
  const socket = join(mkdtempSync(join(tmpdir(), 'tg-')), 'mongo.sock')
  const child = spawn(process.execPath, [program, '--data', data, '--socket', socket], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const [message] = (await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(() => Promise.reject(new Error('embedded mongo did not start'))),
  ])) as [{ url: string }]
  return {
    url: message.url,
    pid: child.pid as number,
    async stop() {
      child.kill('SIGTERM')
      await once(child, 'exit')
      rmSync(join(socket, '..'), { recursive: true, force: true })
    },
  }
}

async function measure({ url, pid }: Store): Promise<ScenarioResult> {
  const connection = { url, database: 'bench', timeoutMs: 10_000, appName: 'bench' }
  const catalog = await openCatalog({ ...connection, readTimeoutMs: 3_600_000 })
  const reader = await openCatalog({ ...connection, readTimeoutMs: 3_600_000, readsReplica: true })
  try {
    await catalog.balances.deleteMany({})
    await catalog.balances.createIndex({ aid: 1, sid: 1, bucket_id: 1 }, { unique: true })
    const startedMs = performance.now()
    if ((await catalog.lines.findOne()) === null) {
      await fill(catalog)
      say(`${LINES} lines in ${((performance.now() - startedMs) / 1000).toFixed(0)} s`)
    }
    await pause(Number(values.settle) * 1000)
    const scanned = await measured(pid, () => scan(catalog))
    if (scanned.result !== SCANNED) throw new Error(`${scanned.result} lines`)
    const grouped = await measured(pid, () => report(catalog, reader))
    return resultOf(scanned, grouped, await measureWrites(catalog, reader))
  } finally {
    await Promise.all([catalog.close(), reader.close()])
  }
}

const isKept = values.data !== ''
const data = isKept ? values.data : mkdtempSync(join(tmpdir(), 'tg-data-'))
mkdirSync(data, { recursive: true })
const store = await startStore(data)
try {
  const result = await measure(store)
  say(resultText(result))
  if (values.json !== '') {
    const results = emptyResults(Date.now(), false)
    results.scenarios['report'] = result
    writeResults(values.json, results)
  }
} finally {
  await store.stop()
  if (!isKept) rmSync(data, { recursive: true, force: true })
}
