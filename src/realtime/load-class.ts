/** What becomes of a request under load depends on what it does. */
import { type ChargeRequest, opensSession, type ServiceRequest } from '../domain/charge-request.ts'

/**
 * In the order in which load is shed. `opening` and `asking` requests are refused, in this order.
 * A `report` tells of usage or gives back what was granted; it is queued instead, as a
 * `termination` is: refused, what was used would be lost.
 */
export type LoadClass = 'opening' | 'asking' | 'report' | 'termination'

export function loadClassOf({ kind, pretend, services }: ChargeRequest): LoadClass {
  if (!pretend) {
    if (kind === 'release') return 'termination'
    for (const service of services) {
      if (hasUsed(service) || (kind === 'update' && onlySettles(service))) return 'report'
    }
  }
  return opensSession(kind) ? 'opening' : 'asking'
}

function hasUsed({ used, parts }: ServiceRequest): boolean {
  return used > 0 || parts?.some((part) => part.used > 0) === true
}

/** What was granted goes back: nothing is asked for, and nothing about what is left. */
function onlySettles({ requested, checksCredit, parts }: ServiceRequest): boolean {
  if (requested >= 0 || checksCredit) return false
  return parts === null || parts.every((part) => part.requested < 0)
}

export function isReport(load: LoadClass): boolean {
  return load === 'report' || load === 'termination'
}
