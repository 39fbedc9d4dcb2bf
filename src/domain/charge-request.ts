import type { ServiceIdentity, SessionIdentity } from './identity.ts'

/**
 * A charge request, decoded from its message format. `start` opens a session, `update` reports
 * usage and requests further units, `release` closes the session, `event` is a one-time debit.
 */
export type RequestKind = 'start' | 'update' | 'release' | 'event'

/**
 * The kind of subscriber identifier in a request. `none`: the session directory has the subscriber.
 */
export type SubscriberKey = 'sid' | 'msisdn' | 'imsi' | 'none'

/**
 * A further kind of units of a service, counted under its own usage type. `beside`: granted in
 * addition to the service's own units; the service ends with the first that is used up.
 * `preferred`: replaces them if it has a price. `held`: replaces them if the session has granted it
 * before, and has not granted them.
 */
export interface ServicePart {
  usaget: string
  role: 'beside' | 'preferred' | 'held'
  /** As in the service. */
  requested: number
  used: number
  usedBefore: number
}

/** One rated service of a request. Volumes are integers in base units (bytes, seconds, events). */
export interface ServiceRequest extends ServiceIdentity {
  /** Requested units; -1 if the request only reports usage. */
  requested: number
  /** Units used since the last report; with `isTotal`, in the session so far. */
  used: number
  /**
   * The part of `used` that was used before the tariff change announced with the last grant; -1 if
   * the request does not state it. Ignored with `isTotal`.
   */
  usedBefore: number
  isTotal: boolean
  /** Key of the rate, which skips rate matching (used by quotes); empty to match the rate. */
  rateKey: string
  /** Whether it is exempt from taxes. */
  untaxed: boolean
  /** If no units are requested: whether the answer states if units are available. */
  checksCredit: boolean
  /**
   * For a start: without credit it opens the session as well, and the network element redirects or
   * restricts the service until there is credit. Absent: the start is denied.
   */
  opensWithoutCredit?: true
  /** The price that a usage record has, instead of that of the catalogue: micros before tax. */
  priceMicros?: number
  /** Null if absent. */
  parts: readonly ServicePart[] | null
  /**
   * Like `fields` of the request, but for this service; they take precedence. Null without
   * such fields.
   */
  fields: Readonly<Record<string, string>> | null
}

/**
 * The network element that sent a request, possibly through a relay. A higher `stateId`
 * (Origin-State-Id) means that it has lost its sessions (RFC 6733 section 8.16).
 */
export interface CreditControlClient {
  name: string
  stateId: number
}

/** The result of decoding every message format. It crosses a thread boundary: plain data only. */
export interface ChargeRequest extends Pick<SessionIdentity, 'origin' | 'sessionId'> {
  kind: RequestKind
  /** Request number within the session; -1 if the message format has none. */
  requestNumber: number
  /** Identifies a request without a number within its session; empty if its whole content does. */
  stamp: string
  /**
   * Name of the rules for identification and rate matching; empty for those of the installation.
   * Otherwise a digest of the rules, so that changed rules have another name.
   */
  rules: string
  subscriberKey: SubscriberKey
  subscriberValue: string
  /** Event time, epoch ms: determines tariff and cycle. */
  eventTimeMs: number
  /** False if the request has no event time and the node's clock was used. */
  eventTimeGiven: boolean
  services: ServiceRequest[]
  /** Whether the answer reports the balances. */
  wantBalances: boolean
  /** Price and answer the request without committing anything. */
  pretend: boolean
  /** For an `event`: refunds the earlier event of this session. */
  refund: boolean
  /**
   * Further fields that the rules of identification and rate matching read; null if absent.
   */
  fields: Readonly<Record<string, string>> | null
  /** Absent or null if the network element does not report its state. */
  client?: CreditControlClient | null
  /**
   * For an `event`: a usage record of a file. Its session id is never used for another one, so that
   * its lines have the same stamps whenever it is charged; it cannot be refunded.
   */
  isRecord?: true
}

/** `ServiceRequest.serviceIdentifier` for these numbers. */
export function serviceIdentifierOf(numbers: readonly number[]): string {
  if (numbers.length < 2) return numbers.join()
  return [...new Set(numbers)].sort((one, other) => one - other).join()
}

/** A service with defaults for all fields that are not given. */
export function serviceRequest(given: Pick<ServiceRequest, 'usaget'> & Partial<ServiceRequest>) {
  const { ratingGroup = -1, usaget, requested = -1, used = 0, calledNumber = '' } = given
  const { usedBefore = -1, isTotal = false, rateKey = '', untaxed = false, fields = null } = given
  const { serviceIdentifier = '', checksCredit = false, parts = null } = given
  const service: ServiceRequest = {
    ratingGroup,
    serviceIdentifier,
    usaget,
    requested,
    used,
    usedBefore,
    isTotal,
    calledNumber,
    rateKey,
    untaxed,
    checksCredit,
    parts,
    fields,
  }
  return service
}

/** A copy of a service with other units and called number. */
export function withVolumes(
  service: ServiceRequest,
  requested: number,
  used: number,
  usedBefore: number,
  calledNumber: string,
): ServiceRequest {
  const copy: ServiceRequest = {
    ratingGroup: service.ratingGroup,
    serviceIdentifier: service.serviceIdentifier,
    usaget: service.usaget,
    requested,
    used,
    usedBefore,
    isTotal: service.isTotal,
    calledNumber,
    rateKey: service.rateKey,
    untaxed: service.untaxed,
    checksCredit: service.checksCredit,
    parts: service.parts,
    fields: service.fields,
  }
  if (service.priceMicros !== undefined) copy.priceMicros = service.priceMicros
  return copy
}

/** Usage type of amounts of money; its units are micros. */
export const MONEY_USAGE = 'money'

/** Whether the refund states an amount, so that it does not need an earlier event. */
export function isAmountRefund({ refund, services }: ChargeRequest): boolean {
  return refund && services.some(({ requested }) => requested >= 0)
}

/** Whether such a request opens a session and identifies its subscriber. */
export function opensSession(kind: RequestKind): boolean {
  return kind === 'start' || kind === 'event'
}

/** Unique name of a session, since session ids are unique per network element only. */
export function sessionNameOf({
  origin,
  sessionId,
}: Pick<ChargeRequest, 'origin' | 'sessionId'>): string {
  return `${origin}\n${sessionId}`
}
