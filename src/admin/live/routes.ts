/** `/api/live`: one sample, or a stream of them; `/api/live/history`: the last 15 minutes. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Config } from '../../config/schema.ts'
import { EntityRuleError, NotAllowedError } from '../../requests/errors.ts'
import { type Clock, realTimeOf } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/log.ts'
import type { Metrics } from '../../runtime/metrics.ts'
import { readSnapshots } from '../../store/metrics-exchange.ts'
import type { AuthGuard } from '../auth/auth-guard.ts'
import { within } from '../deadline.ts'
import { sendJson } from '../encodings.ts'
import { type HealthChecks, readHealth } from '../health.ts'
import { errorHandler } from '../http/answer.ts'
import { queryParameters } from '../http/body.ts'
import { NODE_ENDPOINTS } from '../permissions/endpoints.ts'
import { createSampler } from './sampler.ts'
import { createStreams } from './stream.ts'

export interface LiveRoutes {
  readonly config: Config
  readonly clock: Clock
  readonly log: Pick<Logger, 'info' | 'error'>
  readonly metrics: Pick<Metrics, 'snapshot'>
  readonly health: HealthChecks
  readonly guard: Pick<AuthGuard, 'follow'>
}

/** A store that does not answer within this time is shown as unavailable. */
const READ_MS_MAX = 800
/** Time in ms since 1970. */
const TIME = /^\d{1,15}$/

export function addLiveRoutes(server: FastifyInstance, parts: LiveRoutes): void {
  const { config, log, guard } = parts
  const { sample, history } = NODE_ENDPOINTS
  const sampler = createSampler({
    read: () => readLive(parts),
    clock: realTimeOf(parts.clock),
    log,
    limits: {
      lagWarnMs: config.recorder.lagWarnMs,
      backlogWarnPercent: config.ledger.backlogWarnPercent,
    },
    keepsHistory: config.admin.liveHistory,
  })
  const streams = createStreams({ sampler, log })
  server.addHook('onReady', async () => sampler.start())
  server.addHook('preClose', async () => {
    sampler.stop()
    streams.close()
  })
  server.register(async (routes) => {
    routes.setErrorHandler(errorHandler(log))
    const passive = { isPassive: true, readsByGet: true } as const
    routes.get(
      sample.path,
      { config: { access: sample.access, ...passive } },
      async (request, reply) => {
        refuseParameters(request, [])
        if (!wantsStream(request)) {
          const { json } = await sampler.current()
          return reply.type('application/json; charset=utf-8').send(successOf(json))
        }
        const caller = guard.follow(request, sample.access)
        if (caller === null) {
          const how = 'read single samples, or use an access token'
          throw new NotAllowedError(`No permission: a signed request cannot open a stream: ${how}`)
        }
        streams.open(caller, reply.raw)
        return reply.hijack()
      },
    )
    routes.get(
      history.path,
      { config: { access: history.access, ...passive } },
      async (request, reply) => {
        refuseParameters(request, ['from'])
        const from = queryParameters(request.url).get('from') ?? '0'
        if (typeof from !== 'string' || !TIME.test(from)) {
          throw new EntityRuleError('from must be a time in milliseconds since 1970')
        }
        return sendJson(request, reply, successOf(JSON.stringify(sampler.history(Number(from)))))
      },
    )
  })
}

function successOf(json: string): string {
  return `{"status":1,"desc":"success","details":${json}}`
}

function wantsStream({ method, headers }: FastifyRequest): boolean {
  return method === 'GET' && /\btext\/event-stream\b/i.test(headers.accept ?? '')
}

/** Parameters by which a caller authenticates. */
const CREDENTIALS: ReadonlySet<string> = new Set(['access_token', '_sig_', '_t_', 'signature'])

function refuseParameters({ url }: FastifyRequest, known: readonly string[]): void {
  for (const name of queryParameters(url).keys()) {
    if (known.includes(name) || CREDENTIALS.has(name)) continue
    throw new EntityRuleError(`${name.slice(0, 64)} is not a parameter of live data`)
  }
}

async function readLive({ config, metrics, health }: LiveRoutes) {
  const reading = readSnapshots(health.redis)
  const limited = within(reading, READ_MS_MAX, null).catch(() => null)
  const snapshots = limited.then((found) => found ?? Promise.reject(new Error('no metrics')))
  const [published, own, nodeHealth] = await Promise.all([
    limited,
    metrics.snapshot(),
    readHealth(health, snapshots, READ_MS_MAX),
  ])
  return { published, own, health: nodeHealth, hasRecorder: config.recorder.enabled }
}
