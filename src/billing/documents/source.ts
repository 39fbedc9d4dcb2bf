/** The source of a document: one invoice with its exact lines, and its settings. Values only. */
import type { Exact } from '../../catalog/records/money/exact-amount.ts'

export interface InvoiceSource {
  readonly aid: number
  readonly billrunKey: string
  readonly invoiceId: number
  /** A credit note corrects earlier invoices; its total is negative. */
  readonly kind: 'invoice' | 'credit_note'
  readonly invoiceDate: Date
  /** The billed period `[start, end)`; absent for an invoice outside the cycle. */
  readonly period?: SourcePeriod
  readonly dueDate: Date
  /** Amount of the bill, after tax; negative if it is owed to the customer. */
  readonly due: Exact
  readonly lines: readonly SourceLine[]
  /** Invoices that a credit note corrects. */
  readonly adjusts: readonly AdjustedInvoice[]
  readonly buyer: Party
  /** Language of the account, such as `en_GB`; undefined: that of the settings. */
  readonly language?: string
  /** Names of the subscribers, by number. */
  readonly subscribers: ReadonlyMap<number, string>
  readonly settings: InvoiceSettings
}

/** `[start, end)`. */
export interface SourcePeriod {
  readonly start: Date
  readonly end: Date
}

export interface AdjustedInvoice {
  readonly invoiceId: number
  readonly date?: Date
}

export type SourceLineType =
  | 'flat'
  | 'service'
  | 'usage'
  | 'credit'
  | 'discount'
  | 'conditional_charge'

export interface SourceLine {
  /** 0: of the account itself. */
  readonly sid: number
  readonly type: SourceLineType
  /** Key of the plan, service, rate or discount. */
  readonly name: string
  readonly description: string
  /** Units of usage, or of the service. */
  readonly quantity: Exact
  /** Usage type, such as `call`; undefined: pieces. */
  readonly usageType?: string
  /** Present for usage whose records had prices. */
  readonly isPrepriced?: true
  readonly period?: SourcePeriod
  /** Before tax, exact; negative for a discount or refund. */
  readonly amount: Exact
  /** Taxes on top of the amount. */
  readonly taxes: readonly SourceTax[]
}

export interface SourceTax {
  readonly key: string
  readonly description: string
  /** Such as `vat`. */
  readonly type: string
  /** Fraction: 17 % is 0.17. */
  readonly rate: Exact
}

/** Seller or buyer. An empty text is a missing one. */
export interface Party {
  readonly name: string
  readonly street: string
  readonly zipCode: string
  readonly city: string
  /** As given: an ISO 3166 code or an English name. */
  readonly country: string
  readonly vatId: string
  /** Number in a register of companies, or another legal number. */
  readonly registrationId: string
  readonly email: string
  readonly phone: string
  /** Electronic address with its scheme (EAS code). */
  readonly endpoint: string
  readonly endpointScheme: string
}

export const NO_PARTY: Party = {
  name: '',
  street: '',
  zipCode: '',
  city: '',
  country: '',
  vatId: '',
  registrationId: '',
  email: '',
  phone: '',
  endpoint: '',
  endpointScheme: '',
}

/** Category of VAT (UNTDID 5305). */
export const VAT_CATEGORIES = ['S', 'Z', 'E', 'AE', 'G', 'O'] as const
export type VatCategory = (typeof VAT_CATEGORIES)[number]

export interface TaxTreatment {
  readonly category: VatCategory
  readonly reason: string
  /** Code of the reason (VATEX). */
  readonly reasonCode: string
}

export const COLUMNS = ['position', 'description', 'period', 'quantity', 'tax', 'amount'] as const
export type InvoiceColumn = (typeof COLUMNS)[number]

export interface InvoiceSettings {
  readonly seller: Party
  readonly iban: string
  readonly bic: string
  /** Such as `en-GB`. */
  readonly language: string
  readonly columns: readonly InvoiceColumn[]
  readonly paymentTerms: string
  readonly footer: string
  /** Whether PDF and HTML leave out subscribers whose lines are all 0. */
  readonly hideZero: boolean
  /** Treatment of lines without tax; null if the operator has not stated one. */
  readonly untaxed: TaxTreatment | null
  /** Treatment of taxes with the rate 0, by key. */
  readonly taxes: ReadonlyMap<string, TaxTreatment>
  /** Numeric code (ISO 4217). */
  readonly currencyCode: number
  /** IANA zone of the dates. */
  readonly timeZone: string
}
