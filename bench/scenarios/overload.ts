/**
 * Load beyond saturation, with a slowed-down ledger so that the generator has little to do:
 * admitted requests, latency, outcome of the rest, and time to recover.
 */

import type { Product } from '../../test/support/product/product.ts'
import type { Generator } from '../generator/generator.ts'
import { histogramOf } from '../generator/histogram.ts'
import { type Flow, LATE_MS, type PhaseResult } from '../generator/job.ts'
import type { Phase } from '../generator/schedule.ts'
import { measureEcho } from '../measure/ceilings.ts'
import { median, millis, round, type Window, windowOf } from '../measure/load.ts'
import { withGenerator } from '../measure/turns.ts'
import { optionsFor } from '../preload/preloads.ts'
import type { Bench, Goal, Scenario } from '../scenario.ts'

const MULTIPLES = [0.5, 0.8, 1, 1.5, 3]
const CONNECTIONS = 512
/** Enough to fill two batches, so that the ledger is never idle and nothing is refused. */
const SATURATING = 16
/** Small batches, one at a time, so that few requests saturate slow commits. */
const BATCH_SIZE_MAX = 8
const GENERATOR_CORE_MAX = 0.3
/** Tolerated share per tenth of a second without overload: a shared machine is sometimes late. */
const OVERLOAD_SHARE_MAX = 0.01
/** If more than this multiple of saturation is admitted, it was not saturation. */
const SERVED_MAX = 1.2
/** Checking for due requests should not cost the generator more than sending them. */
const TICK_MS = 2
/** Windows of each multiple; the median is used because the machine may pause for others. */
const ROUNDS = 3
/** Overload that begins is admitted for a while; the figures are those of overload that lasts. */
const BEGIN_SECONDS = 1
/** Half of saturation after the load, for this long; the product must recover within it. */
const AFTER = { share: 0.5, seconds: 3 }
const SLICE_MS = 100

interface Round {
  window: Window
  begin: PhaseResult
  during: PhaseResult
  recoveryMs: number
}

/** The rounds of a multiple, and their medians. */
interface Overload {
  multiple: number
  rounds: readonly Round[]
  goodput: number
  p99Ms: number
  recoveryMs: number
}

export const overloadScenario: Scenario = {
  name: 'overload',
  what: 'slowed ledger, open loop at 0.5 to 3 times saturation: goodput, refusals, recovery',
  async run(bench) {
    const { holdMs } = bench.settings
    const environment = {
      TOLLGATE_RECORDER_ENABLED: 'false',
      NODE_OPTIONS: optionsFor('slow-commits'),
      BENCH_HOLD_MS: String(holdMs),
      TOLLGATE_REALTIME_BATCH_SIZE_MAX: String(BATCH_SIZE_MAX),
      TOLLGATE_REALTIME_BATCHES_IN_FLIGHT_MAX: '1',
    }
    const product = await bench.product({ environment })
    return withGenerator(async (generator) => {
      const saturation = await saturate(bench, product, generator)
      bench.say(`  saturation ${Math.round(saturation)}/s`)
      const all: Overload[] = []
      for (const multiple of MULTIPLES) {
        const rounds: Round[] = []
        for (let round = 0; round < ROUNDS; round += 1) {
          rounds.push(await measureRound(bench, product, generator, multiple, saturation))
        }
        all.push(mediansOf(multiple, rounds))
      }
      const echo = await measureEcho(bench, generator)
      return resultOf(all, saturation, echo.perSecond, holdMs)
    })
  },
}

/** The rate of a closed loop that keeps the ledger busy. */
async function saturate(bench: Bench, product: Product, generator: Generator): Promise<number> {
  const { seconds } = bench.settings
  const sizes = { connections: SATURATING, outstanding: SATURATING, sessions: SATURATING * 8 }
  const closed = (forSeconds: number) => {
    const phases = [{ perSecond: 0, seconds: forSeconds }]
    const flow = bench.flow(product, 'json', { name: 'saturating', phases, ...sizes })
    return generator.run(flow)
  }
  await closed(2 * seconds)
  return windowOf(await closed(seconds)).perSecond
}

function flowOf(bench: Bench, product: Product, phases: readonly Phase[]): Flow {
  const sessions = Math.min(Math.floor(bench.settings.subscribers / 2), CONNECTIONS * 8)
  const sizes = { connections: CONNECTIONS, outstanding: CONNECTIONS, sessions }
  return bench.flow(product, 'json', {
    name: 'beyond',
    gaps: 'random',
    tickMs: TICK_MS,
    phases,
    ...sizes,
  })
}

async function measureRound(
  bench: Bench,
  product: Product,
  generator: Generator,
  multiple: number,
  saturation: number,
): Promise<Round> {
  const phases = [
    { perSecond: saturation * multiple, seconds: BEGIN_SECONDS },
    { perSecond: saturation * multiple, seconds: bench.settings.seconds },
    { perSecond: saturation * AFTER.share, seconds: AFTER.seconds },
  ]
  const window = windowOf(await generator.run(flowOf(bench, product, phases)))
  const [begin, during, after] = window.result.flows[0]?.phases ?? []
  if (begin === undefined || during === undefined || after === undefined) {
    throw new Error('no phases')
  }
  return { window, begin, during, recoveryMs: recoveryOf(after) }
}

function mediansOf(multiple: number, rounds: readonly Round[]): Overload {
  const of = (figure: (round: Round) => number) => median(rounds.map(figure))
  return {
    multiple,
    rounds,
    goodput: of(({ during }) => during.admitted / during.seconds),
    p99Ms: of(({ during }) => millis(histogramOf(during.latency), 0.99)),
    recoveryMs: of(({ recoveryMs }) => recoveryMs),
  }
}

/**
 * Time after the load until no tenth of a second has more than one percent of refused or late
 * requests, ms; the whole duration if a request was never answered.
 */
export function recoveryOf({ slices, unanswered }: PhaseResult): number {
  const bad = slices.findLastIndex(({ refused, late, inTime }) => {
    return refused + late > OVERLOAD_SHARE_MAX * (refused + late + inTime)
  })
  return (unanswered > 0 ? slices.length : bad + 1) * SLICE_MS
}

const shareOf = (part: number, rest: number) => (part === 0 ? 0 : part / (part + rest))
const percent = (share: number) => `${(100 * share).toFixed(1)} %`

function resultOf(all: readonly Overload[], saturation: number, echo: number, holdMs: number) {
  const best = Math.max(...all.map(({ goodput }) => goodput))
  const beyond = all.filter(({ multiple }) => multiple > 1)
  const kept = Math.min(...beyond.map(({ goodput }) => goodput)) / best
  const p99 = Math.max(...all.map(({ p99Ms }) => p99Ms))
  const recovery = Math.max(...all.map(({ recoveryMs }) => recoveryMs))
  const core = Math.max(
    ...all.flatMap(({ rounds }) => rounds.map(({ window }) => window.generatorCore)),
  )
  const goals: Goal[] = [
    { what: 'goodput beyond saturation / best', is: round(kept, 2), wanted: { atLeast: 0.85 } },
    { what: 'p99 of the admitted while overload lasts, ms', is: p99, wanted: { atMost: LATE_MS } },
    { what: 'recovery after the load, ms', is: recovery, wanted: { atMost: 1000 } },
  ]
  const isSaturated = best <= saturation * SERVED_MAX
  const isVoid = core > GENERATOR_CORE_MAX || !isSaturated
  const verdict = `the generator took ${percent(core)} of a core at most`
  const limit = `(the run is ${isVoid ? 'VOID' : 'valid'}: ${percent(GENERATOR_CORE_MAX)} allowed)`
  const served = `the best goodput is ${round(best / saturation, 2)} times what saturates it`
  return {
    figures: { saturation: Math.round(saturation), p99_ms: p99, generator_core: round(core, 2) },
    ratios: isVoid ? {} : { goodput_kept: kept },
    goals,
    tables: [table(all, saturation)],
    curves: {
      overload: [
        { name: 'due', points: all.map(({ multiple }) => [multiple, multiple] as const) },
        {
          name: 'goodput',
          points: all.map((one) => [one.multiple, one.goodput / saturation] as const),
        },
      ],
    },
    notes: [
      `${verdict} ${limit}; ${served}${isSaturated ? '' : ': VOID, it was not saturated'}`,
      `each commit held for ${holdMs} ms; saturation ${Math.round(saturation)}/s in a closed ` +
        `loop, raw echo ${Math.round(echo)}/s, ratio ${round(saturation / echo, 3)}`,
    ],
  }
}

function table(all: readonly Overload[], saturation: number) {
  return {
    title: `Beyond saturation (open loop; medians of ${ROUNDS})`,
    columns: [
      'times saturation',
      'due per second',
      'goodput per second',
      'p99 admitted ms',
      'p99 of the first second ms',
      'refused',
      'p99 refused ms',
      'starts refused',
      'others refused',
      'failed',
      'not answered',
      'recovery ms',
    ],
    rows: all.map(({ multiple, rounds, goodput, p99Ms, recoveryMs }) => {
      const sum = (figure: (phase: PhaseResult) => number) =>
        rounds.reduce((total, { during }) => total + figure(during), 0)
      const [admitted, refused] = [sum((one) => one.admitted), sum((one) => one.refused)]
      const startsAdmitted = sum((one) => one.startsAdmitted)
      const startsRefused = sum((one) => one.startsRefused)
      const others = shareOf(refused - startsRefused, admitted - startsAdmitted)
      const refusedMs = histogramOf(...rounds.map(({ during }) => during.refusedLatency))
      return [
        String(multiple),
        Math.round(saturation * multiple),
        Math.round(goodput),
        p99Ms,
        median(rounds.map(({ begin }) => millis(histogramOf(begin.latency), 0.99))),
        percent(shareOf(refused, admitted)),
        millis(refusedMs, 0.99),
        percent(shareOf(startsRefused, startsAdmitted)),
        percent(others),
        sum(({ failed }) => failed),
        sum(({ unanswered }) => unanswered),
        recoveryMs,
      ]
    }),
  }
}
