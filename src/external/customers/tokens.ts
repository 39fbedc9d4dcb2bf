/** Tokens of OAuth 2.0 for outgoing calls (RFC 6749, section 4.4: client credentials). */
import { monotonicMs } from '../../runtime/clock.ts'
import { CustomerSystemError } from './errors.ts'

export interface IssueRequest {
  readonly url: string
  /** Fields of the request. */
  readonly data: Readonly<Record<string, string>>
  /** Whether a token is used after the calls that waited for it. */
  readonly isCached: boolean
  /** As of the call that needs the token. */
  readonly ca: string
  readonly timeoutMs: number
}

/** The answer of the token endpoint, parsed; rejects with `CustomerSystemError`. */
export type RequestToken = (request: IssueRequest) => Promise<unknown>

interface Token {
  readonly value: string
  readonly untilMs: number
}

/** A token is renewed this long before it expires: it must still be valid on arrival. */
const EARLY_MS = 30_000
/** Default if the answer does not state it. */
const LIFETIME_S = 3600

export class TokenCache {
  readonly #tokens = new Map<string, Token>()
  readonly #underWay = new Map<string, Promise<Token>>()
  readonly #request: RequestToken

  constructor(request: RequestToken) {
    this.#request = request
  }

  /**
   * A valid token. `refused`: the one that was just answered with 401, which is not used again.
   * Calls at the same time share one request.
   */
  async get(request: IssueRequest, refused?: string): Promise<string> {
    const key = JSON.stringify([request.url, request.data])
    const known = this.#tokens.get(key)
    if (known !== undefined && known.value !== refused && monotonicMs() < known.untilMs) {
      return known.value
    }
    let running = this.#underWay.get(key)
    if (running === undefined) {
      running = this.#issue(request).finally(() => this.#underWay.delete(key))
      this.#underWay.set(key, running)
    }
    const token = await running
    if (request.isCached) this.#tokens.set(key, token)
    return token.value
  }

  async #issue(request: IssueRequest): Promise<Token> {
    const answer = await this.#request(request)
    const { access_token: value, expires_in: seconds = LIFETIME_S } = (answer ?? {}) as Record<
      string,
      unknown
    >
    if (typeof value !== 'string' || !/^[\x21-\x7e]{1,8192}$/.test(value)) {
      throw new CustomerSystemError('token', 'the answer of the token address has no access_token')
    }
    const lifetimeMs = Number(seconds) * 1000
    if (!(lifetimeMs > 0)) {
      throw new CustomerSystemError('token', 'expires_in of the token must be a positive number')
    }
    return { value, untilMs: monotonicMs() + Math.max(lifetimeMs - EARLY_MS, lifetimeMs / 2) }
  }
}
