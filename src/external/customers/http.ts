/**
 * Calls of the customer system: HTTP POST with an answer in JSON, limited in time and size.
 * Redirects are not followed: they could lead to an address that was not checked.
 */
import { Agent, type Dispatcher, request as send } from 'undici'
import {
  type AddressPolicy,
  createAddressPolicy,
  lookupWithin,
  refuseLiteralAddress,
} from './address-policy.ts'
import { CustomerSystemError } from './errors.ts'
import { type IssueRequest, TokenCache } from './tokens.ts'

/** How a call authenticates. A secret that could not be opened is null. */
export type Authentication =
  | { readonly type: 'none' }
  | { readonly type: 'basic'; readonly username: string; readonly password: string | null }
  | {
      readonly type: 'oauth2'
      readonly tokenUrl: string
      /** Whether a token is kept until it expires. */
      readonly isCached: boolean
      readonly clientSecret: string | null
      /** Fields of the token request besides the secret. */
      readonly data: Readonly<Record<string, string>>
    }

export interface CallSettings {
  readonly url: string
  /** Limit of the whole call with its token, until the last byte of the answer, ms. */
  readonly timeoutMs: number
  /** Certificates of authorities (PEM) instead of the well-known ones; empty for those. */
  readonly ca: string
  readonly authentication: Authentication
  /** Why the settings cannot be used: each call is refused with it. Null if they can. */
  readonly problem: string | null
}

export type CallBody =
  | { readonly json: unknown }
  | { readonly form: Readonly<Record<string, string>> }

export interface CustomerHttpOptions {
  /** Private addresses that may be called (`external.privateRanges`). */
  readonly privateRanges: readonly string[]
  /** Connections to one host. */
  readonly connectionsMax: number
}

export interface CustomerHttp {
  /** The parsed answer. Rejects with `CustomerSystemError`. `bytesMax`: of the answer. */
  post(call: CallSettings, body: CallBody, bytesMax: number): Promise<unknown>
  close(): Promise<void>
}

const TOKEN_BYTES_MAX = 64 * 1024
/** An idle connection is closed before most servers do it. */
const KEEP_ALIVE_MS = 4_000

export function createCustomerHttp(options: CustomerHttpOptions): CustomerHttp {
  return new UndiciHttp(options)
}

class UndiciHttp implements CustomerHttp {
  readonly #policy: AddressPolicy
  readonly #connectionsMax: number
  /** By their authorities. */
  readonly #agents = new Map<string, Agent>()
  readonly #tokens = new TokenCache((wanted) => this.#requestToken(wanted))

  constructor({ privateRanges, connectionsMax }: CustomerHttpOptions) {
    this.#policy = createAddressPolicy(privateRanges)
    this.#connectionsMax = connectionsMax
  }

  async post(call: CallSettings, body: CallBody, bytesMax: number): Promise<unknown> {
    if (call.problem !== null) throw new CustomerSystemError('settings', call.problem)
    const signal = AbortSignal.timeout(call.timeoutMs)
    try {
      return await this.#authenticated(call, body, { signal, bytesMax })
    } catch (error) {
      throw translated(error, signal, call.timeoutMs)
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#agents.values()].map((agent) => agent.destroy()))
  }

  async #authenticated(call: CallSettings, body: CallBody, limits: Limits): Promise<unknown> {
    const { authentication, ca, timeoutMs } = call
    const sendWith = (headers: Readonly<Record<string, string>>) =>
      this.#send({ url: call.url, ca, body, headers }, limits)
    if (authentication.type === 'none') return sendWith({})
    if (authentication.type === 'basic') {
      const { username, password } = authentication
      const pair = Buffer.from(`${username}:${opened(password)}`).toString('base64')
      return sendWith({ authorization: `Basic ${pair}` })
    }
    const { tokenUrl: url, isCached, data, clientSecret } = authentication
    const fields = { ...data, client_secret: opened(clientSecret) }
    const wanted = { url, isCached, data: fields, ca, timeoutMs }
    const token = await within(limits.signal, this.#tokens.get(wanted))
    try {
      return await sendWith(bearer(token))
    } catch (error) {
      if (!isUnauthorized(error)) throw error
      const renewed = await within(limits.signal, this.#tokens.get(wanted, token))
      return sendWith(bearer(renewed))
    }
  }

  /** Has a limit of its own, because calls at the same time share it. */
  async #requestToken({ url, data, ca, timeoutMs }: IssueRequest): Promise<unknown> {
    const limits = { signal: AbortSignal.timeout(timeoutMs), bytesMax: TOKEN_BYTES_MAX }
    try {
      return await this.#send({ url, ca, body: { form: data }, headers: {} }, limits)
    } catch (error) {
      const { kind, reason } = translated(error, limits.signal, timeoutMs)
      const isRefusal = kind === 'request' || kind === 'unauthorized'
      throw new CustomerSystemError(isRefusal ? 'token' : kind, `token address: ${reason}`)
    }
  }

  async #send(
    { url, ca, body, headers }: OutgoingRequest,
    { signal, bytesMax }: Limits,
  ): Promise<unknown> {
    refuseLiteralAddress(new URL(url), this.#policy)
    const isJson = 'json' in body
    const response = await send(url, {
      method: 'POST',
      dispatcher: this.#agentFor(ca),
      signal,
      headers: {
        ...headers,
        accept: 'application/json',
        'content-type': isJson ? 'application/json' : 'application/x-www-form-urlencoded',
      },
      body: isJson ? JSON.stringify(body.json) : new URLSearchParams(body.form).toString(),
      // The signal limits the whole call.
      headersTimeout: 0,
      bodyTimeout: 0,
    })
    const { statusCode } = response
    if (statusCode < 200 || statusCode > 299) {
      await response.body.dump({ limit: TOKEN_BYTES_MAX, signal }).catch(() => undefined)
      throw statusError(statusCode)
    }
    return parsed(await collected(response.body, bytesMax))
  }

  #agentFor(ca: string): Agent {
    let agent = this.#agents.get(ca)
    if (agent === undefined) {
      agent = new Agent({
        connections: this.#connectionsMax,
        keepAliveTimeout: KEEP_ALIVE_MS,
        connect: { lookup: lookupWithin(this.#policy), ...(ca !== '' && { ca }) },
      })
      this.#agents.set(ca, agent)
    }
    return agent
  }
}

interface OutgoingRequest {
  readonly url: string
  readonly ca: string
  readonly body: CallBody
  readonly headers: Readonly<Record<string, string>>
}

interface Limits {
  readonly signal: AbortSignal
  readonly bytesMax: number
}

function bearer(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}` }
}

function opened(secret: string | null): string {
  if (secret !== null) return secret
  throw new CustomerSystemError('settings', 'its stored secret cannot be opened: set it again')
}

/** The result, unless the signal aborts first. */
async function within<T>(signal: AbortSignal, result: Promise<T>): Promise<T> {
  let abort: () => void = () => undefined
  const aborted = new Promise<never>((_resolve, reject) => {
    abort = () => reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
  })
  try {
    return await Promise.race([result, aborted])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

async function collected(body: Dispatcher.ResponseData['body'], bytesMax: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length
    // Leaving the loop closes the connection.
    if (bytes > bytesMax) {
      throw new CustomerSystemError('too large', `its answer has more than ${bytesMax} bytes`)
    }
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, bytes)
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch (cause) {
    const what = bytes.length === 0 ? 'is empty' : 'is not JSON'
    throw new CustomerSystemError('not JSON', `its answer ${what}`, { cause: nameOnly(cause) })
  }
}

/** The message of a syntax error quotes the answer, which may have personal data. */
function nameOnly(error: unknown): string {
  return error instanceof Error ? error.name : 'Error'
}

function statusError(status: number): CustomerSystemError {
  if (status >= 300 && status <= 399) {
    return new CustomerSystemError('redirect', `it redirects (${status}), which is not followed`)
  }
  if (status === 401) {
    return new CustomerSystemError('unauthorized', 'it refuses the authentication (401)')
  }
  const isRequest = status >= 400 && status <= 499 && !TEMPORARY_STATUS.has(status)
  return new CustomerSystemError(
    isRequest ? 'request' : 'status',
    `it answers with status ${status}`,
  )
}

/** Statuses of 4xx that ask for a repetition: time-out, too early, too many requests. */
const TEMPORARY_STATUS: ReadonlySet<number> = new Set([408, 425, 429])

function isUnauthorized(error: unknown): boolean {
  return error instanceof CustomerSystemError && error.kind === 'unauthorized'
}

function translated(error: unknown, signal: AbortSignal, limitMs: number): CustomerSystemError {
  if (error instanceof CustomerSystemError) return error
  if (signal.aborted) {
    const reason = `its answer was not complete within ${limitMs} ms`
    return new CustomerSystemError('timeout', reason)
  }
  const inner = errorsIn(error).find((each) => each instanceof CustomerSystemError)
  if (inner instanceof CustomerSystemError) return inner
  const code =
    errorsIn(error)
      .map(codeOf)
      .find((each) => each !== '') ?? ''
  if (CERTIFICATE_CODE.test(code)) {
    return new CustomerSystemError('certificate', `its certificate is refused (${code})`)
  }
  return new CustomerSystemError('unreachable', `it cannot be reached${code && ` (${code})`}`)
}

const CERTIFICATE_CODE = /^(CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|ERR_TLS_CERT|HOSTNAME_)/

/** The error and those in it: of several addresses each has its own. */
function errorsIn(error: unknown): unknown[] {
  if (error instanceof AggregateError) return [...error.errors, error]
  return error instanceof Error && error.cause !== undefined ? [error, error.cause] : [error]
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string'
    ? error.code
    : ''
}
