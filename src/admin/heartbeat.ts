/** `GET /api`: whether the node is operational. */

import type { Catalog } from '../catalog/connection.ts'
import { ref, text, typed } from '../catalog/entities/json-schema.ts'
import { issuesOf } from '../domain/field-errors.ts'
import { type AnsweredIssue, answeredIssues } from '../requests/errors.ts'
import type { RedisConnection } from '../store/redis.ts'
import { within } from './deadline.ts'
import { component } from './http/answer-schema.ts'
import { get } from './http/endpoint.ts'

/** Version of the API. */
export const INTERFACE_VERSION = '6.0'

/** Limits the wait for an unavailable store. */
const WAIT_MS = 1000

export interface HeartbeatParts {
  readonly catalog: Pick<Catalog, 'ping'>
  readonly redis: Pick<RedisConnection, 'onEachMaster'>
}

const HEARTBEAT = component(
  'heartbeat',
  'Whether the stores answer.',
  {
    status: typed<0 | 1>({ type: 'integer', enum: [0, 1], description: '1: both stores answer.' }),
    message: text('The result, or the store that is unavailable.'),
    version: text('Version of the interface.'),
    errors: ref<readonly AnsweredIssue[]>('errors', 'With HTTP status 503: what is wrong.'),
  },
  ['errors'],
)

/**
 * Status 1 if both stores answer; otherwise 503 with status 0 and the unavailable stores. With
 * `simple` the answer is the word SUCCESS or FAILED.
 */
export const HEARTBEAT_ENDPOINT = get('/api', {
  access: 'user',
  openPath: 'heartbeat',
  about: 'Heartbeat: whether the node works',
  config: { inReserve: true },
  request: {
    parameters: { simple: text('`1`: the response is the word SUCCESS or FAILED.') },
    example: { simple: '0' },
  },
  answer: {
    description: 'The node works.',
    schema: HEARTBEAT,
    example: { status: 1, message: 'Tollgate API SUCCESS', version: INTERFACE_VERSION },
    types: { 'text/plain': { schema: text('SUCCESS.'), example: 'SUCCESS' } },
    unavailableExample: unavailable('Redis unavailable'),
    others: { '401': 'badToken', '403': 'forbidden' },
    refused: ['permissionError', 'loginError'],
  },
  async run({ catalog, redis }: HeartbeatParts, request, reply) {
    const [mongo, ledger] = await Promise.all([
      answers(catalog.ping()),
      answers(redis.onEachMaster((master) => master.ping())),
    ])
    const away = [...(mongo ? [] : ['MongoDB']), ...(ledger ? [] : ['Redis'])]
    const isWell = away.length === 0
    reply.code(isWell ? 200 : 503).header('cache-control', 'no-store')
    const { simple } = request.query as { simple?: unknown }
    if (simple !== undefined && simple !== '' && simple !== '0') {
      return reply.type('text/plain').send(isWell ? 'SUCCESS' : 'FAILED')
    }
    if (!isWell) return unavailable(`${away.join(' and ')} unavailable`)
    return { status: 1 as const, message: 'Tollgate API SUCCESS', version: INTERFACE_VERSION }
  },
})

function unavailable(message: string) {
  const errors = answeredIssues(issuesOf(message, 'unavailable'))
  return { status: 0 as const, message, version: INTERFACE_VERSION, errors }
}

/** The cause is only logged: error texts may name hosts and users. */
function answers(ping: Promise<unknown>): Promise<boolean> {
  const answered = ping.then(
    () => true,
    () => false,
  )
  return within(answered, WAIT_MS, false)
}
