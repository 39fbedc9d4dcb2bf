import type { CallFailure } from '../call-error.ts'

/** Failures of calls of the customer system, and of their answers. */
export type CustomerErrorKind =
  | CallFailure
  /** The stored settings of the call are invalid, or a secret cannot be opened. */
  | 'settings'
  /** The token address refuses to issue a token, or its answer has none. */
  | 'token'
  | 'not JSON'
  /** JSON of another shape, or a field that is invalid. */
  | 'invalid answer'
  /** The customer system reports that it failed (`status` 0). */
  | 'refused'
  /** An answer to a query that was not asked. */
  | 'wrong query'
  /** One revision twice; revisions of one holder, or pages of accounts, that overlap. */
  | 'duplicate'
  | 'overlap'
  /** No call is made: too many of the last ones failed. */
  | 'circuit open'
  /** No call is made: too many wait already. */
  | 'queue full'

/** The message names neither secrets nor addresses of requests. */
export class CustomerSystemError extends Error {
  override name = 'CustomerSystemError'
  readonly kind: CustomerErrorKind
  readonly reason: string

  constructor(kind: CustomerErrorKind, reason: string, options?: ErrorOptions) {
    super(`customer system: ${reason}`, options)
    this.kind = kind
    this.reason = reason
  }
}
