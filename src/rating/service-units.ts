/**
 * A service whose request has several kinds of units: selects those that are charged, and combines
 * their outcomes.
 */
import type { OwnerState } from '../domain/bucket.ts'
import type { PartGrant, ServiceOutcome } from '../domain/charge-outcome.ts'
import { type ServicePart, type ServiceRequest, withVolumes } from '../domain/charge-request.ts'
import type { Line } from '../domain/line.ts'
import type { ServiceSession, Session } from '../domain/session.ts'
import { findService } from '../domain/session-services.ts'

export interface ChosenUnits {
  /** Each is a service of its own in the session. Never empty. */
  charged: readonly ServiceRequest[]
  /** Units without a price, granted as requested: a limit in addition to the charged units. */
  free: readonly PartGrant[]
}

/** Units that the session granted before are charged again; for new ones the prices decide. */
export function chooseUnits(
  session: Session,
  request: ServiceRequest,
  hasPrice: (service: ServiceRequest) => boolean,
): ChosenUnits {
  const own = partRequest(request, request)
  const partsIn = (role: ServicePart['role']) =>
    (request.parts ?? [])
      .filter((part) => part.role === role)
      .map((part) => partRequest(request, part))
  const beside = partsIn('beside')
  const replacing = replacementOf(session, own, partsIn('preferred'), partsIn('held'), hasPrice)
  const isOwnCharged =
    replacing === null && (beside.length === 0 || isNeeded(session, own, hasPrice))
  const main = replacing ?? (isOwnCharged ? [own] : [])
  const charged = [...main]
  const free: PartGrant[] = []
  for (const each of beside) {
    const isRequested = each.requested > 0 || main.length === 0
    if (hasBegun(session, each) || (isRequested && hasPrice(each))) charged.push(each)
    else if (each.requested > 0) free.push({ usaget: each.usaget, granted: each.requested })
  }
  const isOwnFree = main.every(({ usaget }) =>
    partsIn('preferred').every((one) => one.usaget !== usaget),
  )
  if (!isOwnCharged && isOwnFree && own.requested > 0 && charged.length > 0) {
    free.push({ usaget: own.usaget, granted: own.requested })
  }
  return { charged: charged.length === 0 ? [own] : charged, free }
}

/** The units charged instead of the service's own units; null if absent. */
function replacementOf(
  session: Session,
  own: ServiceRequest,
  preferred: readonly ServiceRequest[],
  held: readonly ServiceRequest[],
  hasPrice: (service: ServiceRequest) => boolean,
): readonly ServiceRequest[] | null {
  const isBegun = (service: ServiceRequest) => hasBegun(session, service)
  const hasSwitched = preferred.some(isBegun)
  if (!hasSwitched && isBegun(own)) return null
  const begun = held.filter(isBegun)
  if (!hasSwitched && begun.length > 0) return begun
  const priced = preferred.filter((service) => isNeeded(session, service, hasPrice))
  if (priced.length === 0) return null
  // Usage reported only in the service's own units cannot be assigned to the replacing ones.
  const isReported = own.used === 0 || priced.some(({ used }) => used > 0)
  return isReported ? priced : [...priced, own]
}

function isNeeded(
  session: Session,
  service: ServiceRequest,
  hasPrice: (service: ServiceRequest) => boolean,
): boolean {
  if (hasBegun(session, service)) return true
  return (service.requested >= 0 || service.used > 0) && hasPrice(service)
}

function hasBegun(session: Session, service: ServiceRequest): boolean {
  const previous = findService(session, service)
  return previous !== undefined && (previous.segment !== null || previous.segmentsEnded > 0)
}

/** A part, or the service's own units, as a separate service. */
function partRequest(
  request: ServiceRequest,
  { usaget, requested, used, usedBefore }: Omit<ServicePart, 'role'>,
): ServiceRequest {
  const { calledNumber } = request
  const service = withVolumes(request, requested, used, usedBefore, calledNumber)
  service.usaget = usaget
  service.parts = null
  return service
}

/** State that settling a service changes. */
export interface WorkState {
  subscriber: OwnerState
  account: OwnerState | null
  services: ServiceSession[]
  lines: Line[]
}

/** Settles services one by one, and can restore an earlier state. */
export interface UnitWork<State> {
  readonly session: Session
  settle(service: ServiceRequest): ServiceOutcome
  hasPrice(service: ServiceRequest): boolean
  state(): State
  restore(state: State): void
}

/** How often requested units are halved until the same money pays for all kinds of units. */
const HALVINGS_MAX = 40

/**
 * Settles all charged units. Either all kinds of units are granted or none is, since the service
 * ends with the first that is used up. `isExact`: grants the requested units or nothing.
 */
export function settleUnits<State>(
  work: UnitWork<State>,
  request: ServiceRequest,
  isExact: boolean,
): ServiceOutcome {
  const { charged, free } = chooseUnits(work.session, request, (service) => work.hasPrice(service))
  const before = work.state()
  let outcomes = charged.map((service) => work.settle(service))
  for (let halvings = 1; isPartlyGranted(outcomes); halvings += 1) {
    const denied = outcomes.find(({ reason }) => reason !== 'granted') as ServiceOutcome
    const isLast = isExact || denied.reason !== 'noCredit' || halvings > HALVINGS_MAX
    work.restore(before)
    const divisor = isLast ? 0 : 2 ** halvings
    outcomes = charged.map((service) => work.settle(withReducedRequest(service, divisor)))
    if (isLast) return combinedOutcome(request, [{ ...denied, cost: 0 }, ...outcomes], [])
  }
  return combinedOutcome(request, outcomes, free)
}

/** Whether some kinds of units are granted and other requested ones are denied. */
function isPartlyGranted(outcomes: readonly ServiceOutcome[]): boolean {
  const isDenied = outcomes.some(({ reason }) => reason !== 'granted')
  return isDenied && outcomes.some(({ granted }) => granted > 0)
}

/** The service with fewer requested units, or with none if `divisor` is 0. */
function withReducedRequest(service: ServiceRequest, divisor: number): ServiceRequest {
  const { requested, used, usedBefore, calledNumber } = service
  if (requested <= 0) return service
  const less = divisor === 0 ? -1 : Math.max(1, Math.floor(requested / divisor))
  return withVolumes(service, less, used, usedBefore, calledNumber)
}

/** Combines outcomes into one: that of denied units, if there are any. */
function combinedOutcome(
  request: ServiceRequest,
  outcomes: readonly ServiceOutcome[],
  free: readonly PartGrant[],
): ServiceOutcome {
  const lead = outcomes.find(({ reason }) => reason !== 'granted') ?? outcomes[0]
  const isGranted = lead?.reason === 'granted'
  const charged = isGranted ? outcomes.filter(({ granted }) => granted > 0) : []
  const grants: PartGrant[] = charged.length === 0 ? [] : [...charged, ...free]
  const own = grants.find(({ usaget }) => usaget === request.usaget)
  const parts = grants.filter((grant) => grant !== own)
  let [validityMs, tariffChangeMs, cost] = [0, 0, 0]
  for (const outcome of outcomes) {
    validityMs = leastOf(validityMs, outcome.validityMs)
    tariffChangeMs = leastOf(tariffChangeMs, outcome.tariffChangeMs)
    cost += outcome.cost
  }
  return {
    ratingGroup: request.ratingGroup,
    serviceIdentifier: request.serviceIdentifier,
    usaget: request.usaget,
    reason: lead?.reason ?? 'granted',
    granted: own?.granted ?? 0,
    parts: parts.length === 0 ? null : parts.map(({ usaget, granted }) => ({ usaget, granted })),
    validityMs: isGranted ? validityMs : 0,
    tariffChangeMs: isGranted ? tariffChangeMs : 0,
    finalUnit: outcomes.some(({ finalUnit }) => finalUnit),
    action: null,
    cost,
    quote: outcomes.find(({ quote }) => quote !== null)?.quote ?? null,
  }
}

/** The smaller value, where 0 means that the value is absent. */
function leastOf(one: number, other: number): number {
  return one === 0 || other === 0 ? one + other : Math.min(one, other)
}
