/** Documents written by billing: invoices, payments, refunds, and the invoices of cycles. */
import type { IndexDescription } from 'mongodb'

/** Reference to another bill that this one pays, or that pays it. */
interface BillLink {
  type: 'inv' | 'rec' | 'ref'
  id: number | string
  amount: number
}

/** Money is decimal; positive amounts are owed by the customer. */
export interface BillDocument {
  type: 'inv' | 'rec' | 'ref'
  aid: number
  urt: Date
  due: number
  amount: number
  due_date?: Date
  /** Invoices only. */
  invoice_id?: number
  billrun_key?: string
  invoice_date?: Date
  invoice_type?: string
  due_before_vat?: number
  left_to_pay?: number
  total_paid?: number
  paid?: string
  paid_by?: BillLink[]
  past_rejections?: unknown[]
  waiting_payments?: unknown[]
  /** Earliest date of collection. */
  charge?: { not_before: Date }
  /** Payments and refunds only: 13 digits. */
  txid?: string
  /** `fc`: from the customer; `tc`: to the customer. */
  dir?: 'fc' | 'tc'
  method?: string
  left?: number
  pays?: BillLink[]
  deposit?: boolean
  deposit_amount?: number
  payer_name?: string
  [field: string]: unknown
}

export const BILL_INDEXES: readonly IndexDescription[] = [
  { key: { aid: 1, urt: 1 } },
  { key: { invoice_id: 1 } },
  { key: { txid: 1 } },
  { key: { billrun_key: 1 } },
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
  { key: { billed: 1, billrun_key: 1 } },
  { key: { billrun_key: 1 } },
]
