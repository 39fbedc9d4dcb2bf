/** Latency of an open loop, from the due time, at fixed rates and at shares of saturation. */

import type { Generator } from '../generator/generator.ts'
import { histogramOf } from '../generator/histogram.ts'
import { measureEcho } from '../measure/ceilings.ts'
import { measureLoad, median, millis, round, type Window } from '../measure/load.ts'
import { measureClosed, openFlow, withGenerator } from '../measure/turns.ts'
import type { Product } from '../product.ts'
import type { Bench, Goal, Scenario } from '../scenario.ts'
import { PAUSED } from './json.ts'

const RATES = [5_000, 10_000, 20_000, 40_000]
/** A rate is carried if it is less than this share of the peak. */
const CARRIED = 0.9
const WINDOWS = 3
/** More loads for the curve, as shares of saturation. */
const SHARES = [0.1, 0.25, 0.5, 0.75, 0.9]
const WINDOW_SECONDS_MAX = 5

/** Medians over the windows, ms. */
interface Latency {
  perSecond: number
  p50: number
  p99: number
  p999: number
  windows: Window[]
}

export const latencyScenario: Scenario = {
  name: 'latency',
  what: 'open loop (Poisson): latency from the due time at fixed rates and by share of saturation',
  async run(bench) {
    const product = await bench.product(PAUSED)
    return withGenerator(async (generator) => {
      const peak = (await measureClosed(bench, product, generator, 'json')).perSecond
      const echo = await measureEcho(bench, generator)
      bench.say(`  saturation ${Math.round(peak)}/s`)
      const half = Math.round(peak / 2)
      const rates = [
        ...RATES.filter((rate) => rate <= peak * CARRIED),
        ...SHARES.map((share) => Math.round(peak * share)),
      ].sort((a, b) => a - b)
      const all: Latency[] = []
      for (const rate of rates) all.push(await measureRate(bench, product, generator, rate))
      return resultOf(all, peak, half, echo.perSecond)
    })
  },
}

async function measureRate(
  bench: Bench,
  product: Product,
  generator: Generator,
  perSecond: number,
): Promise<Latency> {
  const seconds = Math.min(bench.settings.seconds, WINDOW_SECONDS_MAX)
  await generator.run(openFlow(bench, product, perSecond, 1))
  const windows: Window[] = []
  for (let index = 0; index < WINDOWS; index += 1) {
    const flows = [openFlow(bench, product, perSecond, seconds)]
    windows.push(await measureLoad(product, generator, flows))
  }
  const at = (share: number) => median(windows.map(({ latency }) => millis(latency, share)))
  return { perSecond, p50: at(0.5), p99: at(0.99), p999: at(0.999), windows }
}

function resultOf(all: readonly Latency[], peak: number, half: number, echo: number) {
  const rateOf = (perSecond: number) => all.find((one) => one.perSecond === perSecond)
  const [atHalf, atTwenty] = [rateOf(half), rateOf(20_000)]
  const goals: Goal[] = [
    { what: 'p99 at half of saturation, ms', is: atHalf?.p99 ?? 0, wanted: { atMost: 8 } },
    ...(atTwenty === undefined
      ? []
      : [
          { what: 'p50 at 20,000/s, ms', is: atTwenty.p50, wanted: { atMost: 0.4 } },
          { what: 'p99 at 20,000/s, ms', is: atTwenty.p99, wanted: { atMost: 4 } },
        ]),
  ]
  const rows = all.map(({ perSecond, p50, p99, p999, windows }) => {
    const phases = windows.flatMap(({ result }) => result.flows.flatMap((flow) => flow.phases))
    const late = histogramOf(...phases.map(({ lateness }) => lateness))
    const core = median(windows.map(({ generatorCore }) => generatorCore))
    return [
      ...[String(perSecond), `${Math.round((100 * perSecond) / peak)} %`, p50, p99, p999],
      ...[millis(late, 0.5), millis(late, 0.99), round(core, 2)],
    ]
  })
  const curve = (name: string, figure: (one: Latency) => number) => {
    return { name, points: all.map((one) => [one.perSecond, figure(one)] as const) }
  }
  const beyond = RATES.filter((rate) => rate > peak * CARRIED)
  return {
    figures: { saturation: Math.round(peak), p99_half_ms: atHalf?.p99 ?? 0 },
    ratios: { saturation_to_echo: peak / echo },
    goals,
    tables: [
      {
        title: 'Latency against load (open loop, medians of three windows)',
        columns: [
          ...['due per second', 'of saturation', 'p50 ms', 'p99 ms', 'p99.9 ms'],
          ...['sent late p50 ms', 'sent late p99 ms', 'generator cores'],
        ],
        rows,
      },
    ],
    curves: {
      latency: [
        curve('p50', ({ p50 }) => p50),
        curve('p99', ({ p99 }) => p99),
        curve('p99.9', ({ p999 }) => p999),
      ],
    },
    notes: [
      `saturation ${Math.round(peak)}/s in a closed loop, raw echo ${Math.round(echo)}/s`,
      'latency counts from when a request was due: what the generator was late is in it',
      ...beyond.map((rate) => `${rate}/s is beyond what this machine carries`),
    ],
  }
}
