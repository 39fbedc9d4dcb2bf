/** The longest stalls of main thread and workers, and what work beside a full load does to it. */
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openAbandoned } from '../abandoned.ts'
import type { Generator } from '../generator/generator.ts'
import { change, fill, rateDocument } from '../large-catalogue.ts'
import { withLedger } from '../measure/ledger.ts'
import { measureLoad, millis, round, type Window } from '../measure/load.ts'
import { type LoopDelays, loopDelays } from '../measure/loop-delays.ts'
import { otherAnswers, withGenerator } from '../measure/turns.ts'
import { withCatalog } from '../population.ts'
import { optionsFor } from '../preload/preloads.ts'
import type { Product } from '../product.ts'
import type { Bench, Scenario } from '../scenario.ts'

const RATES = 20_000
const CHANGES = 5_000
const ABANDONED = 100_000
const ABANDONED_SHORT = 10_000
/** What works beside the load should begin when the load does. */
const EXPIRE_MS = 1_000

interface Beside {
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
        TOLLGATE_RECORDER_ENABLED: 'false',
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

async function measureAll(bench: Bench, product: Product, generator: Generator, folder: string) {
  const beside = async (name: string, work: () => Promise<unknown>): Promise<Beside> => {
    bench.say(`  ${name}`)
    const fromMs = Date.now()
    const load = measureLoad(product, generator, [bench.flow(product, 'json')])
    const [window] = await Promise.all([load, work()])
    return { name, window, delays: loopDelays(folder, fromMs, Date.now()) }
  }
  const nothing = () => Promise.resolve()
  await generator.run(bench.flow(product, 'json'))
  const alone = await beside('nothing', nothing)
  const reload = await beside(`${CHANGES} of ${RATES} rates change`, () =>
    withCatalog(product, (catalog) => change(catalog, CHANGES)),
  )
  // The loads before have left a backlog, which the recorder takes up now.
  const catchUp = await beside('the recorder catches up', () => product.start('recorder'))
  const calm = await beside('the recorder', nothing)
  const count = bench.settings.short ? ABANDONED_SHORT : ABANDONED
  await openExpiring(product, count)
  const sweep = await beside(`${count} sessions expire`, nothing)
  return resultOf(alone, calm, [reload, catchUp, sweep])
}

async function openExpiring(product: Product, count: number): Promise<void> {
  const nowMs = Date.now()
  await withLedger(product.redisUrl, (ledger) =>
    openAbandoned(ledger, count, nowMs, nowMs + EXPIRE_MS),
  )
}

function resultOf(alone: Beside, calm: Beside, others: readonly Beside[]) {
  const all = [alone, ...others.slice(0, 2), calm, ...others.slice(2)]
  const p999 = ({ window }: Beside) => millis(window.latency, 0.999)
  // What runs with the recorder is held against a load with it.
  const times = (one: Beside, of: Beside) => round(p999(one) / Math.max(0.01, p999(of)), 2)
  const [reload, catchUp, sweep] = others as [Beside, Beside, Beside]
  const factors = [times(reload, alone), times(catchUp, calm), times(sweep, calm)]
  const limit = { atMost: 2 }
  return {
    figures: { main_ms: alone.delays.main, workers_ms: alone.delays.workers },
    ratios: {},
    goals: others.map(({ name }, index) => {
      return { what: `p99.9 with / without: ${name}`, is: factors[index] ?? 0, wanted: limit }
    }),
    tables: [
      {
        title: 'Pauses beside a closed loop at full load',
        columns: [
          ...['beside', 'per second', 'p99 ms', 'p99.9 ms', 'longest ms'],
          ...['main thread stalls ms', 'workers stall ms'],
        ],
        rows: all.map((one) => {
          const { name, window, delays } = one
          const { latency } = window
          return [
            ...[name, Math.round(window.perSecond), millis(latency, 0.99), p999(one)],
            ...[millis(latency, 1), delays.main, delays.workers],
          ]
        }),
      },
    ],
    notes: [
      'stalls by monitorEventLoopDelay in each thread: what else runs on the cores is in them',
      ...otherAnswers(...all.map(({ window }) => window)),
    ],
  }
}
