/**
 * Measures the cost of live samples by the number of viewers, with V8's samples of the main thread
 * of the admin process: making a sample, which serves all viewers, apart from sending it to each.
 */
import { existsSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Product } from '../../test/support/product/product.ts'
import { waitUntil } from '../../test/support/wait.ts'
import type { Generator } from '../generator/generator.ts'
import { type CpuProfile, groupedTimes, readProfile } from '../measure/cpu-profile.ts'
import { median, round } from '../measure/load.ts'
import { cpuOf } from '../measure/threads.ts'
import { openFlow, withGenerator } from '../measure/turns.ts'
import { optionsFor } from '../preload/preloads.ts'
import type { Bench, Scenario, ScenarioResult } from '../scenario.ts'
import { CONSOLE_PRODUCT, logInReaders } from './load.ts'
import { type Viewer, viewStream } from './viewers.ts'

const [ONE, MANY] = [1, 50]
const STREAMS_OF_SESSION = 2
/** Requests per second meanwhile, so that the figures of a sample change. */
const CHARGED = 200
const ROUNDS = 5
const SECONDS_MAX = 20
const SETTLE_MS = 2_000
/** Interval of V8's samples, µs. */
const INTERVAL_MICROS = 100
const PREEMPTED_MICROS = 3 * INTERVAL_MICROS
const SAME = 0.1

type Group = 'sampling' | 'sending' | 'checks'

interface Measured extends Record<Group | 'process', number> {
  /** Samples that each viewer received per second. */
  readonly samples: number
  readonly faults: readonly string[]
}

export const samplerScenario: Scenario = {
  name: 'console-sampler',
  what: `what making and sending live samples costs, for ${ONE} and ${MANY} viewers`,
  inShort: true,
  async run(bench) {
    const folder = mkdtempSync(join(realpathSync(tmpdir()), 'tg-profile-'))
    try {
      const environment = {
        ...CONSOLE_PRODUCT.environment,
        NODE_OPTIONS: optionsFor('profile'),
        BENCH_PROFILE_DIR: folder,
        BENCH_PROFILE_ROLE: 'admin',
        BENCH_PROFILE_MICROS: String(INTERVAL_MICROS),
      }
      const product = await bench.product({ environment })
      await product.start('recorder')
      const cookies = await logInReaders(product, MANY / STREAMS_OF_SESSION)
      const run = { product, folder, cookies }
      const [one, many]: [Measured[], Measured[]] = [[], []]
      while (many.length < (bench.settings.short ? 1 : ROUNDS)) {
        one.push(await measureViewers(bench, run, ONE))
        many.push(await measureViewers(bench, run, MANY))
        const [last, other] = [one.at(-1), many.at(-1)]
        bench.say(`  round ${many.length}: ${last?.sampling} and ${other?.sampling} ms/s`)
      }
      return resultOf(one, many)
    } finally {
      await bench.endProduct()
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

interface Profiled {
  readonly product: Product
  readonly folder: string
  readonly cookies: readonly string[]
}

async function measureViewers(bench: Bench, run: Profiled, count: number): Promise<Measured> {
  const { product, cookies } = run
  const viewers = Array.from({ length: count }, (_, index) => {
    const cookie = cookies[index % cookies.length] ?? ''
    return viewStream({ url: product.adminUrl, cookie })
  })
  try {
    await pause(SETTLE_MS)
    return await withGenerator((generator) => measureStreams(bench, run, generator, viewers))
  } finally {
    await Promise.all(viewers.map((viewer) => viewer.stop()))
  }
}

/** ms of processor time per second. */
async function measureStreams(
  bench: Bench,
  { product, folder }: Profiled,
  generator: Generator,
  viewers: readonly Viewer[],
): Promise<Measured> {
  const seconds = Math.min(SECONDS_MAX, bench.settings.sustainedSeconds)
  const charging = generator.run(openFlow(bench, product, CHARGED, seconds + 1))
  const samples = () => viewers.reduce((sum, viewer) => sum + viewer.samples, 0) / viewers.length
  const before = { process: cpuOf(product.pid('admin')), samples: samples() }
  const profile = await profileOf(folder, seconds)
  const micros = cpuOf(product.pid('admin')) - before.process
  const received = samples() - before.samples
  await charging
  const each = (value: number) => round(value / 1000 / seconds, 2)
  const times = groupedTimes(profile, groupOf, PREEMPTED_MICROS)
  return {
    sampling: each(times.get('sampling') ?? 0),
    sending: each(times.get('sending') ?? 0),
    checks: each(times.get('checks') ?? 0),
    process: each(micros),
    samples: round(received / seconds, 2),
    faults: viewers.flatMap(({ faults }) => faults),
  }
}

async function profileOf(folder: string, seconds: number): Promise<CpuProfile> {
  const file = join(folder, 'thread-0.cpuprofile')
  rmSync(file, { force: true })
  writeFileSync(join(folder, 'begin'), '')
  await pause(seconds * 1000)
  rmSync(join(folder, 'begin'))
  await waitUntil('the profile', () => existsSync(file))
  return readProfile(file)
}

/** By file of the product: what sends samples is called by what makes them. */
function groupOf(url: string, functionName: string): Group | null {
  const [, file = ''] = /\/src\/(.+)\.ts$/.exec(url) ?? []
  if (file === 'admin/live/stream') return 'sending'
  if (file.startsWith('admin/live/')) return 'sampling'
  if (file === 'store/metrics-exchange') {
    return functionName === 'readSnapshots' ? 'sampling' : null
  }
  if (file === 'runtime/metrics') return functionName === 'parseSnapshot' ? 'sampling' : null
  if (file === 'admin/health') return 'sampling'
  return /^(?:admin\/auth|identity)\//.test(file) ? 'checks' : null
}

function resultOf(one: readonly Measured[], many: readonly Measured[]): ScenarioResult {
  const of = (all: readonly Measured[], name: Exclude<keyof Measured, 'faults'>) =>
    round(median(all.map((measured) => measured[name])), 2)
  const ratios = one.map(({ sampling }, at) => (many[at]?.sampling ?? 0) / sampling)
  const ratio = round(median(ratios), 3)
  const perViewer = (of(many, 'process') - of(one, 'process')) / (MANY - ONE)
  const row = (name: string, all: readonly Measured[]) => [
    name,
    of(all, 'samples'),
    of(all, 'sampling'),
    of(all, 'sending'),
    of(all, 'checks'),
    of(all, 'process'),
  ]
  const what = `sampling for ${MANY} viewers / for ${ONE}`
  return {
    figures: { sampling_ratio: ratio, process_ms_per_stream: round(perViewer, 3) },
    ratios: {},
    goals: [
      { what, is: ratio, wanted: { atMost: 1 + SAME } },
      { what, is: ratio, wanted: { atLeast: 1 - SAME } },
    ],
    tables: [
      {
        title: 'Admin process by viewers with a stream, ms of processor time per second (medians)',
        columns: [
          '',
          'samples/s for each',
          'making samples',
          'sending them',
          'checking sessions',
          'whole process',
        ],
        rows: [row(`${ONE} viewer`, one), row(`${MANY} viewers`, many)],
      },
    ],
    notes: [
      `sampling for ${MANY} viewers / for ${ONE} by round: ` +
        ratios.map((each) => round(each, 2)).join(', '),
      `${round(perViewer, 3)} ms a second for each further stream; ${CHARGED} requests a second ` +
        `were charged meanwhile, by all ${STREAMS_OF_SESSION} streams of each login session`,
      'the first columns are V8 samples of the main thread; the whole process is by the kernel',
    ],
    failures: [...new Set([...one, ...many].flatMap(({ faults }) => faults))],
  }
}
