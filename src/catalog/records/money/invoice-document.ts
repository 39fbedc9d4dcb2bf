/** Invoices of accounts (collection `billrun`). Amounts are decimal; `exact` has them as text. */
import { BSON } from 'mongodb'

/** Amounts before tax, after tax, and before tax of the taxed lines. */
export interface AmountsDocument {
  before_vat: number
  after_vat: number
  vatable: number
  exact: { before_vat: string; after_vat: string; vatable: string }
}

export const INVOICE_SECTIONS = [
  'flat',
  'service',
  'usage',
  'refund',
  'charge',
  'discount',
] as const
/** Conditional charges are in `charge`. */
export type InvoiceSection = (typeof INVOICE_SECTIONS)[number]

/** All lines of one plan, service, rate or discount. */
export interface BreakdownDocument {
  name: string
  /** Text for the customer, if it differs from the name. */
  description?: string
  /** Number of lines. */
  count: number
  usagev: number
  /** Before tax. */
  cost: number
  after_vat: number
  exact: { cost: string; after_vat: string }
}

export type SectionTotals = AmountsDocument & Partial<Record<InvoiceSection, AmountsDocument>>

/** A tax, over all lines that have it. */
export interface InvoiceTaxDocument {
  key: string
  description: string
  type: string
  /** Fraction: 17 % is 0.17. */
  tax: number
  amount: number
  exact: string
}

export interface InvoiceBalanceDocument {
  /** With the decimals of the currency. */
  after_vat: string
  without_waiting: { after_vat: string }
}

export interface InvoiceTotalsDocument extends SectionTotals {
  /** In the smallest unit of the currency, half away from zero. */
  after_vat_rounded: number
  /** By description. */
  taxes: Record<string, number>
  tax_data: {
    total_amount: number
    /** Sum of the rates. */
    total_tax: number
    /** By key. */
    taxes: Record<string, InvoiceTaxDocument>
  }
  /** Absent if it is 0. */
  past_balance?: InvoiceBalanceDocument
  current_balance: { after_vat: number }
  grouping: unknown[]
}

export interface InvoiceSubscriberDocument {
  aid: number
  /** 0: the account itself. */
  sid: number
  firstname?: string
  lastname?: string
  plan?: string
  breakdown: Partial<Record<InvoiceSection, BreakdownDocument[]>>
  totals: SectionTotals
  /** The last revision in the cycle, as it was then. */
  subscriber?: Record<string, unknown>
}

/** An invoice as computed: number and due date are set when it is stored. */
export interface InvoiceDocument {
  aid: number
  billrun_key: string
  invoice_date: Date
  start_date: Date
  end_date: Date
  creation_time: Date
  attributes: {
    firstname: string
    lastname: string
    fullname: string
    address: string
    email: string
    payment_details: string
    /** `regular`, or `immediate` outside of cycles. */
    invoice_type: string
  }
  subs: InvoiceSubscriberDocument[]
  totals: InvoiceTotalsDocument
  added_data: Record<string, unknown>
  /** The last revision of the account in the cycle, as it was then; without payment methods. */
  account: Record<string, unknown>
  seller?: Record<string, unknown>
  /** Taxes of the lines, by key. */
  tax_rules: Record<string, { description: string; type: string; tax: number; embed_tax: boolean }>
}

/** For another thread: values of BSON, as customers have them, would lose their class. */
export function packedInvoice(invoice: InvoiceDocument): Uint8Array {
  const size = { minInternalBufferSize: BSON.calculateObjectSize(invoice) }
  return BSON.serialize(invoice, { ...size, ignoreUndefined: true })
}

export function unpackedInvoice(bytes: Uint8Array): InvoiceDocument {
  return BSON.deserialize(bytes) as InvoiceDocument
}
