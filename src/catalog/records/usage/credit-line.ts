/** Lines of credits: charges and refunds that do not come from usage. */
import type { FinalCharge } from '../../../domain/tax.ts'
import type { PricingFields } from './line-document.ts'

/** How the amount of a credit by usage was computed. */
export type CreditPricing = Pick<PricingFields, 'price_of' | 'band' | 'rates' | 'rating'>

/** One credit, or one of its installments. Money is decimal; `exact` has the exact amounts. */
export interface CreditLineDocument extends FinalCharge, Partial<CreditPricing> {
  stamp: string
  v: number
  type: 'credit'
  source: 'credit'
  /** `charge`: the customer owes more. */
  usaget: 'charge' | 'refund'
  aid: number
  /** 0: of the account itself. */
  sid: number
  account_level?: true
  rate: string
  arate_key: string
  usagev: number
  /** Whether the caller has given the price. */
  prepriced: boolean
  credit: {
    usagev: number
    credit_by: 'rate'
    rate: string
    /** Usage type of the rate. */
    usaget: string
    /** The given price of a unit; of an installment its part. */
    aprice?: number
  }
  label?: string
  uf?: Record<string, unknown>
  reason?: string
  urt: Date
  /** Unix seconds. */
  credit_time: number
  process_time: Date
  /** Cycle key. */
  billrun: string
  skip_calc: string[]
  installments?: number
  installment_no?: number
  /** Stamp of the first installment. */
  first_installment?: string
  invoice_label?: string
  /** Whether it belongs to an invoice outside of cycles. */
  onetime_invoice?: true
  /** When the installment was moved to an earlier cycle. */
  preponed?: Date
}
