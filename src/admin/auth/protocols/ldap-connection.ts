/** One conversation with a directory, from which nothing but its end can follow. */
import { Client, InvalidCredentialsError, ResultCodeError } from 'ldapts'
import type { LdapSettings } from '../../../catalog/settings/auth-settings.ts'

/** An entry, with its values as texts, by attribute in lower case. */
export interface LdapEntry {
  readonly dn: string
  readonly values: ReadonlyMap<string, readonly string[]>
}

export interface LdapConnection {
  /** False: the directory does not take the password. Rejects for all that is not an answer. */
  bind(dn: string, password: string): Promise<boolean>
  /** Entries below; at most `entriesMax`. References to other directories are not followed. */
  search(baseDn: string, query: LdapQuery): Promise<LdapEntry[]>
}

export interface LdapQuery {
  readonly scope: 'base' | 'sub'
  readonly filter: string
  readonly attributes: readonly string[]
  readonly entriesMax: number
}

/** The directory cannot be asked; the message has no secret. */
export class LdapUnavailableError extends Error {
  override name = 'LdapUnavailableError'
}

/**
 * Connects, under TLS where the settings say so, and calls. Afterwards the connection is closed,
 * whatever happened, and after `timeout_ms` in any case. Rejects with `LdapUnavailableError`.
 */
export async function withLdap<Result>(
  settings: LdapSettings,
  ask: (connection: LdapConnection) => Promise<Result>,
): Promise<Result> {
  const { timeout_ms: timeoutMs, url } = settings
  const isTls = url.startsWith('ldaps:')
  const client = new Client({
    url,
    timeout: timeoutMs,
    connectTimeout: timeoutMs,
    // With these options the client would speak TLS from the start, whatever the URL.
    ...(isTls ? { tlsOptions: tlsOptionsOf(settings) } : {}),
  })
  const use = { isOver: false, isBegun: false }
  let timer: NodeJS.Timeout | undefined
  const deadline = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new LdapUnavailableError('no answer in time')), timeoutMs)
  })
  const conversation = async () => {
    if (settings.start_tls) {
      await client.startTLS(tlsOptionsOf(settings))
      use.isBegun = true
    }
    return ask(connectionOn(client, use))
  }
  try {
    return await Promise.race([conversation(), deadline])
  } catch (error) {
    throw error instanceof LdapUnavailableError ? error : unavailable(error)
  } finally {
    use.isOver = true
    clearTimeout(timer)
    // Its socket is destroyed then, answered or not.
    void client.unbind().catch(() => undefined)
  }
}

interface Use {
  /** Nobody waits for an answer any more. */
  isOver: boolean
  isBegun: boolean
}

function connectionOn(client: Client, use: Use): LdapConnection {
  // The client connects again by itself, as nobody, and without StartTLS: a password would go in
  // clear. So the first connection is the only one.
  const check = () => {
    const isLost = use.isBegun && !client.isConnected
    if (use.isOver || isLost) throw new LdapUnavailableError('the connection has ended')
    use.isBegun = true
  }
  return {
    async bind(dn, password) {
      // What has no `=` is a mechanism to the client, or nobody to the directory.
      if (!dn.includes('=') || password === '') throw new LdapUnavailableError('no DN to bind as')
      check()
      try {
        await client.bind(dn, password)
        return true
      } catch (error) {
        if (error instanceof ResultCodeError && isRefusal(error)) return false
        throw error
      }
    },
    async search(baseDn, { scope, filter, attributes, entriesMax }) {
      check()
      const wanted = { scope, filter, attributes: [...attributes], sizeLimit: entriesMax }
      const { searchEntries } = await client.search(baseDn, wanted)
      return searchEntries.map(({ dn, ...rest }) => ({ dn, values: valuesOf(rest) }))
    },
  }
}

/** Wrong, no such entry, not allowed to log in: of the user, not of the directory. */
const REFUSALS: ReadonlySet<number> = new Set([19, 32, 34, 48, 49, 50, 53])

function isRefusal(error: ResultCodeError): boolean {
  return error instanceof InvalidCredentialsError || REFUSALS.has(error.code)
}

function tlsOptionsOf({ url, ca }: LdapSettings) {
  const host = new URL(url).hostname.replace(/^\[|\]$/g, '')
  return {
    // For StartTLS too, where the socket alone does not say whose certificate is expected.
    host,
    ...(/^[\d.]+$|:/.test(host) ? {} : { servername: host }),
    ...(ca === undefined ? {} : { ca }),
    minVersion: 'TLSv1.2' as const,
    rejectUnauthorized: true,
  }
}

function valuesOf(attributes: Record<string, unknown>): Map<string, string[]> {
  return new Map(
    Object.entries(attributes).map(([name, value]) => [
      name.toLowerCase(),
      (Array.isArray(value) ? value : [value]).map((each: unknown) =>
        Buffer.isBuffer(each) ? each.toString('hex') : String(each),
      ),
    ]),
  )
}

function unavailable(error: unknown): LdapUnavailableError {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : 'unknown'
  return new LdapUnavailableError(text.split('\n', 1)[0]?.slice(0, 200))
}
