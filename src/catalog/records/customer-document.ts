/** Customers of the customer system, kept for a short time for charging. */
import type { IndexDescription } from 'mongodb'

export interface CustomerDocument {
  /** Kind and number: `account:17`, `subscriber:171`. */
  _id: string
  /** Fields by which it is asked for, with their values: `sid:171`, `msisdn:447700900171`. */
  keys: string[]
  /** With dates, as the customer system has returned them. */
  revisions: Record<string, unknown>[]
  /** It is not used from then on, and removed by the next one that is kept. */
  expires: Date
}

export const CUSTOMER_INDEXES: readonly IndexDescription[] = [
  { key: { keys: 1 } },
  { key: { expires: 1 } },
]
