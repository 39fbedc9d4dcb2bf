/**
 * Records per second of `tollgate intake`: from the file until they are charged, and until their
 * lines are in MongoDB, as a ratio to inserting as many lines raw in the same run. With `--rerate`
 * the subscribers are postpaid, and all lines are rerated at other prices afterwards.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { type Catalog, openCatalog } from '../src/catalog/connection.ts'
import { writeStoredConfig } from '../src/catalog/settings/stored-config.ts'
import { loadConfig } from '../src/config/load.ts'
import { createLedger } from '../src/ledger/ledger.ts'
import { oldestEntryMs } from '../src/ledger/streams.ts'
import { createLogger } from '../src/runtime/log.ts'
import { openRedis } from '../src/store/redis.ts'
import { type Entity, FIRST_SID, populate } from '../test/support/product/population.ts'
import { type Product, ROOT, startProduct } from '../test/support/product/product.ts'
import { round } from './measure/load.ts'
import { anonymousMib, byQuarter } from './measure/memory.ts'
import { type CpuOfNode, cpuOf, cpuOfNode } from './measure/threads.ts'

const { values } = parseArgs({
  options: {
    records: { type: 'string', default: '5000000' },
    subscribers: { type: 'string', default: '20000' },
    rerate: { type: 'boolean', default: false },
  },
})
const RECORDS = Number(values.records)
const SUBSCRIBERS = Number(values.subscribers)
const RAW_BATCH = 1_000
const RAW_AT_ONCE = 2
/** Stored lines that are inserted again, with other stamps. */
const SAMPLED_LINES = 20_000
const LOOK_MS = 200
const GOAL = 0.3
/** Ratio of rerated lines per second to those of the intake. */
const RERATE_GOAL = 0.5
const GIB = 1024 ** 3
/** Enough for any run: micros of money, bytes of data. */
const CREDITS = [
  { prepaidIncludeId: 1, amount: 1_000_000_000_000 },
  { prepaidIncludeId: 2, amount: 1000 * GIB },
]
const POSTPAID: Entity = {
  collection: 'plans',
  document: {
    name: 'BENCH_POSTPAID',
    description: 'Postpaid',
    connection_type: 'postpaid',
    price: [{ from: 0, to: 'UNLIMITED', price: 0 }],
    recurrence: { frequency: 1, start: 1 },
    upfront: false,
  },
}
/** Paths of prices of the demo catalogue, by rate. */
const PRICES = { DATA: 'data', CALL: 'call', SMS: 'sms' }
const FILE_TYPE = {
  file_type: 'BENCH',
  type: 'usage',
  parser: {
    type: 'separator',
    csv_has_header: true,
    structure: ['id', 'begin', 'msisdn', 'kind', 'volume'].map((name) => ({ name })),
  },
  processor: {
    date_field: 'begin',
    stamp_fields: 'id',
    usaget_mapping: [
      { src_field: 'kind', pattern: '/^GPRS$/', usaget: 'data', unit: 'kb1024' },
      { src_field: 'kind', pattern: '/^MOC$/', usaget: 'call', unit: 'seconds' },
      { src_field: 'kind', pattern: '/^SMS$/', usaget: 'sms', volume_type: 'value' },
    ].map((one) => ({ ...one, volume_src: one.volume_type === 'value' ? 1 : 'volume' })),
  },
}
const KINDS = ['GPRS', 'GPRS', 'GPRS', 'MOC', 'SMS']
const DAY_MS = 86_400_000
const say = (text: string) => process.stdout.write(`${text}\n`)
const log = createLogger({ name: 'bench', level: 'warn' })

/** Records of a day in the order of a switch: subscribers in turn, all kinds of usage. */
async function writeRecords(path: string): Promise<void> {
  const out = createWriteStream(path)
  out.write('id,begin,msisdn,kind,volume\n')
  const beginMs = Date.now() - DAY_MS
  let text = ''
  for (let index = 0; index < RECORDS; index += 1) {
    const sid = FIRST_SID + ((index * 7919) % SUBSCRIBERS)
    const at = new Date(beginMs + Math.floor((index / RECORDS) * DAY_MS)).toISOString()
    const msisdn = `88800${String(sid).padStart(9, '0')}`
    text += `b${index},${at},${msisdn},${KINDS[index % KINDS.length]},${1 + (index % 600)}\n`
    if (text.length < 1_000_000) continue
    if (!out.write(text)) await once(out, 'drain')
    text = ''
  }
  out.end(text)
  await once(out, 'finish')
}

interface Cpu {
  command: CpuOfNode
  recorder: CpuOfNode
  redis: number
  mongo: number
}

interface Figures {
  chargedSeconds: number
  recordedSeconds: number
  cpu: Cpu
  /** MiB of the process of the command, over the time. */
  mib: number[]
}

function spawnCommand(product: Product, args: readonly string[]): ChildProcess {
  const { folder, mongoUrl, redisUrl, database } = product
  return spawn(process.execPath, [join(ROOT, 'bin/tollgate.mjs'), ...args], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: folder,
      TOLLGATE_DATA_DIR: folder,
      TOLLGATE_REDIS_URL: redisUrl,
      TOLLGATE_MONGO_URL: mongoUrl,
      TOLLGATE_MONGO_DATABASE: database,
      ...passedOn,
    },
  })
}

/** Such as `--import` of a module that writes a profile. */
const passedOn = { NODE_OPTIONS: process.env['NODE_OPTIONS'] ?? '' }

/** A command as an operator starts it, beside a recorder, until its lines are recorded. */
async function measure(product: Product, args: readonly string[]): Promise<Figures> {
  const config = loadConfig({ env: {} })
  const redis = openRedis({ ...config.redis, url: product.redisUrl }, log)
  const ledger = createLedger(redis, config.ledger, 1)
  const pids = { recorder: product.pid('recorder'), redis: product.pid('redis') }
  const mongo = product.pid('mongo')
  const others = () => ({
    recorder: cpuOfNode(pids.recorder),
    redis: cpuOf(pids.redis),
    mongo: cpuOf(mongo),
  })
  const before = others()
  const startedMs = performance.now()
  const child = spawnCommand(product, args)
  const exited = once(child, 'exit') as Promise<[number | null]>
  let command: CpuOfNode = { main: 0, workers: 0, helpers: 0 }
  const mib: number[] = []
  while (child.exitCode === null && child.signalCode === null) {
    try {
      command = cpuOfNode(child.pid as number)
      mib.push(anonymousMib(child.pid as number))
    } catch (error) {
      if (!['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
    }
    await Promise.race([exited, pause(LOOK_MS)])
  }
  const chargedSeconds = (performance.now() - startedMs) / 1000
  const [code] = await exited
  if (code !== 0) throw new Error(`tollgate ${args[0]} ended with ${code}`)
  while ((await oldestEntryMs(ledger)) !== null) await pause(LOOK_MS / 10)
  const recordedSeconds = (performance.now() - startedMs) / 1000
  const after = others()
  await redis.close()
  const recorder = difference(after.recorder, before.recorder)
  const rest = { redis: after.redis - before.redis, mongo: after.mongo - before.mongo }
  return { chargedSeconds, recordedSeconds, cpu: { command, recorder, ...rest }, mib }
}

function difference(after: CpuOfNode, before: CpuOfNode): CpuOfNode {
  return {
    main: after.main - before.main,
    workers: after.workers - before.workers,
    helpers: after.helpers - before.helpers,
  }
}

interface Raw {
  seconds: number
  /** µs of MongoDB. */
  mongo: number
}

/** The driver alone: copies of stored lines into a database with the same indexes. */
async function measureRaw(catalog: Catalog, empty: Catalog, mongo: number): Promise<Raw> {
  const own = { type: 'realtime' } as never
  const lines = await catalog.lines.find(own).limit(SAMPLED_LINES).toArray()
  let next = 0
  const before = cpuOf(mongo)
  const startedMs = performance.now()
  const insert = async () => {
    while (next < RECORDS) {
      const from = next
      next = Math.min(RECORDS, next + RAW_BATCH)
      const copies = Array.from({ length: next - from }, (_, index) => {
        const at = from + index
        const line = lines[at % lines.length] as unknown as { stamp: string; _id?: unknown }
        const { _id: __, ...fields } = line
        const pass = String(Math.floor(at / lines.length))
        return { ...fields, stamp: `${line.stamp}${pass}` }
      })
      await empty.lines.insertMany(copies as never[], { ordered: false })
    }
  }
  await Promise.all(Array.from({ length: RAW_AT_ONCE }, insert))
  return { seconds: (performance.now() - startedMs) / 1000, mongo: cpuOf(mongo) - before }
}

const rateText = (seconds: number) =>
  `${Math.round(RECORDS / seconds)} records/s (${seconds.toFixed(1)} s)`

function report(name: string, { recordedSeconds, cpu, mib }: Figures, raw?: Raw): void {
  const per = (micros: number) => `${(micros / RECORDS).toFixed(1)} µs`
  const node = ({ main, workers, helpers }: CpuOfNode) =>
    `${per(main + workers)} and ${per(helpers)} of the helpers of V8`
  say(`recorded: ${rateText(recordedSeconds)}`)
  say('processor time per record:')
  say(`  ${name.padEnd(10)}${node(cpu.command)}`)
  say(`  recorder  ${node(cpu.recorder)}`)
  say(`  Redis     ${per(cpu.redis)}`)
  say(`  MongoDB   ${per(cpu.mongo)}${raw ? `; of the raw lines ${per(raw.mongo)}` : ''}`)
  const half = Math.ceil(mib.length / 2)
  const [first, last] = [mib.slice(0, half), mib.slice(half)].map((part) => Math.max(...part))
  say(
    `memory of the ${name} by quarter of the time: ${byQuarter(mib).join(', ')} MiB; ` +
      `largest of the last half / first half ${round((last ?? 0) / (first ?? 1), 2)}`,
  )
}

/** All prices are twice as high: each line changes. */
async function rerate(product: Product, catalog: Catalog, intake: Figures): Promise<void> {
  for (const [key, usaget] of Object.entries(PRICES)) {
    const price = `rates.${usaget}.BASE.rate.0.price`
    await catalog.rates.updateMany({ key } as never, { $mul: { [price]: 2 } } as never)
  }
  const from = new Date(Date.now() - 2 * DAY_MS).toISOString()
  const figures = await measure(product, ['rerate', '--from', from, '--yes', '--json'])
  const changed = await catalog.lines.countDocuments({ type: 'realtime', v: 2 } as never)
  if (changed !== RECORDS) throw new Error(`${changed} lines of ${RECORDS} have changed`)
  say('rerated:')
  report('rerating', figures)
  const ratio = intake.recordedSeconds / figures.recordedSeconds
  say(`ratio to the intake: ${ratio.toFixed(2)} (goal ${RERATE_GOAL})`)
}

async function main(product: Product, catalog: Catalog, empty: Catalog): Promise<void> {
  await empty.ensureIndexes()
  await populate({ ...product, ...SIZES, ...(values.rerate ? OWING : { credits: CREDITS }) })
  const by = { nowMs: Date.now(), by: 'bench' }
  await writeStoredConfig(catalog, 'file_types', () => [FILE_TYPE], by)
  await product.start('recorder')
  const path = join(product.folder, 'records.csv')
  await writeRecords(path)
  say(`${RECORDS} records of ${SUBSCRIBERS} subscribers; load average ${loadavg()[0]?.toFixed(1)}`)
  const args = ['intake', path, '--file-type', FILE_TYPE.file_type, '--json']
  const figures = await measure(product, args)
  const lines = await catalog.lines.countDocuments({ type: 'realtime' } as never)
  if (lines !== RECORDS) throw new Error(`${lines} lines of ${RECORDS} records`)
  const raw = await measureRaw(catalog, empty, product.pid('mongo'))
  say(`charged:  ${rateText(figures.chargedSeconds)}`)
  report('intake', figures, raw)
  say(`raw:      ${rateText(raw.seconds)}`)
  const ratio = raw.seconds / figures.recordedSeconds
  say(`ratio of recorded to raw: ${ratio.toFixed(2)} (goal ${GOAL})`)
  if (values.rerate) await rerate(product, catalog, figures)
  say(`load average ${loadavg()[0]?.toFixed(1)}`)
}

const OWING = {
  credits: [],
  entities: [POSTPAID],
  fieldsOf: () => ({ plan: POSTPAID.document['name'] }),
}
const SIZES = { subscribers: SUBSCRIBERS, subscribersPerAccount: 2 }
const product = await startProduct({ roles: [], environment: passedOn })
const connection = { url: product.mongoUrl, timeoutMs: 60_000, appName: 'bench' }
const catalog = await openCatalog({ ...connection, database: product.database })
const empty = await openCatalog({ ...connection, database: `${product.database}_raw` })
try {
  await main(product, catalog, empty)
} finally {
  await Promise.all([catalog.close(), empty.close()])
  await product.stop()
}
