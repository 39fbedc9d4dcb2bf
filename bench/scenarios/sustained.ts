/** The highest rate at which the recorder keeps up, found by trial, and held for a minute. */
import type { Generator } from '../generator/generator.ts'
import { measureEcho } from '../measure/ceilings.ts'
import { productFigure } from '../measure/figures.ts'
import { type Costs, measureLoad, millis, round, type Window } from '../measure/load.ts'
import { cpuOf } from '../measure/threads.ts'
import { measureClosed, openFlow, otherAnswers, withGenerator } from '../measure/turns.ts'
import type { Product } from '../product.ts'
import type { Bench, Scenario } from '../scenario.ts'
import { waitUntil } from '../wait.ts'

const BACKLOG = 'tollgate_stream_backlog_entries'
const RECORDED = 'tollgate_entries_recorded_total'
const TRIALS = 4
/** The processes publish their figures every few seconds: a trial must be longer. */
const TRIAL_SECONDS = 8
const LOOK_MS = 1_000
/** A backlog that is no longer than what comes in this time does not grow. */
const SLACK_SECONDS = 1
const DRAIN_MS = 300_000
/** Held with some room: what was just carried for seconds may not be for a minute. */
const ROOM = 0.95

interface Trial {
  perSecond: number
  window: Window
  /** Entries not recorded: looked at once a second. */
  backlog: number[]
  /** Entries recorded per second meanwhile. */
  recorded: number
  /** µs per request: the recorder's process, and that of the embedded MongoDB. */
  costs: Costs & { recorder: number; store: number }
}

export const sustainedScenario: Scenario = {
  name: 'sustained',
  what: 'recorder on: the highest rate that it keeps up with, held for a minute',
  async run(bench) {
    const product = await bench.product({})
    return withGenerator(async (generator) => {
      const closed = await measureClosed(bench, product, generator, 'json')
      const peak = closed.perSecond
      bench.say(`  closed loop with the recorder on ${Math.round(peak)}/s`)
      const rate = await findRate(bench, product, generator, peak)
      const { sustainedSeconds } = bench.settings
      const held = await attempt(bench, product, generator, rate * ROOM, sustainedSeconds)
      const echo = await measureEcho(bench, generator)
      return resultOf(bench, held, peak, echo.perSecond)
    })
  },
}

/** Halves the stretch between a rate that was kept up with and one that was not. */
async function findRate(
  bench: Bench,
  product: Product,
  generator: Generator,
  peak: number,
): Promise<number> {
  let [low, high] = [0, peak]
  for (let trial = 0; trial < (bench.settings.short ? 1 : TRIALS); trial += 1) {
    const rate = low === 0 && trial === 0 ? peak * 0.6 : (low + high) / 2
    const { backlog } = await attempt(bench, product, generator, rate, TRIAL_SECONDS)
    const isKept = !grows(backlog, rate)
    bench.say(`  ${Math.round(rate)}/s: ${isKept ? 'kept up with' : 'the backlog grows'}`)
    if (isKept) low = rate
    else high = rate
  }
  return low === 0 ? high / 2 : low
}

/** Whether the last third of a run has a longer backlog than the first, by more than slack. */
export function grows(backlog: readonly number[], perSecond: number): boolean {
  const third = Math.max(1, Math.floor(backlog.length / 3))
  const mean = (part: readonly number[]) =>
    part.reduce((sum, value) => sum + value, 0) / Math.max(1, part.length)
  const first = mean(backlog.slice(0, third))
  return mean(backlog.slice(-third)) > first + SLACK_SECONDS * perSecond
}

async function attempt(
  bench: Bench,
  product: Product,
  generator: Generator,
  perSecond: number,
  seconds: number,
): Promise<Trial> {
  const drained = async () => (await productFigure(product, BACKLOG)) < perSecond / 10
  await waitUntil('the recorder catches up', drained, DRAIN_MS)
  const backlog: number[] = []
  const look = setInterval(() => {
    void productFigure(product, BACKLOG).then((entries) => backlog.push(entries))
  }, LOOK_MS)
  const storePid = embeddedPid(product)
  const storeMicros = () => (storePid === null ? 0 : cpuOf(storePid))
  const recorded = await productFigure(product, RECORDED)
  const before = { admin: cpuOf(product.pid('admin')), store: storeMicros() }
  const flow = openFlow(bench, product, perSecond, seconds)
  const window = await measureLoad(product, generator, [flow])
  clearInterval(look)
  const each = (micros: number) => micros / Math.max(1, window.answered)
  const recorder = each(cpuOf(product.pid('admin')) - before.admin)
  const costs = { ...window.cpu, recorder, store: each(storeMicros() - before.store) }
  const recordedNow = await productFigure(product, RECORDED)
  return { perSecond, window, backlog, recorded: (recordedNow - recorded) / seconds, costs }
}

/** Null: the store is somebody else's (TEST_MONGO_URL). */
function embeddedPid(product: Product): number | null {
  return process.env['TEST_MONGO_URL'] === undefined ? product.pid('mongo') : null
}

function resultOf(bench: Bench, held: Trial, peak: number, echo: number) {
  const { window, backlog, costs } = held
  const toEcho = window.perSecond / echo
  const store = process.env['TEST_MONGO_URL'] === undefined ? 'embedded MongoDB' : 'own MongoDB'
  const all = costs.main + costs.workers + costs.helpers
  const parts: [string, number][] = [
    ['charging process', all],
    ['Redis', costs.redis],
    ['recorder', costs.recorder],
    [store, costs.store],
    ['load generator', costs.generator],
  ]
  const total = parts.reduce((sum, [, micros]) => sum + micros, 0)
  return {
    figures: {
      requests_per_second: Math.round(window.perSecond),
      recorded_per_second: Math.round(held.recorded),
      backlog_longest: Math.max(0, ...backlog),
      p99_ms: millis(window.latency, 0.99),
    },
    ratios: { to_echo: toEcho },
    goals: [{ what: 'sustained / echo', is: round(toEcho, 3), wanted: { atLeast: 0.15 } }],
    tables: [
      {
        title: `Sustained for ${bench.settings.sustainedSeconds} s with the recorder on (${store})`,
        columns: ['', 'µs per request', 'share'],
        rows: parts.map(([name, micros]) => {
          return [name, round(micros, 1), `${Math.round((100 * micros) / total)} %`]
        }),
      },
    ],
    notes: [
      `${Math.round(window.perSecond)}/s held, raw echo ${Math.round(echo)}/s, ratio ` +
        `${round(toEcho, 3)}; closed loop with the recorder on ${Math.round(peak)}/s`,
      `backlog, entries by second: ${sampled(backlog).join(' ')}: ` +
        `${grows(backlog, window.perSecond) ? 'it GROWS' : 'it does not grow'}`,
      ...otherAnswers(window),
    ],
  }
}

/** About a dozen of them. */
function sampled(values: readonly number[]): readonly number[] {
  const every = Math.max(1, Math.floor(values.length / 12))
  return values.filter((_, index) => index % every === 0)
}
