import type { MetricObjectWithValues, MetricValueWithName } from 'prom-client'

/** A metric with its values, as plain JSON. */
export type MetricValues = Omit<MetricObjectWithValues<MetricValueWithName<string>>, 'collect'>

// prom-client declares a numeric enum; its code uses 'histogram'.
const HISTOGRAM = 'histogram' as unknown as MetricValues['type']

/** A histogram whose observation costs some nanoseconds and allocates nothing. */
export type FastHistogram = {
  observe(value: number): void
  /** The state as a Prometheus metric. */
  metric(): MetricValues
}

/**
 * A histogram for the hot path: prom-client hashes labels at each observation, which would take a
 * twentieth of the thread. `bounds` are the upper bounds of the buckets, ascending.
 */
export function createFastHistogram(
  name: string,
  help: string,
  bounds: readonly number[],
): FastHistogram {
  const counts = new Float64Array(bounds.length + 1)
  let sum = 0
  return {
    observe(value) {
      let index = 0
      while (index < bounds.length && value > (bounds[index] ?? 0)) index += 1
      counts[index] = (counts[index] ?? 0) + 1
      sum += value
    },
    metric() {
      let total = 0
      const values: MetricValueWithName<string>[] = [...bounds, '+Inf'].map((bound, index) => {
        total += counts[index] ?? 0
        return { labels: { le: bound }, value: total, metricName: `${name}_bucket` }
      })
      values.push({ labels: {}, value: sum, metricName: `${name}_sum` })
      values.push({ labels: {}, value: total, metricName: `${name}_count` })
      return { name, help, type: HISTOGRAM, aggregator: 'sum', values }
    },
  }
}
