/**
 * Every outcome of a charge request, with its status, return code and text. A denial is an answer,
 * a failure is an outage, and a malformed request never reaches charging.
 */
import type { ServiceKey } from './identity.ts'
import type { Line } from './line.ts'
import type { FinalCharge } from './tax.ts'

export const reasons = {
  granted: { status: 'granted', code: 1, text: 'Success' },
  /** A service that a file type excludes from charging; rating does not see it. */
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
  /** An event rule bars further usage (docs/EVENTS.md, "Actions"). */
  capReached: { status: 'denied', code: -15, text: 'Spending cap is reached' },
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

/** The line for a grant that is used up, with its taxes. */
export interface Quote {
  line: Line
  charge: FinalCharge
}

/** Units of a part of a service (`ServicePart`) that may be used now. */
export interface PartGrant {
  usaget: string
  granted: number
}

/** An instruction of an event rule for the usage of a service. */
export type ServiceAction =
  /** `address` is a URL. Nothing is granted. */
  | { type: 'redirect'; address: string }
  /** The name of a policy that the network element applies to the granted units. */
  | { type: 'throttle'; policy: string }

/** The answer for one service, in the order of the request. */
export interface ServiceOutcome extends ServiceKey {
  reason: Reason
  /** Granted units, in base units. */
  granted: number
  /** Grants of its parts; null if absent. */
  parts: PartGrant[] | null
  /** Validity of the grant; 0 if nothing was granted. */
  validityMs: number
  /**
   * When another tariff comes into force for the grant, epoch ms; 0 if none does within the maximum
   * validity, or if there is no lasting grant.
   */
  tariffChangeMs: number
  /** True if no further units are available after these. */
  finalUnit: boolean
  /** Null if no event rule with such an action is in force. */
  action: ServiceAction | null
  /** Cost of the service in the session so far, micros before tax. */
  cost: number
  /** Quote for the used-up grant, for requests with `pretend`. */
  quote: Quote | null
}

/** One bucket as reported to the network element. Credit is positive. */
export interface BalanceReport {
  prepaidIncludeId: number
  kind: 'units' | 'money'
  usaget: string
  /** Name of the counter (counters.ts), or OWN_DEBT or ACCOUNT_DEBT; empty for prepaid credit. */
  counter: string
  /** Units, or micros. */
  free: number
  reserved: number
  /** End of validity, epoch ms. */
  toMs: number
  /** Debt of the owner of the balance, micros: the same on each of its balances. */
  debt: number
}

/** `counter` of reports that contain only debt, of the subscriber and of its account. */
export const OWN_DEBT = 'debt'
export const ACCOUNT_DEBT = 'account_debt'

/**
 * The outcome of a charge request. Plain data: it crosses a thread boundary and is stored for
 * replay.
 */
export interface ChargeOutcome {
  reason: Reason
  /** Explanation for people; empty if the reason is sufficient. */
  detail: string
  /** 0 if the subscriber is unknown. */
  aid: number
  sid: number
  /**
   * Identifies the first processing of this request; a replay has the same id. Empty without a
   * transaction.
   */
  transactionId: string
  services: ServiceOutcome[]
  /** Cost of all services of the session so far, micros before tax. */
  cost: number
  balances: BalanceReport[] | null
}

/** An outcome without services or balances. */
export function plainOutcome(reason: Reason, detail = '', aid = 0, sid = 0): ChargeOutcome {
  return { reason, detail, aid, sid, transactionId: '', services: [], cost: 0, balances: null }
}
