/** Errors of OAuth 2.0 (RFC 6749 section 5.2). */
import OAuth2Server from '@node-oauth/oauth2-server'
import { apiErrorOf } from '../../requests/api-errors.ts'
import { ApiError, codeOfStatus } from '../../requests/errors.ts'

export type OAuthErrorCode =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_grant'
  | 'unauthorized_client'
  | 'unsupported_grant_type'
  | 'invalid_scope'
  | 'temporarily_unavailable'
  | 'server_error'

export interface OAuthErrorOptions {
  readonly httpStatus?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly uri?: string
}

/** Refuses a token or revocation request. The text does not quote the request. */
export class OAuthError extends ApiError {
  override name = 'OAuthError'
  override readonly httpStatus: number
  override readonly headers: Readonly<Record<string, string>>
  readonly error: OAuthErrorCode
  readonly #uri: string | undefined

  constructor(error: OAuthErrorCode, message: string, options: OAuthErrorOptions = {}) {
    super(message, codeOfStatus(options.httpStatus ?? 400))
    this.error = error
    this.httpStatus = options.httpStatus ?? 400
    this.headers = options.headers ?? {}
    this.#uri = options.uri
  }

  protected override known(): object {
    const uri = this.#uri === undefined ? {} : { error_uri: this.#uri }
    return { status: 0, error: this.error, error_description: this.message, ...uri }
  }
}

/** Code of the system that Tollgate replaces: access token unknown, expired or revoked. */
const INVALID_TOKEN = 99_001

/** Answer to a request with an invalid access token: HTTP 401. */
export class InvalidTokenError extends ApiError {
  override name = 'InvalidTokenError'
  override readonly httpStatus = 401
  override readonly headers = {
    'www-authenticate': 'Bearer realm="Service", error="invalid_token"',
  }

  constructor() {
    super('The access token is unknown, expired or revoked', 'not_logged_in')
  }

  protected override known(): object {
    const error = { error: 'invalid_token', error_description: this.message }
    return { status: 0, code: INVALID_TOKEN, ...error }
  }
}

export function tooManyRequests(message: string, leftMs: number): OAuthError {
  const seconds = Math.max(1, Math.ceil(leftMs / 1000))
  const headers = { 'retry-after': String(seconds) }
  return new OAuthError('temporarily_unavailable', message, { httpStatus: 429, headers })
}

/** Null for internal errors, which are not disclosed. */
export function oauthErrorOf(error: unknown): OAuthError | null {
  if (error instanceof OAuthError) return error
  if (error instanceof OAuth2Server.OAuthError) return fromLibrary(error)
  const known = apiErrorOf(error)
  if (known === null) return null
  if (known.httpStatus === 503) {
    const message = 'A store is unavailable: try again later'
    return new OAuthError('temporarily_unavailable', message, { httpStatus: 503 })
  }
  // Parser messages may quote the body.
  if (known.httpStatus === 413) {
    return new OAuthError('invalid_request', 'The body is too large', { httpStatus: 413 })
  }
  return new OAuthError(
    'invalid_request',
    'The parameters cannot be read: they must be texts, in a form or in JSON',
  )
}

/**
 * A client that sent an Authorization header and failed authentication gets 401 with the supported
 * scheme (RFC 6749 section 5.2, RFC 7617).
 */
export function challenged(error: OAuthError, header: string | undefined): OAuthError {
  if (error.error !== 'invalid_client' || header === undefined) return error
  const headers = { ...error.headers, 'www-authenticate': 'Basic realm="Service", charset="UTF-8"' }
  return new OAuthError(error.error, error.message, { httpStatus: 401, headers })
}

export const SERVER_ERROR = new OAuthError('server_error', 'Internal error', { httpStatus: 500 })

const LIBRARY_ERRORS: Readonly<Record<string, OAuthError>> = {
  invalid_request: new OAuthError(
    'invalid_request',
    'A parameter of this grant is missing or has invalid characters',
  ),
  invalid_client: new OAuthError('invalid_client', 'The client credentials are not valid'),
  unauthorized_client: new OAuthError(
    'unauthorized_client',
    'The client may not use this grant type',
  ),
  invalid_grant: new OAuthError(
    'invalid_grant',
    'The refresh token is unknown, used, expired, revoked or of another client',
  ),
  invalid_scope: new OAuthError('invalid_scope', 'The scope may be global, or none'),
}

/**
 * The library's texts are not part of the API. Errors thrown by the model are wrapped in its
 * errors.
 */
function fromLibrary(error: OAuth2Server.OAuthError): OAuthError | null {
  if ('inner' in error && error.inner !== error) return oauthErrorOf(error.inner)
  return LIBRARY_ERRORS[error.name] ?? null
}
