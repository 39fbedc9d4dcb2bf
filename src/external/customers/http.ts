/** Calls of the customer system: HTTP POST with an answer in JSON (../outgoing.ts). */
import { CallError } from '../call-error.ts'
import {
  type CallLimits,
  callErrorOf,
  createOutgoing,
  type Outgoing,
  type OutgoingOptions,
} from '../outgoing.ts'
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
      /** Fields of the token request, without the secret. */
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

export interface CustomerHttp {
  /** The parsed answer. Rejects with `CustomerSystemError`. `bytesMax`: of the answer. */
  post(call: CallSettings, body: CallBody, bytesMax: number): Promise<unknown>
  close(): Promise<void>
}

const TOKEN_BYTES_MAX = 64 * 1024

export function createCustomerHttp(options: OutgoingOptions): CustomerHttp {
  return new UndiciHttp(options)
}

class UndiciHttp implements CustomerHttp {
  readonly #outgoing: Outgoing
  readonly #tokens = new TokenCache((key) => this.#requestToken(key))

  constructor(options: OutgoingOptions) {
    this.#outgoing = createOutgoing(options)
  }

  async post(call: CallSettings, body: CallBody, bytesMax: number): Promise<unknown> {
    if (call.problem !== null) throw new CustomerSystemError('settings', call.problem)
    await this.#outgoing.load()
    const signal = AbortSignal.timeout(call.timeoutMs)
    try {
      return await this.#authenticated(call, body, { signal, bytesMax })
    } catch (error) {
      throw translated(error, signal, call.timeoutMs)
    }
  }

  close(): Promise<void> {
    return this.#outgoing.close()
  }

  async #authenticated(call: CallSettings, body: CallBody, limits: CallLimits): Promise<unknown> {
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
    const query = { url, isCached, data: fields, ca, timeoutMs }
    const token = await within(limits.signal, this.#tokens.get(query))
    try {
      return await sendWith(bearer(token))
    } catch (error) {
      if (!isUnauthorized(error)) throw error
      const renewed = await within(limits.signal, this.#tokens.get(query, token))
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

  async #send({ url, ca, body, headers }: OutgoingRequest, limits: CallLimits): Promise<unknown> {
    const isJson = 'json' in body
    const bytes = await this.#outgoing.call(
      {
        method: 'POST',
        url,
        ca,
        headers: {
          ...headers,
          accept: 'application/json',
          'content-type': isJson ? 'application/json' : 'application/x-www-form-urlencoded',
        },
        body: isJson ? JSON.stringify(body.json) : new URLSearchParams(body.form).toString(),
      },
      limits,
    )
    return parsed(bytes)
  }
}

interface OutgoingRequest {
  readonly url: string
  readonly ca: string
  readonly body: CallBody
  readonly headers: Readonly<Record<string, string>>
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

function isUnauthorized(error: unknown): boolean {
  return error instanceof CallError && error.kind === 'unauthorized'
}

function translated(error: unknown, signal: AbortSignal, limitMs: number): CustomerSystemError {
  if (error instanceof CustomerSystemError) return error
  const { kind, reason } = callErrorOf(error, signal, limitMs)
  return new CustomerSystemError(kind, reason)
}
