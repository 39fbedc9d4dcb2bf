/** A credit that was requested, and the errors of credits. */

import type { Decimal } from 'decimal.js'
import { type FieldIssue, issuesOf, type Wrong } from '../../domain/field-errors.ts'

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
  /** Null for a credit by usage, at the price of the rate. */
  readonly aprice: Decimal | null
  /** Whether `aprice` is the price of one unit of `usagev`. */
  readonly isPerUnit: boolean
  /** Sign of a credit by usage. */
  readonly kind: 'charge' | 'refund'
  /** Null for one line that is not an installment. */
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
  readonly issues: readonly FieldIssue[]

  constructor(message: string, wrong: Wrong) {
    super(message)
    this.issues = issuesOf(message, wrong)
  }
}

/** The credit cannot be processed. Clients know the text, `reason` has the field and the cause. */
export class CreditProcessError extends Error {
  override name = 'CreditProcessError'
  readonly reason: string
  readonly issues: readonly FieldIssue[]

  constructor(reason: string, wrong: Wrong) {
    super('Processor error')
    this.reason = reason
    this.issues = issuesOf(reason, wrong)
  }
}
