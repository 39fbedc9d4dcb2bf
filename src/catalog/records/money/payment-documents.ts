/** Documents of charges through payment gateways (billing/charges), and of stored cards. */
import type { Decimal128, IndexDescription } from 'mongodb'
import type { ProcessIdentity } from '../../../runtime/process-identity.ts'
import type { Actor } from '../../actor.ts'

export const CHARGE_STATES = [
  'created',
  'sent',
  'completed',
  'pending',
  'rejected',
  'unknown',
] as const

export type ChargeState = (typeof CHARGE_STATES)[number]

/** A bill that a charge pays, and how much of it. */
export interface ChargedBill {
  readonly type: 'inv' | 'rec'
  readonly id: number | string
  readonly amount: Decimal128
}

/** A charge whose money is paid back. */
export interface RefundedCharge {
  readonly charge: string
  readonly reference: string
}

/** One attempt to charge an account, or to refund a charge. */
export interface GatewayChargeDocument {
  /** The idempotency key at the gateway. */
  _id: string
  /** Increased by every change. */
  rev: number
  aid: number
  /** Name of the instance. */
  gateway: string
  amount: Decimal128
  bills: ChargedBill[]
  /** Only refunds have it. */
  refunds?: RefundedCharge
  /** A rejection is not repeated. */
  once?: true
  /** The payment that reserves the bills. */
  txid: string
  state: ChargeState
  /** The charged card, sealed; empty once the outcome is known. */
  card: string
  /** The gateway's id of the charge; empty until it answered. */
  reference: string
  /** The gateway's own word, and the code of a rejection. */
  status: string
  code: string
  isFinal: boolean
  /** Number of the attempt, from 1; `first`: id of the first attempt. */
  attempt: number
  first: string
  firstRejected: Date | null
  /** Id of the run that made it; empty for a repetition. */
  run: string
  actor: Actor
  reason: string
  /** The process that sends the request. */
  holder: ProcessIdentity | null
  created: Date
  sent: Date | null
  changed: Date
  /** How often the outcome was asked for. */
  asked: number
  /** When to ask, to repeat, or to take over from a dead process; null if nothing is left to do. */
  due: Date | null
  /** Since when an operator has to decide; null if nobody has to. */
  task: Date | null
}

export const GATEWAY_CHARGE_INDEXES: readonly IndexDescription[] = [
  { key: { due: 1 }, partialFilterExpression: { due: { $gt: new Date(0) } } },
  { key: { task: 1 }, partialFilterExpression: { task: { $gt: new Date(0) } } },
  { key: { aid: 1, created: 1 } },
  { key: { run: 1 } },
  { key: { txid: 1 } },
  // Charges whose outcome is open.
  { key: { card: 1 }, partialFilterExpression: { card: { $gt: '' } } },
]

/** The right to charge an account; `_id`: the account. */
export interface ChargeLeaseDocument {
  _id: number
  token: string
  holder: ProcessIdentity
  expires: Date
}

/** A hosted page that was opened for a customer. */
export interface TokenizationDocument {
  /** Unguessable: part of the address of the page. */
  _id: string
  aid: number
  gateway: string
  /** The gateway's id. */
  session: string
  returnUrl: string
  okPage: string
  failPage: string
  state: 'open' | 'completed' | 'rejected'
  code: string
  actor: Actor
  created: Date
  expires: Date
}

export const TOKENIZATION_INDEXES: readonly IndexDescription[] = [
  { key: { aid: 1, created: 1 } },
  { key: { expires: 1 } },
]

/** The memory of the simulated gateway. */
export interface SandboxDocument {
  _id: string
  kind: 'page' | 'card' | 'charge'
  state: string
  made: Date
  fields: Record<string, string | number>
}
