/**
 * HTTP calls to systems of others, limited in time and size, and to allowed addresses. Redirects
 * are not followed: they could lead to an address that was not checked.
 */
import type * as Undici from 'undici'
import type { Agent, Dispatcher } from 'undici'
import {
  type AddressPolicy,
  createAddressPolicy,
  lookupWithin,
  refuseLiteralAddress,
} from './address-policy.ts'
import { CallError } from './call-error.ts'

export interface OutgoingCall {
  readonly method: 'GET' | 'POST'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /** Certificates of authorities (PEM) instead of the well-known ones; empty for those. */
  readonly ca?: string
}

export interface CallLimits {
  /** Limits the whole call, until the last byte of the answer. */
  readonly signal: AbortSignal
  /** Limit of the answer. */
  readonly bytesMax: number
}

export interface OutgoingOptions {
  /** Private addresses that may be called (`external.privateRanges`). */
  readonly privateRanges: readonly string[]
  /** Connections to one host. */
  readonly connectionsMax: number
}

export interface Outgoing {
  /** Loads the HTTP client, which a time limit would otherwise count; it is loaded once. */
  load(): Promise<unknown>
  /** The body of a successful answer. Rejects with an error for `callErrorOf`. */
  call(call: OutgoingCall, limits: CallLimits): Promise<Buffer>
  close(): Promise<void>
}

/** An idle connection is closed before most servers do it. */
const KEEP_ALIVE_MS = 4_000
/** Limit of the body of a refusal, which is not used. */
const REFUSAL_BYTES_MAX = 64 * 1024

export function createOutgoing(options: OutgoingOptions): Outgoing {
  return new UndiciOutgoing(options)
}

class UndiciOutgoing implements Outgoing {
  readonly #policy: AddressPolicy
  readonly #connectionsMax: number
  /** By their authorities. */
  readonly #agents = new Map<string, Agent>()

  constructor({ privateRanges, connectionsMax }: OutgoingOptions) {
    this.#policy = createAddressPolicy(privateRanges)
    this.#connectionsMax = connectionsMax
  }

  load(): Promise<typeof Undici> {
    return import('undici')
  }

  async call(call: OutgoingCall, { signal, bytesMax }: CallLimits): Promise<Buffer> {
    const { url, method, headers, body, ca = '' } = call
    refuseLiteralAddress(new URL(url), this.#policy)
    // Loaded by the first call: most processes make none.
    const undici = await this.load()
    const response = await undici.request(url, {
      method,
      dispatcher: this.#agentFor(ca, undici.Agent),
      signal,
      headers,
      ...(body !== undefined && { body }),
      // The signal limits the whole call.
      headersTimeout: 0,
      bodyTimeout: 0,
    })
    const { statusCode } = response
    if (statusCode < 200 || statusCode > 299) {
      await response.body.dump({ limit: REFUSAL_BYTES_MAX, signal }).catch(() => undefined)
      throw statusError(statusCode)
    }
    return collected(response.body, bytesMax)
  }

  async close(): Promise<void> {
    await Promise.all([...this.#agents.values()].map((agent) => agent.destroy()))
  }

  #agentFor(ca: string, NewAgent: typeof Agent): Agent {
    let agent = this.#agents.get(ca)
    if (agent === undefined) {
      agent = new NewAgent({
        connections: this.#connectionsMax,
        keepAliveTimeout: KEEP_ALIVE_MS,
        connect: { lookup: lookupWithin(this.#policy), ...(ca !== '' && { ca }) },
      })
      this.#agents.set(ca, agent)
    }
    return agent
  }
}

async function collected(body: Dispatcher.ResponseData['body'], bytesMax: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length
    // Leaving the loop closes the connection.
    if (bytes > bytesMax) {
      throw new CallError('too large', `its answer has more than ${bytesMax} bytes`)
    }
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, bytes)
}

function statusError(status: number): CallError {
  if (status >= 300 && status <= 399) {
    return new CallError('redirect', `it redirects (${status}), which is not followed`)
  }
  if (status === 401) {
    return new CallError('unauthorized', 'it refuses the authentication (401)')
  }
  const isRequest = status >= 400 && status <= 499 && !TEMPORARY_STATUS.has(status)
  return new CallError(isRequest ? 'request' : 'status', `it answers with status ${status}`)
}

/** Statuses of 4xx that ask for a repetition: time-out, too early, too many requests. */
const TEMPORARY_STATUS: ReadonlySet<number> = new Set([408, 425, 429])

/** The named error of a failed call. `limitMs`: after which the signal has aborted it. */
export function callErrorOf(error: unknown, signal: AbortSignal, limitMs: number): CallError {
  if (error instanceof CallError) return error
  if (signal.aborted) {
    return new CallError('timeout', `its answer was not complete within ${limitMs} ms`)
  }
  const inner = errorsIn(error).find((each) => each instanceof CallError)
  if (inner instanceof CallError) return inner
  const code =
    errorsIn(error)
      .map(codeOf)
      .find((each) => each !== '') ?? ''
  if (CERTIFICATE_CODE.test(code)) {
    return new CallError('certificate', `its certificate is refused (${code})`)
  }
  return new CallError('unreachable', `it cannot be reached${code && ` (${code})`}`)
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
