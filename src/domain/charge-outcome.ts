/**
 * Every way a charge request can end, with its status, return code (design.md §6) and text.
 * A denial is an answer, a failure is an outage, malformed never reached charging.
 */
import type { Line } from './line.ts'
import type { FinalCharge } from './tax.ts'

export const reasons = {
  granted: { status: 'granted', code: 1, text: 'Success' },
  /** Of a service that a file type keeps from being charged; rating has none. */
  notCharged: { status: 'granted', code: 1, text: 'Success' },
  noCredit: { status: 'denied', code: -1, text: 'No available balances' },
  unknownSubscriber: { status: 'denied', code: -2, text: 'Subscriber not found' },
  noRate: { status: 'denied', code: -3, text: 'No rate, or rate is blocked' },
  blocked: { status: 'denied', code: -3, text: 'Rate is not allowed in the plan' },
  pricing: { status: 'denied', code: -4, text: 'Pricing failed' },
  noTax: { status: 'denied', code: -5, text: 'Tax not found' },
  unknownSession: { status: 'denied', code: -7, text: 'Unknown session' },
  sessionClosed: { status: 'denied', code: -8, text: 'Session is closed' },
  outOfOrder: { status: 'denied', code: -9, text: 'Request number out of order' },
  numberReused: { status: 'denied', code: -10, text: 'Request number reused with other content' },
  barred: { status: 'denied', code: -11, text: 'Subscriber is barred' },
  totalBelow: {
    status: 'denied',
    code: -12,
    text: 'Usage total is below the one that was reported',
  },
  refundLimit: { status: 'denied', code: -13, text: 'Refund is more than may be refunded' },
  nothingToRefund: { status: 'denied', code: -14, text: 'Nothing to refund' },
  malformed: { status: 'denied', code: -20, text: 'Malformed request' },
  overloaded: { status: 'failed', code: -90, text: 'Overloaded' },
  contention: { status: 'failed', code: -90, text: 'Overloaded: account is contended' },
  storeDown: { status: 'failed', code: -91, text: 'Store is down' },
  corrupt: { status: 'failed', code: -91, text: 'Stored account is damaged' },
  timedOut: {
    status: 'failed',
    code: -92,
    text: 'Timed out: repeat the request to learn its outcome',
  },
} as const satisfies Record<string, { status: OutcomeStatus; code: number; text: string }>

export type OutcomeStatus = 'granted' | 'denied' | 'failed'
export type Reason = keyof typeof reasons

/** The line that a grant would become, with its taxes. */
export interface Quote {
  line: Line
  charge: FinalCharge
}

/** Units of a part of a service (`ServicePart`) that may be used now. */
export interface PartGrant {
  usaget: string
  granted: number
}

/** The answer for one service, in the order of the request. */
export interface ServiceOutcome {
  ratingGroup: number
  serviceIdentifier: string
  usaget: string
  reason: Reason
  /** Units that may be used now, base units. */
  granted: number
  /** What is granted of its parts; null for nothing. */
  parts: PartGrant[] | null
  /** How long the grant holds; 0 if nothing was granted. */
  validityMs: number
  /**
   * When another tariff begins to hold for what is granted, epoch ms; 0 if none does within the
   * longest validity, or nothing was granted that lasts.
   */
  tariffChangeMs: number
  /** True if no further units are available after these. */
  finalUnit: boolean
  /** What the service has cost in the session so far, micros before tax. */
  cost: number
  /** Of a request that only pretends: what the grant would come to, used up. */
  quote: Quote | null
}

/** One bucket as reported to the network element. Credit is positive. */
export interface BalanceReport {
  prepaidIncludeId: number
  kind: 'units' | 'money'
  usaget: string
  /** Counter that it is (counters.ts), or debt that no balance shows; empty for prepaid credit. */
  counter: string
  /** Units, or micros. */
  free: number
  reserved: number
  /** End of validity, epoch ms. */
  toMs: number
  /** What the owner of the balance owes, micros: the same on each of its balances. */
  debt: number
}

/** Counters of reports that only show debt: of the subscriber, and of its account. */
export const OWN_DEBT = 'debt'
export const ACCOUNT_DEBT = 'account_debt'

/**
 * The outcome of a charge request. Plain data: it crosses a thread boundary and is stored for
 * replay.
 */
export interface ChargeOutcome {
  reason: Reason
  /** Why, for a person; empty where the reason says it all. */
  detail: string
  /** 0 if the subscriber is not known. */
  aid: number
  sid: number
  /** Identifies the first processing of this request; a replay carries the same. Empty if none. */
  transactionId: string
  services: ServiceOutcome[]
  /** What all services of the session have cost so far, micros before tax. */
  cost: number
  balances: BalanceReport[] | null
}

/** An outcome that has nothing but its reason. */
export function plainOutcome(reason: Reason, detail = '', aid = 0, sid = 0): ChargeOutcome {
  return { reason, detail, aid, sid, transactionId: '', services: [], cost: 0, balances: null }
}
