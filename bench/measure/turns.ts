/** Common parts of scenarios: a product, a generator that is ended, alternating closed loops. */

import type { Product } from '../../test/support/product/product.ts'
import { type Generator, startGenerator } from '../generator/generator.ts'
import type { Flow, Protocol } from '../generator/job.ts'
import type { Bench, Table } from '../scenario.ts'
import { type Ceiling, measureEcho } from './ceilings.ts'
import { measureLoad, median, millis, round, type Window } from './load.ts'

export async function withGenerator<T>(work: (generator: Generator) => Promise<T>): Promise<T> {
  const generator = await startGenerator()
  try {
    return await work(generator)
  } finally {
    await generator.close()
  }
}

/** A closed loop after a warm-up of half its time. `redisPids`: see `measureLoad`. */
export async function measureClosed(
  bench: Bench,
  product: Product,
  generator: Generator,
  protocol: Protocol,
  redisPids: readonly number[] = [],
): Promise<Window> {
  await warmUp(bench, product, generator, protocol)
  return measureLoad(product, generator, [bench.flow(product, protocol)], redisPids)
}

async function warmUp(bench: Bench, product: Product, generator: Generator, protocol: Protocol) {
  const seconds = Math.max(1, bench.settings.seconds / 2)
  await generator.run(bench.flow(product, protocol, { phases: [{ perSecond: 0, seconds }] }))
}

/** Two protocols and the echo in alternation: disturbances of the machine affect all of them. */
export interface Compared {
  first: Window[]
  second: Window[]
  /** Median rate of `second` divided by that of `first`, and by that of the echo. */
  ratio: number
  toEcho: number
  echo: Ceiling
}

export async function inTurns(
  bench: Bench,
  product: Product,
  protocols: readonly [Protocol, Protocol],
): Promise<Compared> {
  const rounds = bench.settings.short ? 1 : 3
  return withGenerator(async (generator) => {
    const first: Window[] = []
    const second: Window[] = []
    for (const protocol of protocols) await warmUp(bench, product, generator, protocol)
    for (let round = 0; round < rounds; round += 1) {
      const closed = (at: 0 | 1) => [bench.flow(product, protocols[at])]
      first.push(await measureLoad(product, generator, closed(0)))
      second.push(await measureLoad(product, generator, closed(1)))
    }
    const echo = await measureEcho(bench, generator)
    const rate = (windows: Window[]) => median(windows.map((window) => window.perSecond))
    const ratio = rate(second) / rate(first)
    return { first, second, ratio, toEcho: rate(second) / echo.perSecond, echo }
  })
}

/** Requests per second, latency and cost of some loads, by name. */
export function loadTable(title: string, loads: readonly (readonly [string, Window])[]): Table {
  return {
    title,
    columns: ['', 'per second', 'p50 ms', 'p99 ms', 'server µs', 'Redis µs', 'generator µs'],
    rows: loads.map(([name, { perSecond, latency, cpu }]) => [
      name,
      Math.round(perSecond),
      millis(latency, 0.5),
      millis(latency, 0.99),
      round(cpu.main + cpu.workers + cpu.helpers, 1),
      round(cpu.redis, 1),
      round(cpu.generator, 1),
    ]),
  }
}

/** The window with the median rate. */
export function middle<T extends { perSecond: number }>(windows: readonly T[]): T {
  const sorted = windows.toSorted((a, b) => a.perSecond - b.perSecond)
  const found = sorted[Math.floor(sorted.length / 2)]
  if (found === undefined) throw new Error('no window')
  return found
}

/** Answers other than grants, for the notes; empty if all are grants. */
export function otherAnswers(...windows: readonly Window[]): string[] {
  return windows
    .filter(({ refused, failed, unanswered }) => refused + failed + unanswered > 0)
    .map(({ answers, unanswered }) => {
      return `not all was granted: ${JSON.stringify(answers)}, ${unanswered} not answered`
    })
}

/** An open loop with one rate. */
export function openFlow(bench: Bench, product: Product, perSecond: number, seconds: number): Flow {
  const { connections } = bench.settings
  // More connections than a closed loop: hardly a request waits for one while a part pauses.
  const open = { connections: connections * 8, outstanding: connections * 8 }
  const phases = [{ perSecond, seconds }]
  return bench.flow(product, 'json', { ...open, name: 'open', gaps: 'random', phases })
}
