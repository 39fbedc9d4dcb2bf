/** Queries of account and subscriber details (docs/EXTERNAL.md). */

export interface QueryParam {
  readonly key: string
  readonly operator: 'equal' | 'in'
  /** A list for `in`. */
  readonly value: string | number | readonly (string | number)[]
}

export interface CustomerQuery {
  /** Unique in the request; the answer names it with each revision. */
  readonly id: string
  /** The instant of the revision, ISO 8601 with the offset of UTC. */
  readonly time: string
  readonly params: readonly QueryParam[]
  /** Maximum number of revisions in the answer. */
  readonly limit?: number
}

/** Body of a request. */
export interface DetailsRequest {
  readonly query: readonly CustomerQuery[]
}
