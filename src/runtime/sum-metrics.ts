import { AggregatorRegistry } from 'prom-client'
import type { MetricValues } from './fast-histogram.ts'

/**
 * The figures of a process of several threads: what others have, too, is added up (or as the metric
 * says by its `aggregator`); what only `own` has, such as memory, is already that of the process.
 */
export async function sumMetrics(
  own: readonly MetricValues[],
  others: readonly (readonly MetricValues[])[],
): Promise<readonly MetricValues[]> {
  const shared = new Set(others.flatMap((figures) => figures.map(({ name }) => name)))
  const summed = AggregatorRegistry.aggregate([
    own.filter(({ name }) => shared.has(name)),
    ...others.map((figures) => [...figures]),
  ])
  return [...own.filter(({ name }) => !shared.has(name)), ...(await summed.getMetricsAsJSON())]
}
