/**
 * The names of a session and of its services, which lines repeat. Sessions, services and lines
 * share the objects, so they are never changed.
 */

/** The names of a session. */
export interface SessionIdentity {
  aid: number
  sid: number
  /** The network element: peer and message format. Session ids are unique within it. */
  origin: string
  sessionId: string
}

/** The names that distinguish the services of a session. */
export interface ServiceKey {
  /** -1 if the request has none. */
  ratingGroup: number
  /**
   * Distinguishes services of one rating group: numbers in ascending order, separated by commas;
   * empty if the request has none.
   */
  serviceIdentifier: string
  /** Usage type, such as `data`, `call`, `sms`. */
  usaget: string
}

/** The names of a service. */
export interface ServiceIdentity extends ServiceKey {
  /** Called number or other destination; empty if absent. It may change, so it is no key. */
  calledNumber: string
}

/** A service's names, with defaults. Field by field, so that all have one hidden class. */
export function serviceIdentity({
  ratingGroup = -1,
  serviceIdentifier = '',
  usaget,
  calledNumber = '',
}: Pick<ServiceIdentity, 'usaget'> & Partial<ServiceIdentity>): ServiceIdentity {
  return { ratingGroup, serviceIdentifier, usaget, calledNumber }
}

export function isSameService(one: ServiceKey, other: ServiceKey): boolean {
  return (
    one.ratingGroup === other.ratingGroup &&
    one.usaget === other.usaget &&
    one.serviceIdentifier === other.serviceIdentifier
  )
}
