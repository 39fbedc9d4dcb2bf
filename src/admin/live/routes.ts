/** `/api/live`: one sample, or a stream of them; `/api/live/history`: the last 15 minutes. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { integer, text } from '../../catalog/entities/json-schema.ts'
import type { Config } from '../../config/schema.ts'
import { fieldRule, NotAllowedError } from '../../requests/errors.ts'
import { type Clock, realTimeOf } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/log.ts'
import type { Metrics } from '../../runtime/metrics.ts'
import { readSnapshots } from '../../store/metrics-exchange.ts'
import type { AuthGuard } from '../auth/auth-guard.ts'
import { within } from '../deadline.ts'
import { sendJson } from '../encodings.ts'
import { type HealthChecks, readHealth } from '../health.ts'
import { errorHandler } from '../http/answer.ts'
import { succeeded, success } from '../http/answer-schema.ts'
import { queryParameters } from '../http/body.ts'
import { addEndpoints, CODED, get } from '../http/endpoint.ts'
import { HISTORY_SECONDS, LIVE_HISTORY } from './history.ts'
import { LIVE_SAMPLE } from './sample-schema.ts'
import { createSampler, type LiveSampler } from './sampler.ts'
import { createStreams, type LiveStreams } from './stream.ts'

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

/** The parts that the endpoints use. */
interface LiveParts {
  readonly sampler: LiveSampler
  readonly streams: LiveStreams
  readonly guard: LiveRoutes['guard']
}

const SAMPLE = {
  time: 1_795_705_200_000,
  health: {
    status: 'ready',
    redis: 'ok',
    mongo: 'ok',
    ledger: 'ok',
    changes: 'ok',
    catalogue: 'ok',
  },
  processes: { realtime: 1, recorder: 1 },
  requests: { granted: 812, denied: 12, failed: 0, refused: 0 },
  file_types: [{ name: 'json', granted: 812, denied: 12, failed: 0 }],
  peers: [
    {
      peer: 'ggsn',
      granted: 812,
      denied: 12,
      failed: 0,
      refused: 0,
      reasons: [{ outcome: 'denied', reason: '-13', rate: 12 }],
    },
  ],
  latency: { p50_ms: 2, p99_ms: 10, beyond: 0 },
  sessions: { open: 4071 },
  reservations: 790,
  load: { in_flight: 3, limit: 640, waiting: 0, refused: 0, dropped: 0 },
  workers: { commits: 98, conflicts: 0, waits: 0, loads: 2, batch: 8.4 },
  loops: { busy: 0.31 },
  recorder: { backlog: 41, age_s: 0.2, drain_s: 0, recorded: 96, memory: 0 },
  diameter: {
    sessions: 0,
    connections: 0,
    messages_in: 0,
    messages_out: 0,
    pending: 0,
    peers: [],
  },
  events: { pending: 0, oldest_s: 0 },
  alarms: [],
} as const

const ROLES = ['read'] as const
const REFUSED = ['ruleError', 'permissionError', 'loginError'] as const
const sample = get('/api/live', {
  access: ROLES,
  about: 'Live figures of the last second, or a stream of them (`Accept: text/event-stream`)',
  config: { isPassive: true },
  answer: {
    description:
      'The newest sample; with `Accept: text/event-stream` a stream with an event `sample` each ' +
      'second, and an event `end` with the reason if the node ends it.',
    schema: success('liveAnswer', 'The newest sample.', LIVE_SAMPLE),
    example: succeeded(SAMPLE),
    types: {
      'text/event-stream': {
        schema: text('Events: `id` is the time of the sample, `data` the sample as JSON.'),
        example: `id: ${SAMPLE.time}\nevent: sample\ndata: ${JSON.stringify(SAMPLE)}\n\n`,
      },
    },
    refused: REFUSED,
    others: { ...CODED, '429': 'tooManyStreams' },
  },
  async run({ sampler, streams, guard }: LiveParts, request, reply) {
    refuseParameters(request, [])
    if (!wantsStream(request)) {
      const { json } = await sampler.current()
      return reply.type('application/json; charset=utf-8').send(successOf(json))
    }
    const caller = guard.follow(request, ROLES)
    if (caller === null) {
      const how = 'read single samples, or use an access token'
      throw new NotAllowedError(`No permission: a signed request cannot open a stream: ${how}`)
    }
    streams.open(caller, reply.raw)
    return reply.hijack()
  },
})

const history = get('/api/live/history', {
  access: ROLES,
  about: 'Live figures of the last 15 minutes',
  config: { isPassive: true },
  request: {
    parameters: { from: integer('Only values from this time on, in milliseconds since 1970.') },
    example: { from: SAMPLE.time },
  },
  answer: {
    description: 'The numbers of the last samples.',
    schema: success(
      'liveHistory',
      `The numbers of the last ${HISTORY_SECONDS} seconds.`,
      LIVE_HISTORY,
    ),
    example: succeeded({
      from: SAMPLE.time,
      to: SAMPLE.time + 2000,
      step_ms: 1000,
      series: { 'requests.granted': [812, null, 809] },
    }),
    refused: REFUSED,
    others: CODED,
  },
  async run({ sampler }: LiveParts, request, reply) {
    refuseParameters(request, ['from'])
    const from = queryParameters(request.url).get('from') ?? '0'
    if (typeof from !== 'string' || !TIME.test(from)) {
      throw fieldRule('from', 'must be a time in milliseconds since 1970')
    }
    return sendJson(request, reply, successOf(JSON.stringify(sampler.history(Number(from)))))
  },
})

export const LIVE_ENDPOINTS = [sample, history]

export function addLiveRoutes(server: FastifyInstance, parts: LiveRoutes): void {
  const { config, log, guard } = parts
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
    addEndpoints(routes, LIVE_ENDPOINTS, { sampler, streams, guard })
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
    throw fieldRule(name.slice(0, 64), 'is not a parameter of live data', 'unknown')
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
