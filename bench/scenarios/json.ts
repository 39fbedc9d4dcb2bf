/**
 * Peak throughput: sessions of plain JSON in a closed loop with a paused recorder, and both
 * ceilings.
 */

import { availableParallelism } from 'node:os'
import { DEFAULT_LIMITS } from '../../test/support/product/patience.ts'
import type { Product } from '../../test/support/product/product.ts'
import type { Generator } from '../generator/generator.ts'
import {
  type Ceiling,
  measureEcho,
  measureRawScript,
  measureRawVersion,
  type RawScript,
} from '../measure/ceilings.ts'
import {
  commandCosts,
  countLedger,
  type LedgerFigures,
  ledgerNote,
  resetCommands,
} from '../measure/figures.ts'
import { measureLoad, millis, round, type Window } from '../measure/load.ts'
import { middle, otherAnswers, withGenerator } from '../measure/turns.ts'
import type { Bench, Goal, Scenario, ScenarioResult, Table } from '../scenario.ts'

/** Without recording, Redis and the charging process have the cores to themselves. */
export const PAUSED = {
  environment: { ...DEFAULT_LIMITS, TOLLGATE_RECORDER_ENABLED: 'false' },
}

/** With worker threads on any machine, for what is measured by thread. */
export const THREADS = {
  environment: { ...PAUSED.environment, TOLLGATE_REALTIME_WORKER_KIND: 'thread' },
}

/** Redis with one request per call: the commit, and the smallest script that keeps a version. */
interface RawScripts {
  commit: RawScript
  smallest: RawScript
}

interface Peak {
  /** The window with the median rate. */
  window: Window
  echo: Ceiling
  ledger: LedgerFigures
  /** Redis commands called at least once per hundred requests. */
  commands: { name: string; calls: number; micros: number }[]
  windows: readonly Window[]
}

const TURNS = { long: 3, short: 1 }

export const jsonScenario: Scenario = {
  name: 'json',
  what: 'HTTP JSON, closed loop, recorder paused: the peak, beside raw echo and raw EVALSHA',
  inShort: true,
  async run(bench) {
    const product = await bench.product(PAUSED)
    return withGenerator(async (generator) => {
      const peak = await measurePeak(bench, product, generator)
      bench.say('  raw EVALSHA')
      const seconds = bench.settings.seconds / 2
      const commit = await measureRawScript(seconds)
      return resultOf(peak, { commit, smallest: await measureRawVersion(seconds) })
    })
  },
}

/** Alternating windows of the product and the echo: disturbances of the machine affect both. */
async function measurePeak(bench: Bench, product: Product, generator: Generator): Promise<Peak> {
  const { seconds, short } = bench.settings
  const warm = { phases: [{ perSecond: 0, seconds: Math.max(1, seconds / 2) }] }
  await generator.run(bench.flow(product, 'json', warm))
  const windows: Window[] = []
  const echoes: Ceiling[] = []
  const { result: commands, ledger } = await countLedger(product, async () => {
    await resetCommands(product.redisUrl)
    for (let turn = 0; turn < (short ? TURNS.short : TURNS.long); turn += 1) {
      windows.push(await measureLoad(product, generator, [bench.flow(product, 'json')]))
      echoes.push(await measureEcho(bench, generator))
    }
    return commandCosts(product.redisUrl)
  })
  const answered = windows.reduce((sum, window) => sum + window.answered, 0)
  const each = (count: number) => count / answered
  return {
    window: middle(windows),
    echo: middle(echoes),
    ledger,
    windows,
    commands: commands
      .map(({ name, calls, micros }) => ({ name, calls: each(calls), micros: each(micros) }))
      .filter(({ calls }) => calls >= 0.01),
  }
}

function resultOf({ window, echo, ledger, commands, windows }: Peak, scripts: RawScripts) {
  const { cpu } = window
  const server = cpu.main + cpu.workers + cpu.helpers
  const toEcho = window.perSecond / echo.perSecond
  const toScript = window.perSecond / scripts.commit.perSecond
  const total = server + cpu.redis + cpu.generator
  const coresInUse = (total * window.perSecond) / 1e6 / availableParallelism()
  const goals: Goal[] = [
    { what: 'peak / echo', is: round(toEcho, 3), wanted: { atLeast: 0.35 } },
    { what: 'server CPU, µs/request', is: round(server, 1), wanted: { atMost: 25 } },
    { what: 'Redis CPU, µs/request', is: round(cpu.redis, 1), wanted: { atMost: 8 } },
    { what: "share of the cores' time in use", is: round(coresInUse, 2), wanted: { atLeast: 0.9 } },
  ]
  return {
    figures: {
      requests_per_second: Math.round(window.perSecond),
      p50_ms: millis(window.latency, 0.5),
      p99_ms: millis(window.latency, 0.99),
      echo_per_second: Math.round(echo.perSecond),
      script_per_second: Math.round(scripts.commit.perSecond),
      smallest_script_per_second: Math.round(scripts.smallest.perSecond),
      main_us: round(cpu.main, 1),
      workers_us: round(cpu.workers, 1),
      helpers_us: round(cpu.helpers, 1),
      redis_us: round(cpu.redis, 1),
      generator_us: round(cpu.generator, 1),
      batch: round(ledger.batch, 1),
      conflicts_per_request: round(ledger.conflicts, 4),
    },
    // The last one uses processor time, which is less sensitive to other load on the machine than
    // rates.
    ratios: { to_echo: toEcho, to_script: toScript, cpu_to_echo: echo.cpu / server },
    goals,
    tables: [
      rates(window, echo, scripts),
      costs(window, echo, scripts, ledger),
      commandTable(commands),
    ],
    notes: [
      `${ledgerNote(ledger)}; answers ${JSON.stringify(window.answers)}`,
      `product and echo in turns, of each the median of ${windows.length}; the product's: ` +
        `${windows.map(({ perSecond }) => Math.round(perSecond)).join(', ')}/s`,
      ...otherAnswers(...windows),
    ],
  } satisfies ScenarioResult
}

function rates(window: Window, echo: Ceiling, { commit, smallest }: RawScripts): Table {
  const ratio = (ceiling: RawScript) => round(window.perSecond / ceiling.perSecond, 3)
  return {
    title: 'Peak and ceilings',
    columns: ['', 'per second', 'ratio of the product to it'],
    rows: [
      ['Tollgate, HTTP JSON', Math.round(window.perSecond), 1],
      ['raw echo, the same server and load', Math.round(echo.perSecond), ratio(echo)],
      [
        'raw EVALSHA of the commit, two pipelines of 64',
        Math.round(commit.perSecond),
        ratio(commit),
      ],
      ['raw EVALSHA that keeps a version', Math.round(smallest.perSecond), ratio(smallest)],
    ],
  }
}

function costs(
  { cpu }: Window,
  echo: Ceiling,
  { commit, smallest }: RawScripts,
  { batch, conflicts }: LedgerFigures,
): Table {
  const server = cpu.main + cpu.workers + cpu.helpers
  const row = (name: string, value: number, raw: number | string) => [name, round(value, 1), raw]
  return {
    title: 'Processor time, µs per request',
    columns: ['', 'Tollgate', 'ceiling'],
    rows: [
      row('server: main thread', cpu.main, ''),
      row('server: workers', cpu.workers, ''),
      row('server: helpers of V8 (garbage)', cpu.helpers, ''),
      row('server', server, `${round(echo.cpu, 1)} (echo)`),
      row('Redis', cpu.redis, `${round(commit.cpu, 1)} (raw commit)`),
      ['', '', `${round(smallest.cpu, 1)} (raw version)`],
      row('load generator', cpu.generator, `${round(echo.generator, 1)} (echo)`),
      ['requests in a batch', round(batch, 1), ''],
      ['conflicts per request', round(conflicts, 4), ''],
    ],
  }
}

function commandTable(commands: Peak['commands']): Table {
  return {
    title: "Redis' own account, per request (those within a script are in its time, too)",
    columns: ['command', 'calls', 'µs'],
    rows: commands.map(({ name, calls, micros }) => [name, round(calls, 3), round(micros, 2)]),
  }
}
