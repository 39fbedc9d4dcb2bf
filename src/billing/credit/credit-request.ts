/** A credit that was requested, and the errors of credits. */
import type { Decimal } from 'decimal.js'

/** A charge or refund of an account or a subscriber. */
export interface CreditRequest {
  readonly aid: number
  /** 0: of the account itself. */
  readonly sid: number
  /** Key of a rate. */
  readonly rateKey: string
  /** Time of the credit, epoch ms. */
  readonly atMs: number
  readonly usagev: Decimal
  /** Null: by usage, at the price of the rate. */
  readonly aprice: Decimal | null
  /** Whether `aprice` is the price of one unit of `usagev`. */
  readonly isPerUnit: boolean
  /** Of a credit by usage. */
  readonly kind: 'charge' | 'refund'
  /** Null: one line that is not an installment. */
  readonly installments: number | null
  /** The requested cycle; null for that of `atMs`. */
  readonly billrunKey: string | null
  readonly label: string | null
  readonly uf: Readonly<Record<string, unknown>> | null
  readonly reason: string | null
}

/** The request is refused with a text that clients know. */
export class CreditRefusal extends Error {
  override name = 'CreditRefusal'
}

/** The credit cannot be processed. Clients know the text, `reason` has the field and the cause. */
export class CreditProcessError extends Error {
  override name = 'CreditProcessError'
  readonly reason: string

  constructor(reason: string) {
    super('Processor error')
    this.reason = reason
  }
}
