/** Metrics of this process and of all publishing processes, as one Prometheus text. */
import { text } from '../catalog/entities/json-schema.ts'
import type { Logger } from '../runtime/log.ts'
import { METRICS_CONTENT_TYPE, type Metrics, mergeSnapshots } from '../runtime/metrics.ts'
import { readSnapshots } from '../store/metrics-exchange.ts'
import type { RedisConnection } from '../store/redis.ts'
import { ADMITTED, get } from './http/endpoint.ts'

export interface MetricsParts {
  readonly redis: RedisConnection
  readonly metrics: Pick<Metrics, 'snapshot'>
  readonly log: Pick<Logger, 'debug'>
}

/** Without Redis it returns the metrics of this process only. */
export const METRICS_ENDPOINT = get('/metrics', {
  access: ['read'],
  openPath: 'metrics',
  about: 'Metrics for Prometheus',
  config: { inReserve: true },
  answer: {
    description: 'Metrics in Prometheus format.',
    schema: text('Lines with names and values.'),
    example: '# TYPE tollgate_debtors gauge\ntollgate_debtors{owner="account"} 0\n',
    type: 'text/plain',
    others: ADMITTED,
  },
  async run({ redis, metrics, log }: MetricsParts, _, reply) {
    const own = await metrics.snapshot()
    const others = await readSnapshots(redis).catch((error: unknown) => {
      log.debug({ err: error }, 'cannot read the metrics of other processes')
      return []
    })
    return reply.type(METRICS_CONTENT_TYPE).send(await mergeSnapshots([own, ...others]))
  },
})
