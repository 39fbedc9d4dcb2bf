/** One connection to a directory, with a deadline and without side effects after its end. */
import { Client, InvalidCredentialsError, ResultCodeError } from 'ldapts'
import type { LdapSettings } from '../../catalog/settings/access/auth-schema.ts'

/** An entry with its values as texts, by attribute name in lower case. */
export interface LdapEntry {
  readonly dn: string
  readonly values: ReadonlyMap<string, readonly string[]>
}

export interface LdapConnection {
  /** False if the directory rejects the credentials. Rejects if there is no valid answer. */
  bind(dn: string, password: string): Promise<boolean>
  /**
   * Entries below `baseDn`; at most `entriesMax`. Referrals to other directories are not followed.
   */
  search(baseDn: string, query: LdapQuery): Promise<LdapEntry[]>
}

export interface LdapQuery {
  readonly scope: 'base' | 'sub'
  readonly filter: string
  readonly attributes: readonly string[]
  readonly entriesMax: number
}

/** The directory is unavailable; the message contains no secret. */
export class LdapUnavailableError extends Error {
  override name = 'LdapUnavailableError'
}

/**
 * Connects, with TLS as configured, and calls `ask`. The connection is closed afterwards in any
 * case, at the latest after `timeout_ms`. Rejects with `LdapUnavailableError`.
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
    // With these options the client would use TLS from the start, whatever the URL.
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
    // Destroys the socket, whether the directory answers or not.
    void client.unbind().catch(() => undefined)
  }
}

interface Use {
  /** The caller no longer waits for answers. */
  isOver: boolean
  isBegun: boolean
}

function connectionOn(client: Client, use: Use): LdapConnection {
  // The client would reconnect anonymously and without StartTLS: a password would be sent in
  // clear text. So only the first connection is used.
  const check = () => {
    const isLost = use.isBegun && !client.isConnected
    if (use.isOver || isLost) throw new LdapUnavailableError('the connection has ended')
    use.isBegun = true
  }
  return {
    async bind(dn, password) {
      // The client takes a name without `=` for a SASL mechanism; the directory may treat it as
      // anonymous.
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
      const options = { scope, filter, attributes: [...attributes], sizeLimit: entriesMax }
      const { searchEntries } = await client.search(baseDn, options)
      return searchEntries.map(({ dn, ...rest }) => ({ dn, values: valuesOf(rest) }))
    },
  }
}

/**
 * Result codes that concern the user and not the directory: wrong password, no such entry, login
 * not allowed.
 */
const REFUSALS: ReadonlySet<number> = new Set([19, 32, 34, 48, 49, 50, 53])

function isRefusal(error: ResultCodeError): boolean {
  return error instanceof InvalidCredentialsError || REFUSALS.has(error.code)
}

function tlsOptionsOf({ url, ca }: LdapSettings) {
  const host = new URL(url).hostname.replace(/^\[|\]$/g, '')
  return {
    // Needed for StartTLS too: the socket does not provide the expected name of the certificate.
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
