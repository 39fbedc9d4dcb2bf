/**
 * Charging with and without viewers of the console, in turns: an open loop below what the machine
 * can do, with the recorder on. Half of the viewers look at the overview, half at customers.
 */
import { addUser, READER_NAME } from '../../test/support/console/console-product.ts'
import { logIn } from '../../test/support/console/customer-scene.ts'
import { withCatalog } from '../../test/support/product/population.ts'
import type { Product } from '../../test/support/product/product.ts'
import type { Generator } from '../generator/generator.ts'
import { median, millis, round, type Window } from '../measure/load.ts'
import { cpuOf } from '../measure/threads.ts'
import { measureClosed, openFlow, otherAnswers, withGenerator } from '../measure/turns.ts'
import type { Bench, ProductKind, Scenario, ScenarioResult, Table } from '../scenario.ts'
import { attempt, grows } from '../scenarios/sustained.ts'
import { type Viewer, viewCustomers, viewOverview } from './viewers.ts'

const VIEWERS = 10
/** Pairs of phases. */
const ROUNDS = 4
const PHASE_SECONDS = 30
/** Requests per second, or this part of what the machine does in a closed loop. */
const RATE_MAX = 10_000
const SHARE = 0.8
const RATE_MIN = 0.98
const P99_MAX = 1.05
/** Between the openings of two viewers. */
const APART_MS = 300

/** Everybody has to log in; the recorder is a process of its own, as `tollgate start` has it. */
export const CONSOLE_PRODUCT: ProductKind = {
  environment: {
    TOLLGATE_ADMIN_OPEN_TO: 'nobody',
    // All viewers log in from one address.
    TOLLGATE_ADMIN_ANONYMOUS_PERCENT: '100',
    TOLLGATE_RECORDER_ENABLED: 'false',
  },
}

interface Phase {
  readonly window: Window
  readonly isGrowing: boolean
  /** µs of processor time per second: of the admin process, and of the viewers in this process. */
  readonly admin: number
  readonly clients: number
  readonly viewers: readonly Viewer[]
}

interface Pair {
  readonly without: Phase
  readonly beside: Phase
}

export const loadScenario: Scenario = {
  name: 'console-load',
  what: `charging with and without ${VIEWERS} viewers of the console, in turns`,
  inShort: true,
  async run(bench) {
    const product = await bench.product(CONSOLE_PRODUCT)
    await product.start('recorder')
    const cookies = await logInReaders(product, VIEWERS)
    return withGenerator(async (generator) => {
      const peak = (await measureClosed(bench, product, generator, 'json')).perSecond
      const perSecond = Math.min(RATE_MAX, Math.round(peak * SHARE))
      bench.say(`  closed loop ${Math.round(peak)}/s; load ${perSecond}/s`)
      const seconds = Math.min(PHASE_SECONDS, bench.settings.sustainedSeconds)
      const load = { product, generator, perSecond, seconds }
      await measurePhase(bench, { ...load, seconds: Math.ceil(seconds / 4) }, cookies)
      const pairs = await measurePairs(bench, load, cookies)
      return resultOf({ peak, perSecond }, pairs)
    })
  },
}

async function measurePairs(bench: Bench, load: Load, cookies: readonly string[]) {
  const pairs: Pair[] = []
  while (pairs.length < (bench.settings.short ? 1 : ROUNDS)) {
    // Each kind is the first one as often as the other.
    const isWithFirst = pairs.length % 2 === 1
    const first = await measurePhase(bench, load, isWithFirst ? cookies : [])
    const second = await measurePhase(bench, load, isWithFirst ? [] : cookies)
    const [without, beside] = isWithFirst ? [second, first] : [first, second]
    pairs.push({ without, beside })
    bench.say(`  pair ${pairs.length}: ${pairText({ without, beside })}`)
  }
  return pairs
}

/** Logs a user in for each viewer; resolves with the cookies of the sessions. */
export async function logInReaders(product: Product, count: number): Promise<readonly string[]> {
  await withCatalog(product, (catalog) => addUser(catalog, READER_NAME, ['read']))
  const cookies: string[] = []
  while (cookies.length < count) cookies.push(await logIn(product.adminUrl, READER_NAME))
  return cookies
}

interface Load {
  readonly product: Product
  readonly generator: Generator
  readonly perSecond: number
  readonly seconds: number
}

/** `cookies`: of the viewers; they open their pages when the load begins. */
async function measurePhase(bench: Bench, load: Load, cookies: readonly string[]): Promise<Phase> {
  const { product, generator, perSecond, seconds } = load
  const viewers: Viewer[] = []
  const timers = cookies.map((cookie, index) =>
    setTimeout(() => viewers.push(viewerOf(bench, product, cookie, index)), index * APART_MS),
  )
  const admin = product.pid('admin')
  const before = { admin: cpuOf(admin), clients: process.cpuUsage() }
  const flow = openFlow(bench, product, perSecond, seconds)
  const trial = await attempt(product, generator, flow, seconds)
  const { user, system } = process.cpuUsage(before.clients)
  const adminMicros = cpuOf(admin) - before.admin
  for (const timer of timers) clearTimeout(timer)
  await Promise.all(viewers.map((viewer) => viewer.stop()))
  return {
    window: trial.window,
    isGrowing: grows(trial.backlog, trial.appended),
    admin: adminMicros / seconds,
    clients: (user + system) / seconds,
    viewers,
  }
}

function viewerOf(bench: Bench, { adminUrl: url }: Product, cookie: string, index: number): Viewer {
  if (index % 2 === 0) return viewOverview({ url, cookie })
  return viewCustomers({ url, cookie }, bench.settings.subscribers, index * 100)
}

const p99 = ({ window }: Phase) => millis(window.latency, 0.99)
const rateRatio = ({ without, beside }: Pair) => beside.window.perSecond / without.window.perSecond
const p99Ratio = ({ without, beside }: Pair) => p99(beside) / Math.max(0.01, p99(without))

function pairText(pair: Pair): string {
  const { without, beside } = pair
  const latencies = `p99 ${p99(without)} and ${p99(beside)} ms`
  return `rate ratio ${round(rateRatio(pair), 3)}, ${latencies}`
}

function resultOf(
  { peak, perSecond }: { readonly peak: number; readonly perSecond: number },
  pairs: readonly Pair[],
): ScenarioResult {
  const [without, beside] = [pairs.map((pair) => pair.without), pairs.map((pair) => pair.beside)]
  const rate = median(pairs.map(rateRatio))
  const latency = median(pairs.map(p99Ratio))
  const admin = (phases: readonly Phase[]) => median(phases.map((phase) => phase.admin))
  const perViewer = (admin(beside) - admin(without)) / 1000 / VIEWERS
  const all = [...without, ...beside]
  const isVoid = all.some(({ isGrowing }) => isGrowing)
  const viewers = beside.flatMap((phase) => phase.viewers)
  const sum = (of: 'answers' | 'samples') =>
    viewers.reduce((total, viewer) => total + viewer[of], 0) / beside.length
  return {
    figures: {
      requests_per_second: perSecond,
      rate_ratio: round(rate, 4),
      p99_ratio: round(latency, 3),
      admin_ms_per_viewer: round(perViewer, 2),
    },
    ratios: { rate_with_to_without: rate },
    goals: [
      { what: 'rate with / without', is: round(rate, 4), wanted: { atLeast: RATE_MIN }, isVoid },
      { what: 'p99 with / without', is: round(latency, 3), wanted: { atMost: P99_MAX }, isVoid },
    ],
    tables: [loadTable(perSecond, { without, beside })],
    notes: [
      `closed loop ${Math.round(peak)}/s; ${pairs.length} pairs, of which ratios are medians: ` +
        `rate ${pairs.map((pair) => round(rateRatio(pair), 3)).join(', ')}; ` +
        `p99 ${pairs.map((pair) => round(p99Ratio(pair), 2)).join(', ')}`,
      `p99 of the single phases, ms: without ${without.map(p99).join(', ')}; ` +
        `with ${beside.map(p99).join(', ')}`,
      `admin process ${round(perViewer, 2)} ms of processor time a second for each viewer; in a ` +
        `phase they had ${Math.round(sum('answers'))} answers and ${Math.round(sum('samples'))} ` +
        'samples of streams',
      'the viewers are HTTP clients on the same cores, whose own time is in the table: the load ' +
        'of the node is measured, not that of browsers',
      ...(isVoid ? ['the backlog of the recorder grew: the run is VOID'] : []),
      ...otherAnswers(...all.map(({ window }) => window)),
    ],
    failures: [...new Set(viewers.flatMap(({ faults }) => faults))],
  }
}

interface Phases {
  readonly without: readonly Phase[]
  readonly beside: readonly Phase[]
}

function loadTable(perSecond: number, phases: Phases): Table {
  const row = (name: string, all: readonly Phase[]) => {
    const middle = (of: (phase: Phase) => number) => median(all.map(of))
    const server = ({ window: { cpu } }: Phase) => cpu.main + cpu.workers + cpu.helpers
    return [
      name,
      Math.round(middle(({ window }) => window.perSecond)),
      round(
        middle(({ window }) => millis(window.latency, 0.5)),
        2,
      ),
      round(middle(p99), 2),
      round(middle(server), 1),
      round(
        middle(({ window }) => window.cpu.redis),
        1,
      ),
      round(
        middle(({ admin }) => admin / 1000),
        1,
      ),
      round(
        middle(({ clients }) => clients / 1000),
        1,
      ),
    ]
  }
  return {
    title: `Charging at ${perSecond}/s, without and with ${VIEWERS} viewers (medians)`,
    columns: [
      '',
      'per second',
      'p50 ms',
      'p99 ms',
      'server µs',
      'Redis µs',
      'admin process ms/s',
      'viewers themselves ms/s',
    ],
    rows: [row('no viewers', phases.without), row(`${VIEWERS} viewers`, phases.beside)],
  }
}
