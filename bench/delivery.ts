/**
 * Delivery of pending events by a recorder process to receivers that answer at once: events per
 * second, processor time and memory, as a ratio to the same requests by the HTTP client alone.
 * `npm run bench:delivery -- --json FILE`, for `bench:docs`.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { performance } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Agent, request } from 'undici'
import type { Catalog } from '../src/catalog/connection.ts'
import { notificationSettingsOf } from '../src/catalog/settings/events/notification-settings.ts'
import { writeStoredConfig } from '../src/catalog/settings/stored-config.ts'
import { requestOf, resolveReceiver } from '../src/notifications/request.ts'
import { eventOf, NOW_MS } from '../test/support/notifications/event.ts'
import { withCatalog } from '../test/support/product/population.ts'
import { type Product, startProduct } from '../test/support/product/product.ts'
import { cpuMicros } from './cpu.ts'
import { median, round } from './measure/load.ts'
import { anonymousMib, byQuarter } from './measure/memory.ts'
import { emptyResults, writeResults } from './report/results.ts'
import { resultText } from './report/text.ts'
import type { ScenarioResult } from './scenario.ts'

const { values } = parseArgs({
  options: {
    events: { type: 'string', default: '20000' },
    rounds: { type: 'string', default: '3' },
    // Requests under way to each receiver.
    concurrency: { type: 'string', default: '10' },
    receivers: { type: 'string', default: '1,10' },
    // Events that are sent before a round ends; all by default.
    sent: { type: 'string', default: '' },
    json: { type: 'string', default: '' },
  },
})
const EVENTS = Number(values.events)
const SENT = values.sent === '' ? EVENTS : Math.min(EVENTS, Number(values.sent))
const ROUNDS = Number(values.rounds)
const CONCURRENCY = Number(values.concurrency)
const RECEIVERS = values.receivers.split(',').map(Number)
const WARM_UP = 2_000
const INSERTED = 1_000
/** Requests by which the ceiling is measured. */
const REQUESTS_MAX = 20_000
/** Between two looks at the receivers, ms. */
const LOOK_MS = 20
const say = (text: string) => process.stdout.write(`${text}\n`)

interface Receivers {
  readonly urls: readonly string[]
  received(): Promise<number>
  close(): void
}

async function startReceivers(count: number): Promise<Receivers> {
  const program = fileURLToPath(new URL('./event-receivers.js', import.meta.url))
  const child: ChildProcess = fork(program, [String(count)])
  const [{ ports }] = (await once(child, 'message')) as [{ ports: number[] }]
  return {
    urls: ports.map((port) => `http://127.0.0.1:${port}/told`),
    async received() {
      child.send('count')
      const [message] = (await once(child, 'message')) as [{ received: number }]
      return message.received
    },
    close: () => child.disconnect(),
  }
}

const HTTP = { concurrency: CONCURRENCY, rate_per_second: 10_000 }
/** Nothing is sent by invalid settings. */
const OFF = { num_of_tries: 0 }

function store(product: Product, http: object): Promise<unknown> {
  const value = () => ({ settings: { http } })
  const by = { nowMs: NOW_MS, by: 'bench' }
  return withCatalog(product, (catalog) => writeStoredConfig(catalog, 'events', value, by))
}

const eventTo = (url: string, name: string) => eventOf(name, { receiver: { url } })

async function insert({ events }: Catalog, urls: readonly string[], count: number, name: string) {
  for (let from = 0; from < count; from += INSERTED) {
    const documents = Array.from({ length: Math.min(INSERTED, count - from) }, (_, index) =>
      eventTo(urls[(from + index) % urls.length] as string, `${name}-${from + index}`),
    )
    await events.insertMany(documents, { ordered: false })
  }
}

interface Run {
  readonly perSecond: number
  /** Processor time for each event or request, µs. */
  readonly sender: number
  readonly mongo: number
  /** Memory of the sender by quarter, MiB. */
  readonly mib: readonly number[]
}

/** Sends as many requests as there are events, by the client of the product. */
async function requests({ urls }: Receivers, count: number): Promise<Run> {
  const agent = new Agent({ connections: CONCURRENCY })
  const settings = notificationSettingsOf(undefined, { open: () => null })
  const calls = urls.map((url, index) => {
    const event = eventTo(url, `request-${index}`)
    const receiver = resolveReceiver(event, settings)
    if (receiver === null) throw new Error('no receiver')
    return requestOf(event, receiver, null, { startMs: NOW_MS, signedMs: NOW_MS })
  })
  const before = cpuMicros(process.pid)
  const startedMs = performance.now()
  const loop = async ({ url, method, headers }: (typeof calls)[number]) => {
    for (let sent = 0; sent < count / urls.length / CONCURRENCY; sent += 1) {
      const { body } = await request(url, { method, headers, dispatcher: agent })
      await body.arrayBuffer()
    }
  }
  const loops = Array.from({ length: CONCURRENCY }, () => calls.map(loop)).flat()
  await Promise.all(loops)
  const seconds = (performance.now() - startedMs) / 1000
  const sender = (cpuMicros(process.pid) - before) / count
  await agent.close()
  return { perSecond: count / seconds, sender, mongo: 0, mib: [] }
}

async function delivery(
  product: Product,
  receivers: Receivers,
  count: number,
  name: string,
  until = count,
): Promise<Run> {
  await store(product, OFF)
  await withCatalog(product, (catalog) => insert(catalog, receivers.urls, count, name))
  const [recorder, mongo] = [product.pid('recorder'), product.pid('mongo')]
  const before = await receivers.received()
  await store(product, HTTP)
  const isBegun = async () => (await receivers.received()) > before
  while (!(await isBegun())) await pause(LOOK_MS / 4)
  const startedMs = performance.now()
  const [recorderMicros, mongoMicros] = [cpuMicros(recorder), cpuMicros(mongo)]
  const mib = [anonymousMib(recorder)]
  while ((await receivers.received()) < before + until) {
    mib.push(anonymousMib(recorder))
    await pause(LOOK_MS)
  }
  const pending = () =>
    withCatalog(product, ({ events }) => events.countDocuments({ 'delivery.state': 'pending' }))
  while (until === count && (await pending()) > 0) await pause(LOOK_MS)
  const seconds = (performance.now() - startedMs) / 1000
  const sent = (await receivers.received()) - before
  if (sent > count) throw new Error(`${sent} requests for ${count} events`)
  return {
    perSecond: sent / seconds,
    sender: (cpuMicros(recorder) - recorderMicros) / sent,
    mongo: (cpuMicros(mongo) - mongoMicros) / sent,
    mib: byQuarter(mib),
  }
}

interface Measured {
  readonly receivers: number
  readonly ceiling: Run
  readonly delivered: Run
  readonly ratio: number
}

async function measure(product: Product, count: number): Promise<Measured> {
  const receivers = await startReceivers(count)
  try {
    const ceilings: Run[] = []
    const delivered: Run[] = []
    await requests(receivers, WARM_UP)
    await delivery(product, receivers, WARM_UP, `warm-${count}`)
    for (let at = 0; at < ROUNDS; at += 1) {
      ceilings.push(await requests(receivers, Math.min(EVENTS, REQUESTS_MAX)))
      delivered.push(await delivery(product, receivers, EVENTS, `${count}-${at}`, SENT))
      say(`${count} receivers, round ${at + 1}: ${Math.round(delivered[at]?.perSecond ?? 0)}/s`)
    }
    const ratios = delivered.map(({ perSecond }, at) => perSecond / (ceilings[at]?.perSecond ?? 1))
    return {
      receivers: count,
      ceiling: medians(ceilings),
      delivered: medians(delivered),
      ratio: median(ratios),
    }
  } finally {
    receivers.close()
  }
}

function medians(runs: readonly Run[]): Run {
  const of = (name: 'perSecond' | 'sender' | 'mongo') => median(runs.map((run) => run[name]))
  const mib = runs.at(-1)?.mib ?? []
  return { perSecond: of('perSecond'), sender: of('sender'), mongo: of('mongo'), mib }
}

function resultOf(all: readonly Measured[]): ScenarioResult {
  const nameOf = (count: number) => (count === 1 ? '1 receiver' : `${count} receivers`)
  const rowOf = (name: string, { perSecond, sender, mongo, mib }: Run, ratio: number) => [
    name,
    Math.round(perSecond),
    round(ratio, 2),
    round(sender, 0),
    round(mongo, 0),
    mib.join(', '),
  ]
  const pairs = all.map(({ receivers, ratio }) => [`receivers_${receivers}`, round(ratio, 3)])
  return {
    figures: { events: EVENTS, sent: SENT, concurrency: CONCURRENCY },
    ratios: Object.fromEntries(pairs),
    goals: [],
    tables: [
      {
        title: `${SENT} of ${EVENTS} pending events, ${CONCURRENCY} requests at once per receiver`,
        columns: [
          '',
          'per second',
          'of the requests',
          'sender µs',
          'MongoDB µs',
          'memory of the sender by quarter, MiB',
        ],
        rows: all.flatMap(({ receivers, ceiling, delivered, ratio }) => [
          rowOf(`${nameOf(receivers)}: requests alone`, ceiling, 1),
          rowOf(`${nameOf(receivers)}: delivery`, delivered, ratio),
        ]),
      },
    ],
    notes: ['µs: processor time for each event; of the sender including its HTTP client'],
  }
}

const environment = { TOLLGATE_EXTERNAL_PRIVATE_RANGES: '127.0.0.0/8' }
const product = await startProduct({ environment })
try {
  await withCatalog(product, (catalog) => catalog.ensureIndexes())
  await product.start('recorder')
  const all: Measured[] = []
  for (const count of RECEIVERS) all.push(await measure(product, count))
  const result = resultOf(all)
  say(resultText(result))
  if (values.json !== '') {
    const results = emptyResults(Date.now(), false)
    results.scenarios['delivery'] = result
    writeResults(values.json, results)
  }
} finally {
  await product.stop()
}
