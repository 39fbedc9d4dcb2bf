/** Failures of outgoing HTTP calls. */
export type CallFailure =
  /** The host is at an address that the configuration does not allow. */
  | 'address'
  /** No connection, or it ended before the answer was complete. */
  | 'unreachable'
  /** The certificate is expired, unknown, or of another host. */
  | 'certificate'
  /** The answer was not complete within the time limit. */
  | 'timeout'
  | 'redirect'
  /** A status of 4xx that a repetition does not change: the settings or the request are wrong. */
  | 'request'
  /** Any other HTTP status than 2xx. */
  | 'status'
  /** 401. */
  | 'unauthorized'
  | 'too large'

/** The message names neither secrets nor addresses of requests. */
export class CallError extends Error {
  override name = 'CallError'
  readonly kind: CallFailure
  readonly reason: string

  constructor(kind: CallFailure, reason: string) {
    super(reason)
    this.kind = kind
    this.reason = reason
  }
}
