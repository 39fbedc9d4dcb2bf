/**
 * A closed loop for a minute with the recorder on, compared with the peak without recorder, and
 * open loops at parts of that peak.
 */
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { streamBacklog } from '../../src/ledger/streams.ts'
import { withCatalog } from '../../test/support/product/population.ts'
import type { Product } from '../../test/support/product/product.ts'
import { waitUntil } from '../../test/support/wait.ts'
import type { Generator } from '../generator/generator.ts'
import type { Flow } from '../generator/job.ts'
import { type Ceiling, measureEcho } from '../measure/ceilings.ts'
import { entriesAppended, productFigure, settledFigures } from '../measure/figures.ts'
import { withLedger } from '../measure/ledger.ts'
import { type Costs, measureLoad, millis, round, type Window } from '../measure/load.ts'
import { type OpenLoop, openLoop, openLoopTable } from '../measure/open-loops.ts'
import { cpuOf } from '../measure/threads.ts'
import {
  loadTable,
  measureClosed,
  openFlow,
  otherAnswers,
  withGenerator,
} from '../measure/turns.ts'
import { optionsFor } from '../preload/preloads.ts'
import type { Bench, Goal, Scenario, Table } from '../scenario.ts'

const LOOK_MS = 1_000
/** A backlog shorter than the entries of this time is no growth: rounds are up to 5 s apart. */
const SLACK_SECONDS = 6
const DRAIN_MS = 300_000
/** Lower rates, in parts of the peak, in an open loop. */
const HALF = 0.5
const TENTH = 0.1
const MOST = 0.7
/** The recorder is steady when it has had nothing to do for this time. */
const QUIET_MS = 5_000
const FEW_CONNECTIONS = 8

interface Trial {
  window: Window
  /** Unrecorded entries in the streams, sampled every second. */
  backlog: number[]
  /** Entries per second: appended to the streams, and removed from them. */
  appended: number
  recorded: number
  /** µs per request of the recorder process and of the embedded MongoDB. */
  costs: Costs & { recorder: number; store: number }
}

/**
 * A trial with the lines that it has created (new documents per second) and the records that the
 * recorder has sent, per request; `duplicates` of them wrote nothing.
 */
type Held = Trial & { lines: number; operations: number; duplicates: number }

export const sustainedScenario: Scenario = {
  name: 'sustained',
  what: 'recorder on: a closed loop for a minute, its backlog, and open loops below the peak',
  async run(bench) {
    const folder = mkdtempSync(join(realpathSync(tmpdir()), 'tg-loop-'))
    try {
      // As `tollgate start` does: the recorder is a process of its own.
      const environment = {
        TOLLGATE_RECORDER_ENABLED: 'false',
        NODE_OPTIONS: optionsFor('loop-delay'),
        BENCH_LOOP_DIR: folder,
      }
      const product = await bench.product({ environment })
      return await withGenerator((generator) => measureAll(bench, product, generator, folder))
    } finally {
      await bench.endProduct()
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

async function measureAll(bench: Bench, product: Product, generator: Generator, folder: string) {
  const closed = await measureClosed(bench, product, generator, 'json')
  const peak = closed.perSecond
  bench.say(`  closed loop without recorder: ${Math.round(peak)}/s`)
  const drained = await drain(bench, product)
  const held = await hold(bench, product, generator)
  const { seconds } = bench.settings
  const loops: OpenLoop[] = []
  const open = async (name: string, load: () => Promise<Window>) => {
    bench.say(`  ${name}`)
    loops.push(await openLoop(product, folder, name, load))
  }
  const steady = async (name: string, flow: Flow): Promise<Trial> => {
    await untilQuiet(product)
    let trial: Trial | undefined
    await open(`${name}, steady`, async () => {
      trial = await attempt(product, generator, flow, seconds)
      return trial.window
    })
    if (trial === undefined) throw new Error('no trial')
    return trial
  }
  const at = (part: number) => openFlow(bench, product, peak * part, seconds)
  const tenth = await steady('a tenth of the peak', at(TENTH))
  const half = await steady('half of the peak', at(HALF))
  await steady('0.7 of the peak', at(MOST))
  const few = { connections: FEW_CONNECTIONS, outstanding: FEW_CONNECTIONS, name: 'few' }
  await steady(`a tenth of the peak, ${FEW_CONNECTIONS} connections`, { ...at(TENTH), ...few })
  await product.terminate('recorder')
  await measureClosed(bench, product, generator, 'json')
  await product.start('recorder')
  await open('half of the peak, the recorder catches up', () =>
    measureLoad(product, generator, [at(HALF)]),
  )
  const echo = await measureEcho(bench, generator)
  const echoAtTenth = await measureEcho(bench, generator, peak * TENTH)
  return resultOf(bench, { held, half, tenth, peak, echo, echoAtTenth, drained, loops })
}

/** Waits until the recorder has caught up, and has had nothing to do for a while. */
function untilQuiet(product: Product): Promise<void> {
  return withLedger(product.redisUrl, async (ledger) => {
    const isDrained = async () => (await streamBacklog(ledger)) === 0
    await waitUntil('the recorder catches up', isDrained, DRAIN_MS)
    await pause(QUIET_MS)
  })
}

interface Drained {
  entries: number
  requests: number
  seconds: number
}

/** Measures how long the recorder, once it is ready, takes for the backlog of the closed loop. */
async function drain(bench: Bench, product: Product): Promise<Drained> {
  return withLedger(product.redisUrl, async (ledger) => {
    const whole = await streamBacklog(ledger)
    const figures = await settledFigures(product, ['tollgate_requests_total'])
    await product.start('recorder')
    const entries = await streamBacklog(ledger)
    const begin = performance.now()
    const requests = Math.round((figures.tollgate_requests_total * entries) / Math.max(1, whole))
    await waitUntil(
      'the backlog is empty',
      async () => (await streamBacklog(ledger)) === 0,
      DRAIN_MS,
    )
    const seconds = (performance.now() - begin) / 1_000
    bench.say(`  ${requests} requests recorded in ${round(seconds, 1)} s`)
    return { entries, requests, seconds }
  })
}

/**
 * True if the backlog in the last third of a run exceeds that in the first by more than the
 * tolerance. Both in stream entries; `appended`: entries appended per second.
 */
export function grows(backlog: readonly number[], appended: number): boolean {
  const third = Math.max(1, Math.floor(backlog.length / 3))
  const mean = (part: readonly number[]) =>
    part.reduce((sum, value) => sum + value, 0) / Math.max(1, part.length)
  const first = mean(backlog.slice(0, third))
  return mean(backlog.slice(-third)) > first + SLACK_SECONDS * appended
}

async function hold(bench: Bench, product: Product, generator: Generator): Promise<Held> {
  const { sustainedSeconds: seconds } = bench.settings
  const lines = () =>
    withCatalog(product, (catalog) => catalog.unguarded.lines.estimatedDocumentCount())
  const before = await lines()
  const flow = bench.flow(product, 'json', { phases: [{ perSecond: 0, seconds }] })
  const sent = (outcome: string) =>
    productFigure(product, 'tollgate_record_operations_total', outcome && `outcome="${outcome}"`)
  const [operations, duplicates] = [await sent(''), await sent('duplicate')]
  const trial = await attempt(product, generator, flow, seconds)
  const each = (count: number) => count / Math.max(1, trial.window.answered)
  return {
    ...trial,
    lines: ((await lines()) - before) / seconds,
    operations: each((await sent('')) - operations),
    duplicates: each((await sent('duplicate')) - duplicates),
  }
}

/** A load with the recorder on, once it has recorded all that came before. */
export function attempt(
  product: Product,
  generator: Generator,
  flow: Flow,
  seconds: number,
): Promise<Trial> {
  return withLedger(product.redisUrl, async (ledger) => {
    // From Redis directly: the metric of the product is up to two seconds old.
    const length = () => streamBacklog(ledger)
    await waitUntil('the recorder catches up', async () => (await length()) === 0, DRAIN_MS)
    const backlog: number[] = []
    const look = setInterval(() => void length().then((now) => backlog.push(now)), LOOK_MS)
    const others = () => ({ recorder: cpuOf(product.pid('recorder')), store: storeMicros(product) })
    const before = { ...others(), appended: await entriesAppended(product.redisUrl) }
    const window = await measureLoad(product, generator, [flow])
    const after = { ...others(), appended: await entriesAppended(product.redisUrl) }
    clearInterval(look)
    const left = await length()
    const each = (micros: number) => micros / Math.max(1, window.answered)
    const recorder = each(after.recorder - before.recorder)
    const costs = { ...window.cpu, recorder, store: each(after.store - before.store) }
    const appended = after.appended - before.appended
    const rates = { appended: appended / seconds, recorded: (appended - left) / seconds }
    return { window, backlog, ...rates, costs }
  })
}

function storeMicros(product: Product): number {
  const pid = embeddedPid(product)
  return pid === null ? 0 : cpuOf(pid)
}

/** Null if the store is external (TEST_MONGO_URL). */
function embeddedPid(product: Product): number | null {
  return process.env['TEST_MONGO_URL'] === undefined ? product.pid('mongo') : null
}

interface Sustained {
  held: Held
  half: Trial
  tenth: Trial
  peak: number
  echo: Ceiling
  /** At the same rate as `tenth`. */
  echoAtTenth: Ceiling
  drained: Drained
  loops: readonly OpenLoop[]
}

function goalsOf({ held, half, tenth, peak, drained }: Sustained) {
  const isVoid = grows(held.backlog, held.appended)
  const { recorder, store } = held.costs
  const million = (drained.seconds * 1_000_000) / Math.max(1, drained.requests)
  const { main, workers, helpers } = tenth.window.cpu
  const server = main + workers + helpers
  const goal = (what: string, is: number, expected: Goal['wanted']) => ({
    what,
    is,
    wanted: expected,
    isVoid,
  })
  return [
    goal('sustained / peak', round(held.window.perSecond / peak, 2), { atLeast: 0.6 }),
    goal('recorder + store, µs per request', round(recorder + store, 1), { atMost: 60 }),
    goal('drain of 1,000,000 requests, s', round(million, 1), { atMost: 45 }),
    goal('server µs per request at a tenth of the peak', round(server, 1), { atMost: 60 }),
    goal('p99 at half of the peak, ms', millis(half.window.latency, 0.99), { atMost: 8 }),
  ]
}

function resultOf(bench: Bench, measured: Sustained) {
  const { held, half, tenth, peak, echo, echoAtTenth, drained, loops } = measured
  const { window, backlog } = held
  const toEcho = window.perSecond / echo.perSecond
  const loads = [
    ['closed loop', window],
    ['half of the peak', half.window],
    ['a tenth of the peak', tenth.window],
  ] as const
  const isVoid = grows(held.backlog, held.appended)
  return {
    figures: {
      requests_per_second: Math.round(window.perSecond),
      entries_appended_per_second: Math.round(held.appended),
      entries_recorded_per_second: Math.round(held.recorded),
      new_lines_per_second: Math.round(held.lines),
      backlog_longest_entries: Math.max(0, ...backlog),
      drained_requests_per_second: Math.round(drained.requests / drained.seconds),
      p99_ms: millis(window.latency, 0.99),
    },
    ratios: isVoid ? {} : { to_echo: toEcho, to_peak: window.perSecond / peak },
    goals: goalsOf(measured),
    tables: [
      shareTable(bench, held),
      loadTable('Loads with the recorder on', loads),
      openLoopTable(loops),
    ],
    notes: [
      `${Math.round(window.perSecond)}/s held, raw echo ${Math.round(echo.perSecond)}/s, ratio ` +
        `${round(toEcho, 3)}; peak without recorder ${Math.round(peak)}/s`,
      `a backlog of ${drained.requests} requests in ${drained.entries} entries was recorded in ` +
        `${round(drained.seconds, 1)} s`,
      `${Math.round(held.appended)} entries a second came into the streams (each of one batch), ` +
        `${Math.round(held.recorded)} were recorded; ${Math.round(held.lines)} new lines a second`,
      `the recorder sent ${round(held.operations, 2)} records per request, of which ` +
        `${round(held.duplicates, 3)} were stored already`,
      `backlog, entries by second: ${sampled(backlog).join(' ')}: ` +
        `${isVoid ? 'it GROWS, the run is VOID' : 'it does not grow'}`,
      `the raw echo takes ${round(echo.cpu, 1)} µs per request at its peak, and ` +
        `${round(echoAtTenth.cpu, 1)} at ${Math.round(peak * TENTH)}/s, ` +
        'where each wakes the process',
      storeNote(held),
      ...otherAnswers(window, half.window, tenth.window),
    ],
  }
}

/** µs per request by process; the generator is not part of the product. */
function partsOfRequest({ costs }: Trial): [string, number][] {
  return [
    ['realtime: main thread', costs.main],
    ['realtime: workers', costs.workers],
    ['realtime: helpers of V8 (garbage)', costs.helpers],
    ['Redis', costs.redis],
    ['recorder', costs.recorder],
    ...(costs.store > 0 ? [['embedded MongoDB', costs.store] as [string, number]] : []),
  ]
}

const totalOf = (parts: readonly [string, number][]) => parts.reduce((sum, [, us]) => sum + us, 0)

function shareTable(bench: Bench, held: Trial): Table {
  const parts = partsOfRequest(held)
  const total = totalOf(parts)
  const row = ([name, micros]: [string, number]) => {
    return [name, round(micros, 1), `${Math.round((100 * micros) / total)} %`]
  }
  return {
    title: `Sustained for ${bench.settings.sustainedSeconds} s with the recorder on`,
    columns: ['', 'µs per request', 'share'],
    rows: [
      ...parts.map(row),
      row(['the product', total]),
      ['load generator', round(held.costs.generator, 1), ''],
    ],
  }
}

/** Cost of the embedded store on these cores. */
function storeNote(held: Trial): string {
  const { store, recorder, generator } = held.costs
  if (store === 0) return 'the store is not the embedded one: what it takes is not measured'
  const total = totalOf(partsOfRequest(held)) + generator
  const [without, neither] = [total / (total - store), total / (total - store - recorder)]
  return (
    `the embedded store takes ${round(store, 1)} µs for each request: by calculation ` +
    `${round(without, 2)} times as many requests with it on another machine, ` +
    `${round(neither, 2)} times with the recorder there, too`
  )
}

/** About a dozen samples. */
function sampled(values: readonly number[]): readonly number[] {
  const every = Math.max(1, Math.floor(values.length / 12))
  return values.filter((_, index) => index % every === 0)
}
