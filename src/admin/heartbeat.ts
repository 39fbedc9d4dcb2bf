/** `GET /api`: whether the node is operational. */
import type { FastifyInstance } from 'fastify'
import type { Catalog } from '../catalog/connection.ts'
import type { RouteAccess } from '../identity/access.ts'
import type { RedisConnection } from '../store/redis.ts'
import { within } from './deadline.ts'

/** Version of the API. */
export const INTERFACE_VERSION = '6.0'

/** Limits the wait for an unavailable store. */
const WAIT_MS = 1000

export interface HeartbeatOptions {
  catalog: Pick<Catalog, 'ping'>
  redis: Pick<RedisConnection, 'onEachMaster'>
  access: RouteAccess
}

/**
 * Status 1 if both stores answer; otherwise 503 with status 0 and the unavailable stores. With
 * `simple` the answer is the word SUCCESS or FAILED.
 */
export function addHeartbeat(server: FastifyInstance, options: HeartbeatOptions): void {
  const { catalog, redis, access } = options
  const config = { access, inReserve: true, readsByGet: true } as const
  server.get<{ Querystring: { simple?: unknown } }>('/api', { config }, async (request, reply) => {
    const [mongo, ledger] = await Promise.all([
      answers(catalog.ping()),
      answers(redis.onEachMaster((master) => master.ping())),
    ])
    const away = [...(mongo ? [] : ['MongoDB']), ...(ledger ? [] : ['Redis'])]
    const isWell = away.length === 0
    reply.code(isWell ? 200 : 503).header('cache-control', 'no-store')
    const { simple } = request.query
    if (simple !== undefined && simple !== '' && simple !== '0') {
      return reply.type('text/plain').send(isWell ? 'SUCCESS' : 'FAILED')
    }
    const message = isWell ? 'Tollgate API SUCCESS' : `${away.join(' and ')} unavailable`
    return { status: isWell ? 1 : 0, message, version: INTERFACE_VERSION }
  })
}

/** The cause is only logged: error texts may name hosts and users. */
function answers(ping: Promise<unknown>): Promise<boolean> {
  const answered = ping.then(
    () => true,
    () => false,
  )
  return within(answered, WAIT_MS, false)
}
