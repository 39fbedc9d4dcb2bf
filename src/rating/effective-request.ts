/**
 * The effective service request: what is settled and granted, where that differs from the request.
 */
import { type ChargeRequest, type ServiceRequest, withVolumes } from '../domain/charge-request.ts'
import type { ServiceSession } from '../domain/session.ts'

/** Units to grant: none after expiry, with a release, or if the request only reports usage. */
export function requestedUnits(
  request: ChargeRequest,
  wanted: ServiceRequest,
  isLate: boolean,
): number {
  const isSilent = isLate || request.kind === 'release' || wanted.requested < 0
  return isSilent ? 0 : wanted.requested
}

/**
 * The service to settle; the request itself if nothing differs. `used`: its newly reported units.
 */
export function effectiveRequest(
  request: ChargeRequest,
  wanted: ServiceRequest,
  used: number,
  previous: ServiceSession,
  isLate: boolean,
): ServiceRequest {
  const requested = requestedUnits(request, wanted, isLate)
  // For totals, `usedBefore` is meaningless: part of a total was reported before the tariff change
  // was announced.
  const usedBefore = wanted.isTotal ? -1 : wanted.usedBefore
  // A report may omit the called number, on which the rate may depend.
  const calledNumber = wanted.calledNumber === '' ? previous.calledNumber : wanted.calledNumber
  const isJustThat =
    requested === wanted.requested &&
    used === wanted.used &&
    usedBefore === wanted.usedBefore &&
    calledNumber === wanted.calledNumber
  return isJustThat ? wanted : withVolumes(wanted, requested, used, usedBefore, calledNumber)
}
