/** Where the control plane listens, by which protocol, and where it must not. */
import type { FastifyInstance } from 'fastify'
import { CatalogUnavailableError } from '../catalog/errors.ts'
import { isLoopback } from '../config/hosts.ts'
import type { Config } from '../config/schema.ts'
import type { Logger } from '../runtime/log.ts'
import type { Metrics } from '../runtime/metrics.ts'
import { secureContext, TlsFileError } from '../runtime/tls-files.ts'
import { followTls, startTls } from '../runtime/tls-reload.ts'

/** The address cannot be listened on, or must not be; the message says why. */
export class AdminListenError extends Error {
  override name = 'AdminListenError'
}

type ListenAddress = Pick<Config['admin'], 'host' | 'port'>

export interface ListeningRule {
  readonly config: Pick<Config, 'admin'>
  /** Whether there is a user whose password nobody has changed since it was generated. */
  readonly hasGeneratedPassword: () => Promise<boolean>
}

/**
 * Throws `AdminListenError` where others reach the port, what they say there can be read on the
 * way, and somebody might get in with the first password. Rejects with what `hasGeneratedPassword`
 * throws, unless that is that MongoDB is away.
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
    `the control plane does not listen on ${addressOf(admin)}, which others reach: ${why}. ` +
      'Change that password while admin.host is 127.0.0.1, or set admin.tls, or say that it is ' +
      'good enough there with admin.generatedPassword: network',
  )
}

async function reasonAgainst(
  hasGeneratedPassword: ListeningRule['hasGeneratedPassword'],
): Promise<string | null> {
  try {
    return (await hasGeneratedPassword())
      ? 'a user still has the password that was generated'
      : null
  } catch (error) {
    if (!(error instanceof CatalogUnavailableError)) throw error
    return 'MongoDB is unavailable, and does not tell whether a password is still the generated one'
  }
}

export interface AdminTls {
  /** What the server is made with. */
  readonly context: ReturnType<typeof secureContext>
  /** Has the server follow the files. */
  readonly follow: (server: Parameters<typeof followTls>[0]) => void
}

/** Null: without TLS. Throws `AdminListenError`. */
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

/** Listens, and gives the port that was taken. Throws `AdminListenError`. */
export async function listen(server: FastifyInstance, place: ListenAddress): Promise<number> {
  const { host, port } = place
  try {
    await server.listen({ host, port })
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error)
    throw new AdminListenError(`cannot listen on ${addressOf(place)}: ${code}`, { cause: error })
  }
  const bound = server.server.address()
  return typeof bound === 'object' && bound !== null ? bound.port : port
}

function addressOf({ host, port }: ListenAddress): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}
