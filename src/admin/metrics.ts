/** Metrics of this process and of all publishing processes, as one Prometheus text. */
import type { FastifyInstance } from 'fastify'
import type { RouteAccess } from '../identity/access.ts'
import type { Logger } from '../runtime/log.ts'
import { METRICS_CONTENT_TYPE, type Metrics, mergeSnapshots } from '../runtime/metrics.ts'
import { readSnapshots } from '../store/metrics-exchange.ts'
import type { RedisConnection } from '../store/redis.ts'

export interface MetricsRouteOptions {
  redis: RedisConnection
  metrics: Pick<Metrics, 'snapshot'>
  log: Pick<Logger, 'debug'>
  access: RouteAccess
}

/** `/metrics`. Without Redis it returns the metrics of this process only. */
export function addMetrics(server: FastifyInstance, options: MetricsRouteOptions): void {
  const { redis, metrics, log, access } = options
  server.get(
    '/metrics',
    { config: { access, inReserve: true, readsByGet: true } },
    async (_, reply) => {
      const own = await metrics.snapshot()
      const others = await readSnapshots(redis).catch((error: unknown) => {
        log.debug({ err: error }, 'cannot read the metrics of other processes')
        return []
      })
      return reply.type(METRICS_CONTENT_TYPE).send(await mergeSnapshots([own, ...others]))
    },
  )
}
