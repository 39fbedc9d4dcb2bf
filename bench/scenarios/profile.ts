/** Processor time of main thread and workers at the peak, from V8's samples. */
import { mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Product } from '../../test/support/product/product.ts'
import { waitUntil } from '../../test/support/wait.ts'
import { type CpuProfile, largest, readProfile, selfTimes } from '../measure/cpu-profile.ts'
import { measureLoad, round, type Window } from '../measure/load.ts'
import { withGenerator } from '../measure/turns.ts'
import { optionsFor } from '../preload/preloads.ts'
import type { Bench, Scenario, Table } from '../scenario.ts'
import { THREADS } from './json.ts'

const PLACES = 16
const FUNCTIONS = 15

interface Profiled {
  window: Window
  main: readonly CpuProfile[]
  workers: readonly CpuProfile[]
}

export const profileScenario: Scenario = {
  name: 'profile',
  what: 'where the processor time of the threads goes at the peak, sampled by V8',
  async run(bench) {
    const folder = mkdtempSync(join(realpathSync(tmpdir()), 'tg-profile-'))
    try {
      const environment = {
        ...THREADS.environment,
        NODE_OPTIONS: optionsFor('profile'),
        BENCH_PROFILE_DIR: folder,
      }
      const product = await bench.product({ environment })
      return resultOf(await profile(bench, product, folder))
    } finally {
      await bench.endProduct()
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

function profile(bench: Bench, product: Product, folder: string): Promise<Profiled> {
  return withGenerator(async (generator) => {
    await generator.run(bench.flow(product, 'json'))
    writeFileSync(join(folder, 'begin'), '')
    const window = await measureLoad(product, generator, [bench.flow(product, 'json')])
    rmSync(join(folder, 'begin'))
    const threads = () => readdirSync(folder).filter((name) => name.endsWith('.cpuprofile'))
    await waitUntil('profiles', () => threads().length >= 2 && threads().includes(MAIN))
    const read = (name: string) => readProfile(join(folder, name))
    const workers = threads().filter((name) => name !== MAIN)
    return { window, main: [read(MAIN)], workers: workers.map(read) }
  })
}

const MAIN = 'thread-0.cpuprofile'

function resultOf({ window, main, workers }: Profiled) {
  const { cpu, answered } = window
  return {
    figures: { main_us: round(cpu.main, 1), workers_us: round(cpu.workers, 1) },
    ratios: {},
    goals: [],
    tables: [
      ...tablesOf('main thread', main, answered),
      ...tablesOf('worker threads', workers, answered),
    ],
    notes: [
      `${Math.round(window.perSecond)} requests/s while the threads sampled themselves; by the ` +
        `kernel's account ${round(cpu.main, 1)} µs of the main thread and ` +
        `${round(cpu.workers, 1)} µs of workers a request`,
    ],
  }
}

function tablesOf(thread: string, profiles: readonly CpuProfile[], answered: number): Table[] {
  const { places, functions } = selfTimes(profiles)
  const all = [...places.values()].reduce((sum, micros) => sum + micros, 0)
  const row = ([name, micros]: [string, number]) => [
    name,
    round(micros / answered, 2),
    `${round((100 * micros) / all, 1)} %`,
  ]
  return [
    {
      title: `Self time of the ${thread}, by place`,
      columns: ['', 'µs per request', 'share'],
      rows: largest(places, PLACES).map(row),
    },
    {
      title: `Functions of the ${thread} with most of it`,
      columns: ['function', 'µs per request', 'share'],
      rows: largest(functions, FUNCTIONS).map(row),
    },
  ]
}
