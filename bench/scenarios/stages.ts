/**
 * What each stage of a request costs: by itself in a loop where it can be, and as processor time of
 * the threads in a run of the whole. From that, by calculation, where machines with more cores
 * saturate.
 */

import { measureEcho } from '../measure/ceilings.ts'
import { type Costs, round } from '../measure/load.ts'
import { loopCosts, type StageCost } from '../measure/stage-loops.ts'
import { measureClosed, otherAnswers, withGenerator } from '../measure/turns.ts'
import { saturation } from '../report/saturation.ts'
import type { Scenario, Table } from '../scenario.ts'
import { PAUSED } from './json.ts'

const CORES = [2, 4, 8, 16, 32]

export const stagesScenario: Scenario = {
  name: 'stages',
  what: 'µs of each stage in isolation, of the threads as a whole, and saturation by cores',
  async run(bench) {
    const product = await bench.product(PAUSED)
    const { window, echo } = await withGenerator(async (generator) => ({
      window: await measureClosed(bench, product, generator, 'json'),
      echo: await measureEcho(bench, generator),
    }))
    const loops = await loopCosts(bench.settings.short)
    return {
      figures: Object.fromEntries([
        ...loops.map(({ name, micros }) => [`${name.replace(/\W+/g, '_')}_us`, round(micros, 2)]),
        ['main_us', round(window.cpu.main, 1)],
        ['workers_us', round(window.cpu.workers, 1)],
        ['redis_us', round(window.cpu.redis, 1)],
      ]),
      ratios: {},
      goals: [],
      tables: [stageTable(loops, window.cpu, echo.cpu), saturationTable(window.cpu)],
      curves: {
        stages: allStages(loops, window.cpu).map(({ name, micros }) => {
          return { name, points: [[0, round(micros, 2)] as const] }
        }),
      },
      notes: [
        'the rest: of the main thread mostly the kernel and its TCP (the raw echo takes ' +
          `${round(echo.cpu, 1)} µs in all), of the workers the caches, piscina and ioredis`,
        'saturation: a listener is a main thread with a worker of its own and their garbage; ' +
          'Redis is one thread, in a cluster one for each three listeners; the load comes from ' +
          'elsewhere; costs stay as in this run; a tenth of the cores is left to the kernel',
        ...otherAnswers(window),
      ],
    }
  },
}

/** Those of the loops, and of each thread what they leave unexplained. */
function allStages(loops: readonly StageCost[], cpu: Costs): StageCost[] {
  const left = (thread: StageCost['thread'], all: number) => {
    const known = loops.filter((one) => one.thread === thread)
    return Math.max(0, all - known.reduce((sum, { micros }) => sum + micros, 0))
  }
  return [
    ...loops,
    { name: 'main: the rest', thread: 'main', micros: left('main', cpu.main) },
    { name: 'worker: the rest', thread: 'worker', micros: left('worker', cpu.workers) },
    { name: 'garbage (V8 helpers)', thread: 'worker', micros: cpu.helpers },
    { name: 'Redis: the rest', thread: 'redis', micros: left('redis', cpu.redis) },
  ]
}

function stageTable(loops: readonly StageCost[], cpu: Costs, echo: number): Table {
  return {
    title: `Stages of one request (an update; raw echo ${round(echo, 1)} µs)`,
    columns: ['stage', 'thread', 'µs'],
    rows: allStages(loops, cpu).map(({ name, thread, micros }) => [name, thread, round(micros, 2)]),
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
        ...[String(cores), thousands(oneLoop), heldBy, listeners],
        ...[thousands(loops), thousands(clustered)],
      ]
    }),
  }
}
