/** Why somebody may not send a request. */
import type { RefusalCause } from '../../runtime/request-metrics.ts'

/** In the plain dialect; `peer` is '' if it is not known. */
export interface RequestRefusal {
  readonly refused: 401 | 403 | 429 | 503
  readonly cause: RefusalCause
  readonly peer: string
  readonly field: string
  readonly why: string
  readonly retryAfterS: number
}

/** Of somebody who is not known. */
export function refusal(
  refused: RequestRefusal['refused'],
  cause: RefusalCause,
  field: string,
  why: string,
): RequestRefusal {
  return { refused, cause, peer: '', field, why, retryAfterS: 1 }
}
