/** `GET /api`: whether the node is operational. */
import type { Catalog } from '../catalog/connection.ts'
import { text, typed } from '../catalog/entities/json-schema.ts'
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

const HEARTBEAT = component('heartbeat', 'Whether the stores answer.', {
  status: typed<0 | 1>({ type: 'integer', enum: [0, 1], description: '1: both stores answer.' }),
  message: text('The result, or the store that is unavailable.'),
  version: text('Version of the interface.'),
})

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
    unavailableExample: { status: 0, message: 'Redis unavailable', version: INTERFACE_VERSION },
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
    const message = isWell ? 'Tollgate API SUCCESS' : `${away.join(' and ')} unavailable`
    return { status: isWell ? 1 : 0, message, version: INTERFACE_VERSION }
  },
})

/** The cause is only logged: error texts may name hosts and users. */
function answers(ping: Promise<unknown>): Promise<boolean> {
  const answered = ping.then(
    () => true,
    () => false,
  )
  return within(answered, WAIT_MS, false)
}
