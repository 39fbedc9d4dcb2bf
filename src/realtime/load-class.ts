/** Classification of requests for load shedding. */
import { type ChargeRequest, opensSession, type ServiceRequest } from '../domain/charge-request.ts'

/**
 * In the order in which load is shed: `opening`, then `asking` requests are refused. A `report`
 * reports usage or returns granted units; like a `termination` it is queued, because refusing it
 * would lose usage.
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

/** Granted units are returned; no units and no credit check are requested. */
function onlySettles({ requested, checksCredit, parts }: ServiceRequest): boolean {
  if (requested >= 0 || checksCredit) return false
  return parts === null || parts.every((part) => part.requested < 0)
}

export function isReport(load: LoadClass): boolean {
  return load === 'report' || load === 'termination'
}
