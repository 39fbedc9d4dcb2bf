/** Why a document cannot be made. The messages are for operators, and contain no personal data. */
import type { Exact } from '../../catalog/records/money/exact-amount.ts'
import type { MoneyFormat } from '../currency.ts'
import { BillingError } from '../errors.ts'

/** A template or text file of the operator; the message names file and line. */
export class TemplateError extends BillingError {
  override name = 'TemplateError'
}

/** EN 16931 needs data that the invoice does not have, or cannot express it. */
export class EInvoiceError extends BillingError {
  override name = 'EInvoiceError'
  /** Settings and fields that are missing, such as `seller.name`. */
  readonly missing: readonly string[]

  constructor(message: string, missing: readonly string[] = []) {
    super(message, 'refused')
    this.missing = missing
  }
}

/** An expected invoice that the account would not get. */
export class NothingToInvoiceError extends BillingError {
  override name = 'NothingToInvoiceError'

  constructor() {
    super('There is nothing to invoice', 'refused')
  }
}

/** Files of documents cannot be written or read. */
export class DocumentStoreError extends BillingError {
  override name = 'DocumentStoreError'
}

/** The lines of an invoice are not those of its total. */
export class OtherLinesError extends BillingError {
  override name = 'OtherLinesError'
  /** Sum of the lines minus the total, before tax. */
  readonly difference: Exact

  constructor(invoiceId: number, difference: Exact, money: MoneyFormat) {
    const text = money(difference.toFixed())
    super(`invoice ${invoiceId}: its lines differ from its total by ${text}`, 'refused')
    this.difference = difference
  }
}
