/**
 * The effective service request: what is settled and granted, where that differs from the request.
 */
import { type ChargeRequest, type ServiceRequest, withVolumes } from '../domain/charge-request.ts'
import type { ServiceSession } from '../domain/session.ts'

/**
 * Units to grant: none with a release, or if the request only reports usage. `grantsNothing`: after
 * expiry, or because of an event rule.
 */
function requestedUnits(
  request: ChargeRequest,
  service: ServiceRequest,
  grantsNothing: boolean,
): number {
  const isSilent = grantsNothing || request.kind === 'release' || service.requested < 0
  return isSilent ? 0 : service.requested
}

/**
 * The service to settle; the request itself if nothing differs. `used`: its newly reported units.
 */
export function effectiveRequest(
  request: ChargeRequest,
  service: ServiceRequest,
  used: number,
  previous: ServiceSession,
  grantsNothing: boolean,
): ServiceRequest {
  const requested = requestedUnits(request, service, grantsNothing)
  // For totals, `usedBefore` is meaningless: part of a total was reported before the tariff change
  // was announced.
  const usedBefore = service.isTotal ? -1 : service.usedBefore
  // A report may omit the called number, on which the rate may depend.
  const calledNumber =
    service.calledNumber === '' ? previous.identity.calledNumber : service.calledNumber
  const isJustThat =
    requested === service.requested &&
    used === service.used &&
    usedBefore === service.usedBefore &&
    calledNumber === service.calledNumber
  return isJustThat ? service : withVolumes(service, requested, used, usedBefore, calledNumber)
}
