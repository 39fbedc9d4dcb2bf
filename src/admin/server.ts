/** The HTTP server of the control plane: what every answer has in common. */
import { type FastifyError, type FastifyInstance, fastify } from 'fastify'
import type { Config } from '../config/schema.ts'
import type { Logger } from '../runtime/log.ts'

/** The address cannot be listened on; the message says why. */
export class AdminListenError extends Error {
  override name = 'AdminListenError'
}

const BODY_BYTES_MAX = 256 * 1024

/** A server without routes. Every error is JSON, and none tells of what the server is made. */
export function createServer(log: Pick<Logger, 'error'>): FastifyInstance {
  const server = fastify({
    logger: false,
    bodyLimit: BODY_BYTES_MAX,
    forceCloseConnections: true,
    return503OnClosing: true,
  })
  server.setNotFoundHandler((request, reply) =>
    reply.code(404).send(errorBody(404, `nothing is at ${request.method} ${pathOf(request.url)}`)),
  )
  server.setErrorHandler((error: FastifyError, request, reply) => {
    const status = error.statusCode ?? 500
    const isOurs = status >= 500
    if (isOurs) log.error({ err: error, req: request }, 'request failed')
    const text = isOurs ? 'internal error' : error.message
    return reply.code(status).send(errorBody(status, text))
  })
  return server
}

/** As the deprecated calls have it (interface section 7): `status` 0 and a text. */
function errorBody(code: number, desc: string) {
  return { status: 0, code, desc }
}

/** Listens, and gives the port that was taken. Throws `AdminListenError`. */
export async function listen(
  server: FastifyInstance,
  where: Pick<Config['admin'], 'host' | 'port'>,
): Promise<number> {
  const { host, port } = where
  const address = `${host.includes(':') ? `[${host}]` : host}:${port}`
  try {
    await server.listen({ host, port })
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error)
    throw new AdminListenError(`cannot listen on ${address}: ${code}`, { cause: error })
  }
  const bound = server.server.address()
  return typeof bound === 'object' && bound !== null ? bound.port : port
}

function pathOf(url: string): string {
  return url.replace(/\?.*$/s, '')
}
