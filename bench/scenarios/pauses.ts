/**
 * The longest stalls of main thread and workers, and the effect of concurrent work on a full load.
 */
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { streamBacklog } from '../../src/ledger/streams.ts'
import { withCatalog } from '../../test/support/product/population.ts'
import type { Product } from '../../test/support/product/product.ts'
import { waitUntil } from '../../test/support/wait.ts'
import { openAbandoned } from '../abandoned.ts'
import type { Generator } from '../generator/generator.ts'
import { change, fill, rateDocument } from '../large-catalogue.ts'
import { entriesAppended, productFigure } from '../measure/figures.ts'
import { withLedger } from '../measure/ledger.ts'
import { measureLoad, millis, round, type Window } from '../measure/load.ts'
import { type LoopDelays, loopDelays } from '../measure/loop-delays.ts'
import { otherAnswers, withGenerator } from '../measure/turns.ts'
import { optionsFor } from '../preload/preloads.ts'
import type { Bench, Scenario } from '../scenario.ts'
import { THREADS } from './json.ts'

const RATES = 20_000
const CHANGES = 5_000
const ABANDONED = 100_000
const ABANDONED_SHORT = 10_000
/** Sessions live longer than opening all of them takes, so that they expire under load. */
const LIFE_MS = { long: 30_000, short: 8_000 }
/** The load starts this long before they expire. */
const LEAD_MS = 1_000
const EXPIRED = 'tollgate_sessions_expired_total'
const SKIPPED = 'tollgate_catalogue_skipped'
const DRAIN_MS = 300_000
/** Long enough for concurrent work that needs seconds to start. */
const SECONDS_MIN = 10
/** With a smaller share of the sessions within the load there is no concurrent sweep. */
const SWEPT_MIN = 0.1

/** The planned event within a window, and its result. */
interface WindowEvent {
  what: string
  isVoid: boolean
}

interface ConcurrentRun extends WindowEvent {
  name: string
  window: Window
  delays: LoopDelays
}

export const pausesScenario: Scenario = {
  name: 'pauses',
  what: 'longest stalls; catalogue reload, mass expiry and recorder catch-up beside a full load',
  async run(bench) {
    const folder = mkdtempSync(join(realpathSync(tmpdir()), 'tg-loop-'))
    try {
      const environment = {
        ...THREADS.environment,
        TOLLGATE_SWEEP_INTERVAL_MS: '200',
        NODE_OPTIONS: optionsFor('loop-delay'),
        BENCH_LOOP_DIR: folder,
      }
      const product = await bench.product({ environment })
      await withCatalog(product, (catalog) => fill(catalog, 'rates', RATES, rateDocument))
      return await withGenerator((generator) => measureAll(bench, product, generator, folder))
    } finally {
      await bench.endProduct()
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

/**
 * Runs a load with concurrent work; `happened` is called when both are done, `endedMs` is the end
 * of the load.
 */
type Run = (
  name: string,
  work: () => Promise<unknown>,
  happened: (beganMs: number, endedMs: number) => WindowEvent | Promise<WindowEvent>,
) => Promise<ConcurrentRun>

async function measureAll(bench: Bench, product: Product, generator: Generator, folder: string) {
  const seconds = Math.max(bench.settings.seconds, SECONDS_MIN)
  const beside: Run = async (name, work, happened) => {
    bench.say(`  ${name}`)
    const beganMs = Date.now()
    let endedMs = 0
    const flow = bench.flow(product, 'json', { phases: [{ perSecond: 0, seconds }] })
    const load = measureLoad(product, generator, [flow]).finally(() => {
      endedMs = Date.now()
    })
    const [window] = await Promise.all([load, work()])
    const delays = loopDelays(folder, beganMs, endedMs)
    return { name, window, delays, ...(await happened(beganMs, endedMs)) }
  }
  const nothing = () => Promise.resolve()
  const valid = () => ({ what: '', isVoid: false })
  await generator.run(bench.flow(product, 'json'))
  const alone = await beside('nothing', nothing, valid)
  const reload = await reloaded(beside, product)
  const catchUp = await caughtUp(beside, product)
  const calm = await beside('the recorder', nothing, valid)
  const sweep = await swept(beside, product, bench.settings.short)
  return resultOf(alone, calm, [reload, catchUp, sweep])
}

/** The last changed rate is invalid: when it is skipped, all changes have been applied. */
async function reloaded(beside: Run, product: Product): Promise<ConcurrentRun> {
  const skipped = () => productFigure(product, SKIPPED)
  const before = await skipped()
  let takenMs = Number.POSITIVE_INFINITY
  const work = async () => {
    await withCatalog(product, async (catalog) => {
      const invalid = { $set: { rates: 'spoilt' } as never }
      await catalog.rates.updateOne({ key: `CALL_${CHANGES - 1}` }, invalid)
      await change(catalog, CHANGES)
    })
    const isTaken = async () => (await skipped()) > before
    await waitUntil('the rates are taken', isTaken).then(
      () => {
        takenMs = Date.now()
      },
      () => undefined,
    )
  }
  return beside(`${CHANGES} of ${RATES} rates change`, work, (beganMs, endedMs) => {
    const what = `taken ${round((takenMs - beganMs) / 1000, 1)} s after the load began`
    return { what, isVoid: takenMs > endedMs }
  })
}

/** The previous loads have left a backlog, which the recorder now processes completely. */
async function caughtUp(beside: Run, product: Product): Promise<ConcurrentRun> {
  return withLedger(product.redisUrl, async (ledger) => {
    const waiting = await streamBacklog(ledger)
    const before = await entriesAppended(product.redisUrl)
    const start = () => product.start('recorder')
    const result = await beside('the recorder catches up', start, async () => {
      const left = await streamBacklog(ledger)
      const appended = (await entriesAppended(product.redisUrl)) - before
      const recorded = waiting + appended - left
      const what = `${recorded} entries recorded of ${waiting} that waited and ${appended} more`
      return { what, isVoid: waiting === 0 || recorded <= 0 }
    })
    const isDrained = async () => (await streamBacklog(ledger)) === 0
    await waitUntil('the recorder has caught up', isDrained, DRAIN_MS)
    return result
  })
}

/** Opens sessions that expire shortly after the load has started. */
async function swept(beside: Run, product: Product, isShort: boolean): Promise<ConcurrentRun> {
  const count = isShort ? ABANDONED_SHORT : ABANDONED
  const expired = () => productFigure(product, EXPIRED)
  const before = await expired()
  const nowMs = Date.now()
  const expiresMs = nowMs + (isShort ? LIFE_MS.short : LIFE_MS.long)
  await withLedger(product.redisUrl, (ledger) => openAbandoned(ledger, count, nowMs, expiresMs))
  await pause(Math.max(0, expiresMs - LEAD_MS - Date.now()))
  const early = Math.max((await expired()) - before, Date.now() - expiresMs)
  return beside(
    `${count} sessions expire`,
    () => Promise.resolve(),
    async () => {
      const during = (await expired()) - before
      const what = `${during} of ${count} expired so far when the load ended`
      const tooEarly = early > 0 ? ', and some before it began' : ''
      return { what: what + tooEarly, isVoid: early > 0 || during < count * SWEPT_MIN }
    },
  )
}

function resultOf(alone: ConcurrentRun, calm: ConcurrentRun, others: readonly ConcurrentRun[]) {
  const all = [alone, ...others.slice(0, 2), calm, ...others.slice(2)]
  const p999 = ({ window }: ConcurrentRun) => millis(window.latency, 0.999)
  // Loads with the recorder are compared with a reference load with the recorder.
  const times = (one: ConcurrentRun, of: ConcurrentRun) =>
    round(p999(one) / Math.max(0.01, p999(of)), 2)
  const [reload, catchUp, sweep] = others as [ConcurrentRun, ConcurrentRun, ConcurrentRun]
  const factors = [times(reload, alone), times(catchUp, calm), times(sweep, calm)]
  const expected = { atMost: 2 }
  return {
    figures: { main_ms: alone.delays.main, workers_ms: alone.delays.workers },
    ratios: {},
    goals: others.map(({ name, isVoid }, index) => {
      const what = `p99.9 with / without: ${name}`
      return { what, is: factors[index] ?? 0, wanted: expected, isVoid }
    }),
    tables: [
      {
        title: 'Pauses beside a closed loop at full load',
        columns: [
          'beside',
          'per second',
          'p99 ms',
          'p99.9 ms',
          'longest ms',
          'main thread stalls ms',
          'workers stall ms',
        ],
        rows: all.map((one) => {
          const { name, window, delays } = one
          const { latency } = window
          return [
            name,
            Math.round(window.perSecond),
            millis(latency, 0.99),
            p999(one),
            millis(latency, 1),
            delays.main,
            delays.workers,
          ]
        }),
      },
    ],
    notes: [
      'stalls by monitorEventLoopDelay in each thread: what else runs on the cores is in them',
      ...others.map(({ name, what, isVoid }) => `${name}: ${what}${isVoid ? ': VOID' : ''}`),
      ...otherAnswers(...all.map(({ window }) => window)),
    ],
  }
}
