/** A server of either kind for the tests of one, closed after each of them. */
import { afterEach } from 'vitest'
import type { HttpServer } from '../../../src/realtime/http/listening.ts'
import { type HttpServerOptions, startHttpServer } from '../../../src/realtime/http/server.ts'
import { createLogger } from '../../../src/runtime/log.ts'
import { jsonCodec } from '../codecs/settings.ts'

export const KINDS = ['native', 'javascript'] as const
export type Kind = (typeof KINDS)[number]

export const BODY_BYTES_MAX = 65_536

const open: HttpServer[] = []
afterEach(() => {
  for (const server of open.splice(0)) server.close()
})

/** A server that answers each body with its size, in the next turn unless told otherwise. */
export async function serverOf(httpServer: Kind, options: Partial<HttpServerOptions> = {}) {
  const bodies: string[] = []
  const server = await startHttpServer({
    host: '127.0.0.1',
    openTo: 'loopback',
    port: 0,
    httpServer,
    connectionsMax: 1000,
    log: createLogger({ name: 'test', level: 'silent' }),
    bodyBytesMax: BODY_BYTES_MAX,
    charge: (body, answer) => {
      const text = body.toString('utf8')
      bodies.push(text)
      setImmediate(() => answer('granted', `{"size":${text.length}}`))
    },
    encodeError: (field, why) => jsonCodec.encodeError({ field, why }),
    isReady: () => true,
    ...options,
  })
  open.push(server)
  return { server, bodies, url: `http://127.0.0.1:${server.port}`, port: server.port }
}
