/** What becomes of a request under load depends on what it does. */
import { type ChargeRequest, opens } from '../domain/charge-request.ts'

/**
 * In the order in which load is shed. `opening` and `asking` requests are refused, in this order.
 * A `report` tells of usage or gives back what was granted; it is queued instead, as a
 * `termination` is: refused, what was used would be lost.
 */
export type LoadClass = 'opening' | 'asking' | 'report' | 'termination'

export function loadClassOf({ kind, pretend, services }: ChargeRequest): LoadClass {
  if (!pretend) {
    if (kind === 'release') return 'termination'
    for (const { used, requested } of services) {
      if (used > 0 || (kind === 'update' && requested < 0)) return 'report'
    }
  }
  return opens(kind) ? 'opening' : 'asking'
}

export function isReport(load: LoadClass): boolean {
  return load === 'report' || load === 'termination'
}
