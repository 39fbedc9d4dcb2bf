/** Methods of payment and the fields that each requires. */
import { missing } from '../../domain/field-errors.ts'
import type { Fields } from '../../domain/fields.ts'
import { BillingError } from '../errors.ts'

export const PAYMENT_METHODS = [
  'automatic',
  'cash',
  'cheque',
  'credit',
  'debit',
  'wire_transfer',
  'write_off',
] as const
export type PaymentMethod = (typeof PAYMENT_METHODS)[number]

/** Methods whose amount can be corrected afterwards. */
export const ADJUSTABLE: ReadonlySet<unknown> = new Set<PaymentMethod>([
  'cash',
  'cheque',
  'credit',
  'wire_transfer',
  'write_off',
])

/** Methods of the payments that the actions on agreements create. */
export const INSTALLMENT_AGREEMENT = 'installment_agreement'
export const MERGE_INSTALLMENTS = 'merge_installments'

/** Throws `BillingError`. */
export function paymentMethodOf(name: string): PaymentMethod {
  if (name === INSTALLMENT_AGREEMENT) {
    throw new BillingError(
      'Method installment_agreement must be transferred with action split_bill',
      { path: 'action' },
    )
  }
  const method = PAYMENT_METHODS.find((each) => each === name)
  if (method === undefined)
    throw new BillingError(`Unknown payment method ${name}`, { path: 'method' })
  return method
}

interface Requirement {
  /** Name in error texts. */
  readonly label: string
  readonly needsDirection: boolean
  readonly always: readonly string[]
  /** For payments to the customer. */
  readonly toCustomer: readonly string[]
}

const REQUIREMENTS: Partial<Record<PaymentMethod, Requirement>> = {
  cheque: {
    label: 'Billrun_Bill_Payment_Cheque',
    needsDirection: true,
    always: ['payer_name', 'deposit_slip_bank'],
    toCustomer: ['cheque_no'],
  },
  wire_transfer: {
    label: 'Billrun_Bill_Payment_WireTransfer',
    needsDirection: true,
    always: ['payer_name', 'deposit_slip_bank'],
    toCustomer: ['aaddress', 'azip', 'acity', 'IBAN', 'bank_name', 'BIC'],
  },
  debit: {
    label: 'Billrun_Bill_Payment_Debit',
    needsDirection: false,
    always: ['billrun_key', 'dd_stamp'],
    toCustomer: [],
  },
}

/** Fields must be present; they may be empty. Throws `BillingError`. */
export function requireFields(method: PaymentMethod, fields: Fields): void {
  const requirement = REQUIREMENTS[method]
  if (requirement === undefined) return
  const { label, needsDirection, always, toCustomer } = requirement
  const { dir } = fields
  if (needsDirection && (dir === undefined || dir === null || dir === '')) {
    throw new BillingError('dir not supplied.', { path: 'dir', code: 'missing' })
  }
  const names = dir === 'tc' ? [...always, ...toCustomer] : always
  const absent = names.filter((name) => fields[name] === undefined || fields[name] === null)
  if (absent.length > 0) {
    throw new BillingError(`${label}: Insufficient options supplied.`, missing(absent))
  }
}
