/** What a report is about: the service of its session, and what of its usage is new. */
import type { ServiceRequest } from './charge-request.ts'
import { emptyService } from './segment.ts'
import type { ServiceSession, Session } from './session.ts'

/** The service of a session that a request means; undefined if the session has none. */
export function findService({ services }: Session, wanted: ServiceKey): ServiceSession | undefined {
  for (const service of services) if (isSameService(service, wanted)) return service
  return undefined
}

/** By what a service is known within its session; a called number may change meanwhile. */
export type ServiceKey = Pick<ServiceRequest, 'ratingGroup' | 'serviceIdentifier' | 'usaget'>

export function isSameService(one: ServiceKey, other: ServiceKey): boolean {
  return (
    one.ratingGroup === other.ratingGroup &&
    one.usaget === other.usaget &&
    one.serviceIdentifier === other.serviceIdentifier
  )
}

/** A service identifier as its number, or as the list of its numbers; null for none. */
export function identifierValue(identifier: string): number | number[] | null {
  if (identifier === '') return null
  return identifier.includes(',') ? identifier.split(',').map(Number) : Number(identifier)
}

/** The same; an empty one if the session has none. */
export function serviceOf(session: Session, wanted: ServiceRequest): ServiceSession {
  const { ratingGroup, serviceIdentifier, usaget, calledNumber } = wanted
  return (
    findService(session, wanted) ??
    emptyService(ratingGroup, usaget, calledNumber, serviceIdentifier)
  )
}

/** Units since the last report; negative if a total is below what was reported. */
export function newlyUsed(wanted: ServiceRequest, kept: ServiceSession): number {
  return wanted.isTotal ? wanted.used - kept.usedTotal : wanted.used
}
