/** What a report is about: the service of its session, and what of its usage is new. */
import type { ServiceRequest } from './charge-request.ts'
import { emptyService } from './segment.ts'
import type { ServiceSession, Session } from './session.ts'

/** The service of a session that a request means; undefined if the session has none. */
export function findService(
  { services }: Session,
  { ratingGroup, usaget }: Pick<ServiceRequest, 'ratingGroup' | 'usaget'>,
): ServiceSession | undefined {
  for (const service of services) {
    if (service.ratingGroup === ratingGroup && service.usaget === usaget) return service
  }
  return undefined
}

/** The same; an empty one if the session has none. */
export function serviceOf(session: Session, wanted: ServiceRequest): ServiceSession {
  return (
    findService(session, wanted) ??
    emptyService(wanted.ratingGroup, wanted.usaget, wanted.calledNumber)
  )
}

/** Units since the last report; negative if a total is below what was reported. */
export function newlyUsed(wanted: ServiceRequest, kept: ServiceSession): number {
  return wanted.isTotal ? wanted.used - kept.usedTotal : wanted.used
}
