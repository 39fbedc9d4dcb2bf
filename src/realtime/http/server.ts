import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { closedReason, type OpenTo } from '../../config/hosts.ts'
import type { Logger } from '../../runtime/log.ts'
import { createEndpoints, type EndpointsOptions } from './endpoints.ts'
import { startJavaScriptServer } from './javascript-server.ts'
import { startNativeServer, type Uws } from './native-server.ts'

export interface ListenOptions {
  readonly host: string
  /** Who may use it without authentication. A host that others reach has to be opened. */
  readonly openTo: OpenTo
  /** 0 takes any free port. */
  readonly port: number
  readonly connectionsMax: number
  readonly encodeError: EndpointsOptions['encodeError']
  readonly log: Pick<Logger, 'warn' | 'error'>
}

export interface HttpServerOptions extends ListenOptions, EndpointsOptions {
  /** `auto`: native where there is a binary for this Node, else JavaScript. */
  readonly httpServer: 'auto' | 'native' | 'javascript'
}

export interface HttpServer {
  readonly port: number
  /** Takes no new connections, and ends each one that is open with its next answer. */
  stop(): void
  /** Cuts what is still connected. */
  close(): void
}

/** The address cannot be listened on; the message says why. */
export class ListenError extends Error {
  override name = 'ListenError'
  constructor({ host, port }: { host: string; port: number }, why: string) {
    super(`cannot listen on ${host.includes(':') ? `[${host}]` : host}:${port}: ${why}`)
  }
}

/** Listens for charge requests. Throws `ListenError`. */
export async function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const reason = closedReason(options.host, options.openTo, 'realtime.openTo')
  if (reason !== undefined) throw new ListenError(options, `host ${reason}`)
  const endpoints = createEndpoints(options)
  if (options.httpServer === 'javascript') return startJavaScriptServer(options, endpoints)
  const uws = await loadNative()
  if (uws !== null) return startNativeServer(uws, options, endpoints)
  const node = process.versions.node
  if (options.httpServer === 'native') {
    throw new ListenError(options, `uWebSockets.js has no binary for Node ${node} on this system`)
  }
  options.log.warn({ node }, 'no binary of uWebSockets.js for this Node: HTTP is in JavaScript')
  return startJavaScriptServer(options, endpoints)
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
