/** Documents written by billing: invoices, payments, refunds, and the invoices of cycles. */
import type { IndexDescription } from 'mongodb'
import type { StoredAmount } from './exact-amount.ts'

/** Reference to another bill that this one pays, or that pays it. */
export interface BillLink {
  type: 'inv' | 'rec' | 'ref'
  id: number | string
  amount: StoredAmount
  date?: Date
  /** The payment is not confirmed: the amount is reserved. */
  pending?: boolean
  /** Id of the posting in the journal. */
  posting?: string
}

/** `0`: open; `1`: covered; `2`: a payment is not confirmed. */
export type PaidState = '0' | '1' | '2'

/** Amounts are exact decimals; positive amounts are owed by the customer. */
export interface BillDocument {
  type: 'inv' | 'rec' | 'ref'
  aid: number
  urt: Date
  due: StoredAmount
  amount: StoredAmount
  due_date?: Date
  /** Invoices only. */
  invoice_id?: number
  billrun_key?: string
  invoice_date?: Date
  invoice_type?: string
  due_before_vat?: StoredAmount
  left_to_pay?: StoredAmount
  vatable_left_to_pay?: StoredAmount
  total_paid?: StoredAmount
  paid?: PaidState
  paid_by?: BillLink[]
  past_rejections?: unknown[]
  /** Numbers of the payments that are not confirmed, and the sum that they reserve. */
  waiting_payments?: unknown[]
  pending_covering_amount?: StoredAmount
  /** Earliest date of collection. */
  charge?: { not_before: Date }
  /** Time of booking. */
  process_time?: Date
  /** Payments and refunds only: 13 digits. */
  txid?: string
  /** `fc`: from the customer; `tc`: to the customer. */
  dir?: 'fc' | 'tc'
  method?: string
  left?: StoredAmount
  pays?: BillLink[]
  pending?: boolean
  waiting_for_confirmation?: boolean
  confirmation_time?: Date
  /** Counter records of payments that were cancelled, rejected or denied, and their originals. */
  cancel?: string
  cancelled?: boolean
  rejection?: boolean
  rejected?: boolean
  is_denial?: boolean
  denied_by?: string
  original_txid?: string
  /** A deposit that is not used yet has `amount` and `due` 0. */
  deposit?: boolean
  deposit_amount?: StoredAmount
  /** When the deposit was used. */
  unfreeze_date?: Date
  payer_name?: string
  [field: string]: unknown
}

export const BILL_INDEXES: readonly IndexDescription[] = [
  { key: { aid: 1, urt: 1 } },
  // The bills of an account that are not covered.
  { key: { aid: 1, paid: 1, urt: 1 } },
  { key: { paid: 1, due_date: 1 } },
  { key: { invoice_id: 1 } },
  { key: { txid: 1 } },
  { key: { billrun_key: 1 } },
  { key: { 'payment_agreement.id': 1 } },
]

/** The invoice of an account for a cycle. */
export interface BillrunDocument {
  aid: number
  billrun_key: string
  invoice_id?: number
  /** 1 if confirmed, 2 if not for billing. */
  billed?: number
  [field: string]: unknown
}

/** The last two indexes serve the queries for the last confirmed cycle, and for the last one. */
export const BILLRUN_INDEXES: readonly IndexDescription[] = [
  { key: { aid: 1, billrun_key: 1 }, unique: true },
  { key: { invoice_id: 1 } },
  { key: { billed: 1, billrun_key: 1 } },
  { key: { billrun_key: 1 } },
]
