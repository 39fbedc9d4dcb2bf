import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createEndpoints, type EndpointsOptions } from './endpoints.ts'
import { startJavaScriptServer } from './javascript-server.ts'
import { type HttpServer, ListenError, type ListenOptions } from './listening.ts'
import { startNativeServer, type Uws } from './native-server.ts'

export interface HttpServerOptions extends ListenOptions, EndpointsOptions {
  /** `auto`: native where there is a binary for this Node, else JavaScript. */
  readonly httpServer: 'auto' | 'native' | 'javascript'
}

/** Listens for charge requests. Throws `ListenError`, `TlsFileError`. */
export async function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const endpoints = createEndpoints(options)
  const uws = options.httpServer === 'javascript' ? null : await loadNative()
  const lonely = options.sharing === null ? null : whyNotShared(uws)
  if (lonely !== null) throw new ListenError(options, `realtime.listeners must be 1: ${lonely}`)
  if (uws !== null) return startNativeServer(uws, options, endpoints)
  if (options.httpServer === 'javascript') return startJavaScriptServer(options, endpoints)
  const node = process.versions.node
  if (options.httpServer === 'native') {
    throw new ListenError(options, `uWebSockets.js has no binary for Node ${node} on this system`)
  }
  options.log.warn({ node }, 'no binary of uWebSockets.js for this Node: HTTP is in JavaScript')
  return startJavaScriptServer(options, endpoints)
}

/** Null where several event loops can listen on one port. */
function whyNotShared(uws: Uws | null): string | null {
  if (uws === null) return 'HTTP in JavaScript, as it is here, shares no port'
  // Others let several listen, and give all connections to one of them.
  return process.platform === 'linux' ? null : 'only Linux divides the connections of a port'
}

/**
 * The library, if it has a binary for this Node; null if not. Without one it would complain on the
 * console and put its own JavaScript in place, which knows no query and loses last answers.
 */
async function loadNative(): Promise<Uws | null> {
  const { platform, arch, versions } = process
  const file = `uws_${platform}_${arch}_${versions.modules}.node`
  // Of the package that is installed, and of the author's own.
  const places = [`uWebSockets.js/binaries/${file}`, `uWebSockets.js/${file}`]
  if (!places.some(isInstalled)) return null
  try {
    const { default: uws } = await import('uWebSockets.js')
    return isNative(uws.App) ? uws : null
  } catch {
    return null
  }
}

const require = createRequire(import.meta.url)

function isInstalled(path: string): boolean {
  try {
    return existsSync(require.resolve(path))
  } catch {
    return false
  }
}

function isNative(something: unknown): boolean {
  return String(something).includes('[native code]')
}
