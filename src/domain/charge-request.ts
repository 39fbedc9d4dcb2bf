/**
 * What a network element asks for, after its dialect has been decoded (design.md §1, §2).
 * `start` opens a session, `update` reports and asks on, `release` closes, `event` is a one-shot
 * debit.
 */
export type RequestKind = 'start' | 'update' | 'release' | 'event'

/** The identifier by which a request names its subscriber. `none`: the session directory knows. */
export type SubscriberKey = 'sid' | 'msisdn' | 'imsi' | 'none'

/**
 * A further kind of units of a service, which its session counts under a usage type of its own.
 * `beside`: granted together with the service's own units, whichever end first. `preferred`:
 * instead of them where it has a price. `held`: instead of them where the session has granted it
 * before, and them never.
 */
export interface ServicePart {
  usaget: string
  role: 'beside' | 'preferred' | 'held'
  /** As those of the service. */
  requested: number
  used: number
  usedBefore: number
}

/** One rated service of a request. Volumes are integers in base units (bytes, seconds, events). */
export interface ServiceRequest {
  /** Rating group of the network element; -1 if it named none. */
  ratingGroup: number
  /**
   * What tells services of one rating group apart: numbers in ascending order with commas between
   * them; empty if the request names none.
   */
  serviceIdentifier: string
  /** Usage type, such as `data`, `call`, `sms`. */
  usaget: string
  /** Units asked for; -1 if the request asks for none, which only settles. */
  requested: number
  /** Units used since the last report; with `isTotal`, in the session so far. */
  used: number
  /**
   * Of `used`, the units from before the tariff change that the last grant told of; -1 if the
   * request does not say. Of totals it says nothing.
   */
  usedBefore: number
  isTotal: boolean
  /** Called number or other destination; empty if none. */
  calledNumber: string
  /** Names its rate, past all matching (quotes do); empty: it is matched. */
  rateKey: string
  /** Whether it bears no taxes. */
  untaxed: boolean
  /** Where no units are asked for: whether the answer says if there are any left. */
  checksCredit: boolean
  /** Null for none. */
  parts: readonly ServicePart[] | null
  /** As `fields` of the request, of this service alone: they hold before those. Null for none. */
  fields: Readonly<Record<string, string>> | null
}

/**
 * The network element that sent a request, possibly through a relay. An increased `stateId`
 * (Origin-State-Id) means that it has lost its sessions (RFC 6733 section 8.16).
 */
export interface CreditControlClient {
  name: string
  stateId: number
}

/** The flat shape every dialect decodes to. It crosses a thread boundary: plain data only. */
export interface ChargeRequest {
  kind: RequestKind
  /** The network element's identity; sessions of two origins never meet. */
  origin: string
  sessionId: string
  /** Request number within the session; -1 if the dialect carries none. */
  requestNumber: number
  /**
   * Without a number: what tells this request from others of its session; empty: all its content.
   */
  stamp: string
  /**
   * Names the rules of identification and rate matching; empty: those of the installation. Else a
   * digest of them, so that a change of the rules is another name.
   */
  rules: string
  subscriberKey: SubscriberKey
  subscriberValue: string
  /** Event time, epoch ms: chooses tariff and cycle. */
  eventTimeMs: number
  /** False if the node's clock stood in for an absent event time. */
  eventTimeGiven: boolean
  services: ServiceRequest[]
  /** Report the remaining balances. */
  wantBalances: boolean
  /** Price and answer, but move nothing. */
  pretend: boolean
  /** Of an `event`: gives back what the earlier event of this session took. */
  refund: boolean
  /** Further fields that identification and rate matching are configured to read; null for none. */
  fields: Readonly<Record<string, string>> | null
  /** Absent or null if the network element does not report its state. */
  client?: CreditControlClient | null
}

/** `ServiceRequest.serviceIdentifier` of these numbers. */
export function serviceIdentifierOf(numbers: readonly number[]): string {
  if (numbers.length < 2) return numbers.join()
  return [...new Set(numbers)].sort((one, other) => one - other).join()
}

/** A service that has nothing but what is given. */
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

/** What of a service is settled, where that is not just what it says. */
export function withVolumes(
  service: ServiceRequest,
  requested: number,
  used: number,
  usedBefore: number,
  calledNumber: string,
): ServiceRequest {
  return {
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
}

/** Usage type of amounts of money, whose units are micros. */
export const MONEY_USAGE = 'money'

/** Whether the refund states an amount, so that it does not need an earlier event. */
export function isAmountRefund({ refund, services }: ChargeRequest): boolean {
  return refund && services.some(({ requested }) => requested >= 0)
}

/** Whether such a request begins a session, and names its subscriber. */
export function opensSession(kind: RequestKind): boolean {
  return kind === 'start' || kind === 'event'
}

/** Tells a session from all others; sessions of two origins never meet. */
export function sessionNameOf({
  origin,
  sessionId,
}: Pick<ChargeRequest, 'origin' | 'sessionId'>): string {
  return `${origin}\n${sessionId}`
}
