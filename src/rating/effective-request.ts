/** What is to be settled and granted of a service, where a request does not just say it. */
import { type ChargeRequest, type ServiceRequest, withVolumes } from '../domain/charge-request.ts'
import type { ServiceSession } from '../domain/session.ts'

/** Units to be granted: only who is still in session, and goes on, is granted more. */
export function requestedUnits(
  request: ChargeRequest,
  wanted: ServiceRequest,
  isLate: boolean,
): number {
  const isSilent = isLate || request.kind === 'release' || wanted.requested < 0
  return isSilent ? 0 : wanted.requested
}

/** The service as it is settled; itself where it says just that. `used`: what of it is new. */
export function effectiveRequest(
  request: ChargeRequest,
  wanted: ServiceRequest,
  used: number,
  kept: ServiceSession,
  isLate: boolean,
): ServiceRequest {
  const requested = requestedUnits(request, wanted, isLate)
  // A total was not used since the tariff change was told: what it says of that is of no use.
  const usedBefore = wanted.isTotal ? -1 : wanted.usedBefore
  // What a report leaves out is as it was: the rate may depend on it.
  const calledNumber = wanted.calledNumber === '' ? kept.calledNumber : wanted.calledNumber
  const isJustThat =
    requested === wanted.requested &&
    used === wanted.used &&
    usedBefore === wanted.usedBefore &&
    calledNumber === wanted.calledNumber
  return isJustThat ? wanted : withVolumes(wanted, requested, used, usedBefore, calledNumber)
}
