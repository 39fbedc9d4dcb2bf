/** One measured window: the load and its cost in each process. */

import type { Product } from '../../test/support/product/product.ts'
import type { Generator } from '../generator/generator.ts'
import { type Histogram, histogramOf } from '../generator/histogram.ts'
import type { Flow, JobResult, PhaseResult } from '../generator/job.ts'
import { cpuOf, cpuOfNode } from './threads.ts'

export interface Window {
  result: JobResult
  /** Over all flows and phases. */
  answered: number
  admitted: number
  refused: number
  failed: number
  unanswered: number
  /** Admitted requests per second. */
  perSecond: number
  latency: Histogram
  answers: Record<string, number>
  /** µs of processor time per answered request. */
  cpu: Costs
  /** The maximum over the phases of the generator's share of one core. */
  generatorCore: number
}

export interface Costs {
  main: number
  workers: number
  helpers: number
  redis: number
  generator: number
}

/**
 * Runs flows against a product. `redisPids`: processes of the nodes, if Redis is not the product's.
 */
export async function measureLoad(
  product: Product,
  generator: Generator,
  flows: readonly Flow[],
  redisPids: readonly number[] = [],
): Promise<Window> {
  const pids = redisPids.length > 0 ? redisPids : [product.pid('redis')]
  const redisMicros = () => pids.reduce((sum, pid) => sum + cpuOf(pid), 0)
  const realtime = product.pid('realtime')
  const before = { node: cpuOfNode(realtime), redis: redisMicros() }
  const result = await generator.run(...flows)
  const after = { node: cpuOfNode(realtime), redis: redisMicros() }
  const window = windowOf(result)
  const each = (micros: number) => micros / Math.max(1, window.answered)
  window.cpu = {
    main: each(after.node.main - before.node.main),
    workers: each(after.node.workers - before.node.workers),
    helpers: each(after.node.helpers - before.node.helpers),
    redis: each(after.redis - before.redis),
    generator: each(result.cpuMicros),
  }
  return window
}

/** A window without the costs of processes other than the generator. */
export function windowOf(result: JobResult): Window {
  const phases = result.flows.flatMap((flow) => flow.phases)
  const total = (figure: (phase: PhaseResult) => number) =>
    phases.reduce((sum, phase) => sum + figure(phase), 0)
  const answered = total((phase) => phase.answered)
  const cost = { main: 0, workers: 0, helpers: 0, redis: 0 }
  return {
    result,
    answered,
    admitted: total((phase) => phase.admitted),
    refused: total((phase) => phase.refused),
    failed: total((phase) => phase.failed),
    unanswered: total((phase) => phase.unanswered),
    perSecond: result.flows.reduce((sum, { phases: own }) => sum + rateOf(own), 0),
    latency: histogramOf(...phases.map((phase) => phase.latency)),
    answers: addUp(phases.map((phase) => phase.answers)),
    cpu: { ...cost, generator: result.cpuMicros / Math.max(1, answered) },
    generatorCore: Math.max(0, ...phases.map((phase) => phase.generatorCore)),
  }
}

/** Admitted requests per second of one flow over its consecutive phases. */
function rateOf(phases: readonly PhaseResult[]): number {
  const seconds = phases.reduce((sum, phase) => sum + phase.seconds, 0)
  return phases.reduce((sum, phase) => sum + phase.admitted, 0) / Math.max(seconds, 1e-9)
}

function addUp(all: readonly Record<string, number>[]): Record<string, number> {
  const sums: Record<string, number> = {}
  for (const one of all) {
    for (const [name, count] of Object.entries(one)) sums[name] = (sums[name] ?? 0) + count
  }
  return sums
}

/** Milliseconds with two decimals. */
export function millis(histogram: Histogram, share: number): number {
  return round(histogram.quantile(share) / 1000, 2)
}

export function round(value: number, digits: number): number {
  return Number(value.toFixed(digits))
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  if (sorted.length % 2 === 1) return sorted[middle] ?? 0
  return ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2
}
