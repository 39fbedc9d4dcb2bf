/**
 * Cost of each stage of a request: in a separate loop if possible, and as processor time of the
 * threads in a complete run. From these values, the computed saturation of machines with more
 * cores.
 */

import { type Ceiling, measureEcho, measureRawScript } from '../measure/ceilings.ts'
import { commandCosts, resetCommands } from '../measure/figures.ts'
import { type Costs, measureLoad, round, type Window } from '../measure/load.ts'
import { loopCosts, type StageCost } from '../measure/stage-loops.ts'
import { measureClosed, otherAnswers, withGenerator } from '../measure/turns.ts'
import { type Part, type Parts, partsOf } from '../report/parts.ts'
import { saturation } from '../report/saturation.ts'
import type { Bench, Scenario, Table } from '../scenario.ts'
import { THREADS } from './json.ts'

const CORES = [2, 4, 8, 16, 32]

interface Whole {
  window: Window
  echo: Ceiling
  /** Within the script, from Redis' own statistics, µs per request. */
  scriptMicros: number
}

export const stagesScenario: Scenario = {
  name: 'stages',
  what: 'µs of each stage in isolation, of the threads as a whole, and saturation by cores',
  async run(bench) {
    const whole = await measureWhole(bench)
    const loops = loopCosts(bench.settings.short)
    const single = await measureRawScript(Math.min(2, bench.settings.seconds))
    return resultOf(whole, loops, single.cpu)
  },
}

async function measureWhole(bench: Bench): Promise<Whole> {
  const product = await bench.product(THREADS)
  return withGenerator(async (generator) => {
    await measureClosed(bench, product, generator, 'json')
    await resetCommands(product.redisUrl)
    const window = await measureLoad(product, generator, [bench.flow(product, 'json')])
    const commands = await commandCosts(product.redisUrl)
    const script = commands.find(({ name }) => name === 'evalsha')?.micros ?? 0
    const scriptMicros = script / Math.max(1, window.answered)
    return { window, echo: await measureEcho(bench, generator), scriptMicros }
  })
}

function resultOf({ window, echo, scriptMicros }: Whole, loops: StageCost[], single: number) {
  const { cpu } = window
  const threads = threadCosts(loops, cpu, scriptMicros)
  const all = threads.flatMap(({ thread, parts }) => parts.map((part) => ({ thread, ...part })))
  const own = (value: number) => round(value, 1)
  return {
    figures: {
      ...Object.fromEntries(
        loops.map(({ name, micros }) => [`${name.replace(/\W+/g, '_')}_us`, round(micros, 2)]),
      ),
      main_us: own(cpu.main),
      workers_us: own(cpu.workers),
      helpers_us: own(cpu.helpers),
      redis_us: own(cpu.redis),
      script_alone_us: own(single),
    },
    ratios: {},
    goals: [],
    tables: [stageTable(all, cpu, echo.cpu), saturationTable(cpu)],
    curves: {
      stages: all.map(({ name, micros }) => {
        return { name, points: [[0, round(micros, 2)] as const] }
      }),
    },
    notes: [
      'the parts of a thread add up to what it took in a closed loop; the rest: of the main ' +
        `thread mostly the kernel and its TCP (the raw echo takes ${own(echo.cpu)} µs in all), ` +
        'of the workers the caches and ioredis, of Redis its sockets and the append-only file',
      "Redis' script by its own account, many requests in a call; with one in each call Redis " +
        `takes ${own(single)} µs in all, which is no part of these`,
      'saturation: an event loop takes as many cores as its main thread can keep busy, for its ' +
        'workers, their garbage and its share of Redis; Redis is one thread, in a cluster one ' +
        'for each three event loops; the load comes from elsewhere; costs stay as in this run; ' +
        'a tenth of the cores is left to the kernel',
      ...threads.filter(({ scale }) => scale < 1).map(scaledNote),
      ...otherAnswers(window),
    ],
  }
}

function scaledNote({ thread, scale }: { thread: string; scale: number }): string {
  return `${thread}: its stages alone came to more than all of it; shown ${round(scale, 2)} times`
}

/** The known stages of each thread, and its unexplained rest. */
function threadCosts(loops: readonly StageCost[], cpu: Costs, scriptMicros: number) {
  const of = (thread: StageCost['thread']) => loops.filter((one) => one.thread === thread)
  const script = [{ name: 'Redis: the script', micros: scriptMicros }]
  const all: (Parts & { thread: string })[] = [
    { thread: 'main', ...partsOf(of('main'), cpu.main, 'main: the rest') },
    { thread: 'worker', ...partsOf(of('worker'), cpu.workers, 'worker: the rest') },
    { thread: 'V8 helpers', ...partsOf([], cpu.helpers, 'garbage (V8 helpers)') },
    { thread: 'Redis', ...partsOf(script, cpu.redis, 'Redis: the rest') },
  ]
  return all
}

function stageTable(
  all: readonly (Part & { thread: string })[],
  { main, workers, helpers, redis }: Costs,
  echo: number,
): Table {
  return {
    title: `Stages of one request (an update; raw echo ${round(echo, 1)} µs)`,
    columns: ['stage', 'thread', 'µs'],
    rows: [
      ...all.map(({ name, thread, micros }) => [name, thread, round(micros, 2)]),
      ['all of them', '', round(main + workers + helpers + redis, 2)],
    ],
  }
}

function saturationTable(cpu: Costs): Table {
  return {
    title: 'Where the designs saturate, by calculation (thousands of requests per second)',
    columns: ['cores', 'one event loop', 'held by', 'event loops', 'single Redis', 'Redis Cluster'],
    rows: CORES.map((cores) => {
      const { oneLoop, heldBy, listeners, loops, clustered } = saturation(cpu, cores)
      const thousands = (perSecond: number) => round(perSecond / 1000, 1)
      return [
        String(cores),
        thousands(oneLoop),
        heldBy,
        listeners,
        thousands(loops),
        thousands(clustered),
      ]
    }),
  }
}
