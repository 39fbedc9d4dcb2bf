/**
 * A report over many lines, grouped by plan and day, on the embedded store: its time as a ratio to
 * reading the raw collection in the same run, the memory of the store, and what it costs writes.
 */
import { readFileSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { parseReport } from '../src/admin/reports/definition.ts'
import { openReport } from '../src/admin/reports/run.ts'
import { type Catalog, openCatalog } from '../src/catalog/connection.ts'
import { loadConfig } from '../src/config/load.ts'
import { startProduct } from '../test/support/product/product.ts'

const { values } = parseArgs({
  options: {
    lines: { type: 'string', default: '500000' },
    seconds: { type: 'string', default: '8' },
  },
})
const LINES = Number(values.lines)
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
    ...{ plan: `PLAN_${index % PLANS}`, billrun: '202606', usagev: index % 10_000, in_group: 0 },
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

async function fill({ lines }: Catalog): Promise<void> {
  for (let from = 0; from < LINES; from += BATCH) {
    const count = Math.min(BATCH, LINES - from)
    const documents = Array.from({ length: count }, (_, index) => line(from + index))
    await lines.insertMany(documents as never, { ordered: false, writeConcern: { w: 1 } })
  }
}

async function timed<T>(work: () => Promise<T>): Promise<[ms: number, result: T]> {
  const startedMs = performance.now()
  const result = await work()
  return [performance.now() - startedMs, result]
}

/** Reads every document as bytes, as a program that scans the collection would. */
async function scan({ lines }: Catalog): Promise<number> {
  let found = 0
  const cursor = lines.find({}, { raw: true, batchSize: 10_000 })
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

async function report(catalog: Catalog, reader: Catalog): Promise<number> {
  const run = { report: REPORT, skip: 0, limit: 1_000_000, nowMs: START_MS }
  const rows = await openReport({ catalog, reader, config }, run)
  let groups = 0
  for await (const batch of rows.batches()) groups += batch.length
  return groups
}

/** Memory of a process that is not the cache of a file, in MiB. */
function anonymousMib(pid: number): number {
  const [, kib = '0'] = /RssAnon:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kib) / 1024
}

/** The largest memory of the process while `work` runs. */
async function peakOf<T>(pid: number, work: () => Promise<T>): Promise<[mib: number, result: T]> {
  let peak = anonymousMib(pid)
  const timer = setInterval(() => {
    peak = Math.max(peak, anonymousMib(pid))
  }, 100)
  const result = await work()
  clearInterval(timer)
  return [peak, result]
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

/** Write rates alone and beside reports, in turns, so that both see the same machine. */
async function measureWrites(catalog: Catalog, reader: Catalog): Promise<void> {
  const alone: number[] = []
  const beside: number[] = []
  for (let round = 0; round < 3; round += 1) {
    alone.push(await writesPerSecond(catalog, 1_000_000 + round * 20))
    let isOver = false
    const reports = (async () => {
      while (!isOver) await report(catalog, reader).catch(() => pause(10))
    })()
    beside.push(await writesPerSecond(catalog, 2_000_000 + round * 20))
    isOver = true
    await reports
  }
  const middle = (all: number[]) => all.toSorted((a, b) => a - b)[1] ?? 0
  const [without, with_] = [middle(alone), middle(beside)]
  say(`writes: ${without.toFixed(0)}/s alone, ${with_.toFixed(0)}/s beside a running report`)
  say(`writes beside a report / alone: ${(with_ / without).toFixed(2)}`)
}

const product = await startProduct({ roles: [] })
try {
  const { mongoUrl: url, database } = product
  const connection = { url, database, timeoutMs: 10_000, appName: 'bench' }
  const catalog = await openCatalog({ ...connection, readTimeoutMs: 3_600_000 })
  const reader = await openCatalog({ ...connection, readTimeoutMs: 3_600_000, readsReplica: true })
  try {
    await catalog.ensureIndexes()
    const [filledMs] = await timed(() => fill(catalog))
    say(`${LINES} lines in ${(filledMs / 1000).toFixed(0)} s`)
    const pid = product.pid('mongo')
    const [scanPeak, [scanMs, found]] = await peakOf(pid, () => timed(() => scan(catalog)))
    if (found !== LINES) throw new Error(`${found} lines`)
    const before = anonymousMib(pid)
    const [peak, [reportMs, groups]] = await peakOf(pid, () => timed(() => report(catalog, reader)))
    say(`raw scan: ${(scanMs / 1000).toFixed(1)} s, store at most ${scanPeak.toFixed(0)} MiB`)
    say(
      `report: ${groups} groups in ${(reportMs / 1000).toFixed(1)} s, ` +
        `${(LINES / reportMs).toFixed(0)}k lines/s, store ${before.toFixed(0)} MiB before, ` +
        `at most ${peak.toFixed(0)} MiB`,
    )
    say(`report / raw scan: ${(reportMs / scanMs).toFixed(2)}`)
    await measureWrites(catalog, reader)
  } finally {
    await Promise.all([catalog.close(), reader.close()])
  }
} finally {
  await product.stop()
}
