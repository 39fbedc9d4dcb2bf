/** Refusals of requests by authentication. */
import type { RefusalCause } from '../../runtime/request-metrics.ts'

/** Answered in the plain format; `peer` is '' if it is unknown. */
export interface RequestRefusal {
  readonly refused: 401 | 403 | 429 | 503
  readonly cause: RefusalCause
  readonly peer: string
  readonly field: string
  readonly why: string
  readonly retryAfterS: number
}

/** A refusal of an unknown sender. */
export function refusal(
  refused: RequestRefusal['refused'],
  cause: RefusalCause,
  field: string,
  why: string,
): RequestRefusal {
  return { refused, cause, peer: '', field, why, retryAfterS: 1 }
}
