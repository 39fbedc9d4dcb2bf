import { nativeTlsProblem } from '../../config/tls.ts'
import { createEndpoints, type EndpointsOptions } from './endpoints.ts'
import { startJavaScriptServer } from './javascript-server.ts'
import { type HttpServer, ListenError, type ListenOptions } from './listening.ts'
import { startNativeServer } from './native-server.ts'
import type { Uws } from './native-tls.ts'

export interface HttpServerOptions extends ListenOptions, EndpointsOptions {
  /**
   * `auto`: native if there is a binary for this Node version that supports `tls`, otherwise
   * JavaScript.
   */
  readonly httpServer: 'auto' | 'native' | 'javascript'
  readonly metrics: ListenOptions['metrics']
  readonly log: ListenOptions['log']
}

/** Listens for charge requests. Throws `ListenError`, `TlsFileError`. */
export async function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const endpoints = createEndpoints(options)
  const { tls } = options
  const why = tls === null ? null : nativeTlsProblem(tls)
  const isNative = options.httpServer !== 'javascript' && why === null
  const uws = isNative ? await loadNative() : null
  const notShared = options.sharing === null ? null : sharingProblem(uws)
  if (notShared !== null)
    throw new ListenError(options, `realtime.listeners must be 1: ${notShared}`)
  if (uws !== null) return startNativeServer(uws, options, endpoints)
  if (options.httpServer === 'javascript') return startJavaScriptServer(options, endpoints)
  if (why !== null) {
    if (options.httpServer === 'native') throw new ListenError(options, `uWebSockets.js: ${why}`)
    options.log.info({ why }, 'uWebSockets.js cannot serve this TLS: HTTP is in JavaScript')
    return startJavaScriptServer(options, endpoints)
  }
  const node = process.versions.node
  if (options.httpServer === 'native') {
    throw new ListenError(options, `uWebSockets.js has no binary for Node ${node} on this system`)
  }
  options.log.warn({ node }, 'no binary of uWebSockets.js for this Node: HTTP is in JavaScript')
  return startJavaScriptServer(options, endpoints)
}

/** Null if several event loops can listen on one port. */
function sharingProblem(uws: Uws | null): string | null {
  if (uws === null) return 'HTTP in JavaScript cannot share its port'
  // Other systems let several sockets listen, but pass all connections to one of them.
  return process.platform === 'linux'
    ? null
    : 'only Linux distributes the connections of a shared port'
}

/**
 * The library; null if it has no binary for this Node version and system: its import then throws.
 */
async function loadNative(): Promise<Uws | null> {
  try {
    return await import('uWebSockets.js')
  } catch {
    return null
  }
}
