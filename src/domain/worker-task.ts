/** The contract between the socket thread and the worker threads. Plain data: it is cloned. */
import type { ChargeOutcome } from './charge-outcome.ts'
import type { ChargeRequest } from './charge-request.ts'

export interface WorkerTask {
  requests: ChargeRequest[]
  /**
   * True: the worker may ask MongoDB for what it has not in memory. Such requests travel apart, so
   * that one unknown subscriber never delays a batch of known ones.
   */
  mayLookUp: boolean
}

export interface WorkerResult {
  /** In the order of the requests; null: nothing moved, send it again with `mayLookUp`. */
  outcomes: (ChargeOutcome | null)[]
  /** Counters to be added up. */
  stats: Record<string, number>
}

/** What a worker tells unasked, whenever it changes. */
export interface WorkerNews {
  /** Documents of the catalogue that cannot be used and are left out, by collection. */
  catalogueSkipped: Record<string, number>
}
