/** Services of a session: finding the one of a request, and its newly reported usage. */
import type { ServiceRequest } from './charge-request.ts'
import { isSameService, type ServiceKey, serviceIdentity } from './identity.ts'
import { emptyService } from './segment.ts'
import type { ServiceSession, Session } from './session.ts'

/** The service of a session for a request; undefined if the session has none. */
export function findService(
  { services }: Session,
  request: ServiceKey,
): ServiceSession | undefined {
  for (const service of services) {
    if (isSameService(service.identity, request)) return service
  }
  return undefined
}

/** A service identifier as a number, or as a list if it has several; null if absent. */
export function identifierValue(identifier: string): number | number[] | null {
  if (identifier === '') return null
  return identifier.includes(',') ? identifier.split(',').map(Number) : Number(identifier)
}

/** As `findService`; an empty service if the session has none. */
export function serviceOf(session: Session, request: ServiceRequest): ServiceSession {
  return findService(session, request) ?? emptyService(serviceIdentity(request))
}

/** Units since the last report; negative if a total is less than the one reported before. */
export function newlyUsed(request: ServiceRequest, previous: ServiceSession): number {
  return request.isTotal ? request.used - previous.usedTotal : request.used
}
