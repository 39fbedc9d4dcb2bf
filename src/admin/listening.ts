/** Listening address and TLS of the control plane, and the check before it is exposed. */
import type { FastifyInstance } from 'fastify'
import { CatalogUnavailableError } from '../catalog/errors.ts'
import { isLoopback } from '../config/hosts.ts'
import type { Config } from '../config/schema.ts'
import type { Logger } from '../runtime/log.ts'
import type { Metrics } from '../runtime/metrics.ts'
import { secureContext, TlsFileError } from '../runtime/tls-files.ts'
import { followTls, startTls } from '../runtime/tls-reload.ts'

/** The address is not available or not permitted; the message has the reason. */
export class AdminListenError extends Error {
  override name = 'AdminListenError'
}

type ListenAddress = Pick<Config['admin'], 'host' | 'port'>

export interface ListeningRule {
  readonly config: Pick<Config, 'admin'>
  /** Whether a user still has a generated password. */
  readonly hasGeneratedPassword: () => Promise<boolean>
}

/**
 * Throws `AdminListenError` if the port is reachable by others without TLS and a generated password
 * may still be valid. Rejects with errors of `hasGeneratedPassword` except an outage of MongoDB,
 * which counts as a valid password.
 */
export async function checkListening({
  config,
  hasGeneratedPassword,
}: ListeningRule): Promise<void> {
  const { admin } = config
  const isOpened = admin.openTo === 'network' || admin.generatedPassword === 'network'
  if (isLoopback(admin.host) || admin.tls.enabled || isOpened) return
  const why = await reasonAgainst(hasGeneratedPassword)
  if (why === null) return
  throw new AdminListenError(
    `the control plane refuses to listen on ${addressOf(admin)}, which others can reach: ` +
      `${why}. Change that password while admin.host is 127.0.0.1, or set admin.tls, or accept ` +
      'the risk with admin.generatedPassword: network',
  )
}

async function reasonAgainst(
  hasGeneratedPassword: ListeningRule['hasGeneratedPassword'],
): Promise<string | null> {
  try {
    return (await hasGeneratedPassword()) ? 'a user still has a generated password' : null
  } catch (error) {
    if (!(error instanceof CatalogUnavailableError)) throw error
    return 'MongoDB is unavailable: cannot check whether a user still has a generated password'
  }
}

export interface AdminTls {
  /** Options for creating the server. */
  readonly context: ReturnType<typeof secureContext>
  /** Reloads changed TLS files into the server. */
  readonly follow: (server: Parameters<typeof followTls>[0]) => void
}

/** Null if TLS is disabled. Throws `AdminListenError`. */
export function readAdminTls(
  { tls: settings }: Pick<Config['admin'], 'tls'>,
  log: Pick<Logger, 'info' | 'warn'>,
  metrics: Metrics['tls'] | undefined,
): AdminTls | null {
  if (!settings.enabled) return null
  const listener = { section: 'admin.tls', settings, log, metrics }
  try {
    const files = startTls(listener)
    return {
      context: secureContext(files, settings),
      follow: (server) => followTls(server, listener, files),
    }
  } catch (error) {
    if (!(error instanceof TlsFileError)) throw error
    throw new AdminListenError(error.message)
  }
}

/** Listens and returns the bound port. Throws `AdminListenError`. */
export async function listen(server: FastifyInstance, address: ListenAddress): Promise<number> {
  const { host, port } = address
  try {
    await server.listen({ host, port })
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error)
    throw new AdminListenError(`cannot listen on ${addressOf(address)}: ${code}`, { cause: error })
  }
  const bound = server.server.address()
  return typeof bound === 'object' && bound !== null ? bound.port : port
}

function addressOf({ host, port }: ListenAddress): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}
