/** Latency of an open loop, from the due time, at fixed rates and at shares of saturation. */

import type { Product } from '../../test/support/product/product.ts'
import type { Generator } from '../generator/generator.ts'
import { histogramOf } from '../generator/histogram.ts'
import { measureEcho } from '../measure/ceilings.ts'
import { measureLoad, median, millis, round, type Window } from '../measure/load.ts'
import { measureClosed, openFlow, withGenerator } from '../measure/turns.ts'
import type { Bench, Goal, Scenario, Table } from '../scenario.ts'
import { PAUSED } from './json.ts'

const RATES = [5_000, 10_000, 20_000, 40_000]
/** A rate is sustainable if it is below this share of the peak. */
const SUSTAINABLE_SHARE = 0.9
const WINDOWS = 3
/** Additional loads of the curve, as shares of saturation. */
const SHARES = [0.1, 0.25, 0.5, 0.75, 0.9]
const WINDOW_SECONDS_MAX = 4
/** Percentiles cover admitted requests only: with more other outcomes they are not conclusive. */
const NOT_ADMITTED_MAX = 0.001
/** Rates that differ by no more than this share are merged. */
const CLOSE = 0.1

/** Medians over the windows, ms. */
interface Latency {
  perSecond: number
  p50: number
  p99: number
  p999: number
  /** Share of due requests that were refused, failed or not answered. */
  notAdmitted: number
  isVoid: boolean
  windows: Window[]
}

type Counts = Pick<Window, 'admitted' | 'refused' | 'failed' | 'unanswered'>

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
      const rates = ratesOf(peak)
      const all: Latency[] = []
      for (const rate of rates) all.push(await measureRate(bench, product, generator, rate))
      return resultOf(all, peak, half, echo.perSecond)
    })
  },
}

/** Fixed rates, and distinct shares of the peak, always including half of it. */
export function ratesOf(peak: number): number[] {
  const fixed = RATES.filter((rate) => rate <= peak * SUSTAINABLE_SHARE)
  const isNew = (rate: number) => fixed.every((one) => Math.abs(rate / one - 1) > CLOSE)
  const shares = SHARES.map((share) => Math.round(peak * share))
  const half = Math.round(peak / 2)
  const all = [...fixed, ...shares.filter((rate) => rate === half || isNew(rate))]
  return [...new Set(all)].sort((a, b) => a - b)
}

/** Share of the due requests in the windows that was not charged. */
export function notAdmittedOf(windows: readonly Counts[]): number {
  let [admitted, others] = [0, 0]
  for (const window of windows) {
    admitted += window.admitted
    others += window.refused + window.failed + window.unanswered
  }
  return others === 0 ? 0 : others / (admitted + others)
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
  const notAdmitted = notAdmittedOf(windows)
  const isVoid = notAdmitted > NOT_ADMITTED_MAX
  return { perSecond, p50: at(0.5), p99: at(0.99), p999: at(0.999), notAdmitted, isVoid, windows }
}

function goalsOf(all: readonly Latency[], half: number): Goal[] {
  const goal = (what: string, rate: number, of: 'p50' | 'p99', atMost: number): Goal[] => {
    const one = all.find(({ perSecond }) => perSecond === rate)
    return one === undefined ? [] : [{ what, is: one[of], wanted: { atMost }, isVoid: one.isVoid }]
  }
  return [
    ...goal('p99 at half of saturation, ms', half, 'p99', 8),
    ...goal('p50 at 20,000/s, ms', 20_000, 'p50', 0.4),
    ...goal('p99 at 20,000/s, ms', 20_000, 'p99', 4),
  ]
}

function resultOf(all: readonly Latency[], peak: number, half: number, echo: number) {
  const valid = all.filter(({ isVoid }) => !isVoid)
  const atHalf = valid.find(({ perSecond }) => perSecond === half)
  const curve = (name: string, figure: (one: Latency) => number) => {
    return { name, points: valid.map((one) => [one.perSecond, figure(one)] as const) }
  }
  const beyond = RATES.filter((rate) => rate > peak * SUSTAINABLE_SHARE)
  return {
    figures: {
      saturation: Math.round(peak),
      ...(atHalf === undefined ? {} : { p99_half_ms: atHalf.p99 }),
    },
    ratios: { saturation_to_echo: peak / echo },
    goals: goalsOf(all, half),
    tables: [table(all, peak)],
    curves: {
      latency: [
        curve('p50', ({ p50 }) => p50),
        curve('p99', ({ p99 }) => p99),
        curve('p99.9', ({ p999 }) => p999),
      ],
    },
    notes: [
      `saturation ${Math.round(peak)}/s in a closed loop, raw echo ${Math.round(echo)}/s`,
      'latency counts from when a request was due: the time in which no connection was free is ' +
        'in it, and what the generator was late with one that was',
      ...all.filter(({ isVoid }) => isVoid).map(voidNote),
      ...beyond.map((rate) => `${rate}/s is beyond what this machine carries`),
    ],
  }
}

function voidNote({ perSecond, notAdmitted, windows }: Latency): string {
  const sum = (of: 'refused' | 'failed' | 'unanswered') =>
    windows.reduce((total, window) => total + window[of], 0)
  const counts = `${sum('refused')} refused, ${sum('failed')} failed`
  const all = `${counts}, ${sum('unanswered')} not answered`
  const share = `${round(100 * notAdmitted, 2)} % was not admitted (${all})`
  return `${perSecond}/s is VOID: ${share}, and percentiles are of the admitted`
}

function table(all: readonly Latency[], peak: number): Table {
  return {
    title: 'Latency against load (open loop, medians of three windows)',
    columns: [
      'due per second',
      'of saturation',
      'p50 ms',
      'p99 ms',
      'p99.9 ms',
      'not admitted',
      'no connection p99 ms',
      'sent late p50 ms',
      'sent late p99 ms',
      'generator cores',
    ],
    rows: all.map(({ perSecond, p50, p99, p999, notAdmitted, isVoid, windows }) => {
      const phases = windows.flatMap(({ result }) => result.flows.flatMap((flow) => flow.phases))
      const waiting = histogramOf(...phases.map((phase) => phase.waiting))
      const late = histogramOf(...phases.map(({ lateness }) => lateness))
      const core = median(windows.map(({ generatorCore }) => generatorCore))
      return [
        String(perSecond),
        `${Math.round((100 * perSecond) / peak)} %`,
        p50,
        p99,
        p999,
        `${round(100 * notAdmitted, 3)} %${isVoid ? ' VOID' : ''}`,
        millis(waiting, 0.99),
        millis(late, 0.5),
        millis(late, 0.99),
        round(core, 2),
      ]
    }),
  }
}
