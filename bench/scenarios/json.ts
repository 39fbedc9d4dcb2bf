/** The peak: sessions of plain JSON in a closed loop, recorder paused, beside both ceilings. */
import { type Generator, startGenerator } from '../generator/generator.ts'
import { type Ceiling, measureEcho, measureRawScript } from '../measure/ceilings.ts'
import { commandCosts, productFigure, resetCommands } from '../measure/figures.ts'
import { measureLoad, millis, round, type Window } from '../measure/load.ts'
import type { Product } from '../product.ts'
import type { Bench, Goal, Scenario, ScenarioResult, Table } from '../scenario.ts'

/** Nothing is recorded: Redis and the charging process have the cores to themselves. */
export const PAUSED = { environment: { TOLLGATE_RECORDER_ENABLED: 'false' } }

type RawScript = Pick<Ceiling, 'perSecond' | 'cpu'>

interface Peak {
  window: Window
  /** Requests in one batch to a worker, on average. */
  batch: number
  /** Of Redis' commands, those that were called at least once in a hundred requests. */
  commands: { name: string; calls: number; micros: number }[]
}

export const jsonScenario: Scenario = {
  name: 'json',
  what: 'HTTP JSON, closed loop, recorder paused: the peak, beside raw echo and raw EVALSHA',
  inShort: true,
  async run(bench) {
    const product = await bench.product(PAUSED)
    const generator = await startGenerator()
    try {
      const peak = await measurePeak(bench, product, generator)
      bench.say('  ceilings')
      const echo = await measureEcho(bench, generator)
      const script = await measureRawScript()
      return resultOf(peak, echo, script)
    } finally {
      await generator.close()
    }
  },
}

async function measurePeak(bench: Bench, product: Product, generator: Generator): Promise<Peak> {
  const { seconds } = bench.settings
  const warm = { phases: [{ perSecond: 0, seconds: Math.max(1, seconds / 2) }] }
  await generator.run(bench.flow(product, 'json', warm))
  await resetCommands(product.redisUrl)
  const before = await batches(product)
  const window = await measureLoad(product, generator, [bench.flow(product, 'json')])
  const commands = await commandCosts(product.redisUrl)
  // The processes publish their figures every few seconds.
  const after = await published(product, before.count)
  const each = (count: number) => count / window.answered
  return {
    window,
    batch: (after.sum - before.sum) / Math.max(1, after.count - before.count),
    commands: commands
      .map(({ name, calls, micros }) => ({ name, calls: each(calls), micros: each(micros) }))
      .filter(({ calls }) => calls >= 0.01),
  }
}

async function batches(product: Product): Promise<{ sum: number; count: number }> {
  const sum = await productFigure(product, 'tollgate_batch_size_sum')
  return { sum, count: await productFigure(product, 'tollgate_batch_size_count') }
}

const PUBLISHED_MS = 12_000
const LOOK_MS = 250

/** The figures once they have grown, or what they are after a while. */
async function published(product: Product, count: number): Promise<{ sum: number; count: number }> {
  for (let waited = 0; waited < PUBLISHED_MS; waited += LOOK_MS) {
    const now = await batches(product)
    if (now.count > count) return now
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
  }
  return batches(product)
}

function resultOf({ window, batch, commands }: Peak, echo: Ceiling, script: RawScript) {
  const { cpu } = window
  const server = cpu.main + cpu.workers + cpu.helpers
  const toEcho = window.perSecond / echo.perSecond
  const toScript = window.perSecond / script.perSecond
  const goals: Goal[] = [
    { what: 'peak / echo', is: round(toEcho, 3), wanted: { atLeast: 0.45 } },
    { what: 'peak / raw EVALSHA', is: round(toScript, 3), wanted: { atLeast: 0.28 } },
    { what: 'server CPU, µs/request', is: round(server, 1), wanted: { atMost: 13 } },
    { what: 'Redis CPU, µs/request', is: round(cpu.redis, 1), wanted: { atMost: 8 } },
  ]
  return {
    figures: {
      requests_per_second: Math.round(window.perSecond),
      p50_ms: millis(window.latency, 0.5),
      p99_ms: millis(window.latency, 0.99),
      echo_per_second: Math.round(echo.perSecond),
      script_per_second: Math.round(script.perSecond),
      main_us: round(cpu.main, 1),
      workers_us: round(cpu.workers, 1),
      helpers_us: round(cpu.helpers, 1),
      redis_us: round(cpu.redis, 1),
      generator_us: round(cpu.generator, 1),
      batch: round(batch, 1),
    },
    // Of processor times: what else runs on the machine disturbs them less than rates.
    ratios: { to_echo: toEcho, to_script: toScript, cpu_to_echo: echo.cpu / server },
    goals,
    tables: [rates(window, echo, script), costs(window, echo, script), commandTable(commands)],
    notes: [`${round(batch, 1)} requests in a batch; answers ${JSON.stringify(window.answers)}`],
  } satisfies ScenarioResult
}

function rates(window: Window, echo: Ceiling, script: RawScript): Table {
  const ratio = (ceiling: RawScript) => round(window.perSecond / ceiling.perSecond, 3)
  return {
    title: 'Peak and ceilings',
    columns: ['', 'per second', 'ratio of the product to it'],
    rows: [
      ['Tollgate, HTTP JSON', Math.round(window.perSecond), 1],
      ['raw echo, the same server and load', Math.round(echo.perSecond), ratio(echo)],
      ['raw EVALSHA, pipeline 64', Math.round(script.perSecond), ratio(script)],
    ],
  }
}

function costs({ cpu }: Window, echo: Ceiling, script: RawScript): Table {
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
      row('Redis', cpu.redis, `${round(script.cpu, 1)} (raw EVALSHA)`),
      row('load generator', cpu.generator, `${round(echo.generator, 1)} (echo)`),
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
