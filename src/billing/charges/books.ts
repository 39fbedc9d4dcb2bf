/** The bills and payments of charges, as the books implement them. */
import type { Decimal } from 'decimal.js'
import type { Actor } from '../../catalog/actor.ts'
import type { ClientSession } from '../../catalog/collections.ts'

/** A bill that may be charged, or a credit that may be refunded. */
export interface OpenBill {
  readonly type: 'inv' | 'rec'
  readonly id: number | string
  /** Not covered and not reserved; above 0. */
  readonly left: Decimal
}

/** `refund`: credits are paid back to the customer. */
export type ChargeMode = 'charge' | 'refund'

/** Which bills a charge run pays; absent members do not restrict. */
export interface BillSelection {
  readonly invoices?: readonly number[] | undefined
  readonly excludeInvoices?: readonly number[] | undefined
  readonly billrunKey?: string | undefined
  readonly minInvoiceDateMs?: number | undefined
}

export interface ReservedPayment {
  readonly mode: ChargeMode
  readonly aid: number
  readonly gateway: string
  readonly amount: Decimal
  readonly bills: readonly { type: OpenBill['type']; id: OpenBill['id']; amount: Decimal }[]
  /** Id of the charge: the same charge reserves once. */
  readonly chargeId: string
  readonly actor: Actor
  readonly reason: string
  /** Configured fields of the payment. */
  readonly uf: Readonly<Record<string, unknown>>
  readonly nowMs: number
}

export interface DecidedPayment {
  readonly aid: number
  readonly txid: string
  readonly gateway: string
  /** The gateway's id, word and code. */
  readonly reference: string
  readonly status: string
  readonly code: string
  readonly nowMs: number
}

export interface BillFilter {
  readonly aid: number
  readonly mode: ChargeMode
  readonly selection: BillSelection
  readonly nowMs: number
}

/** Writes take part in the transaction of the session. */
export interface PaymentBooks {
  /**
   * Bills that may be charged now, or credits that may be refunded, oldest first. None if the
   * account has both: its bills are covered by its credit first.
   */
  openBills(filter: BillFilter): Promise<readonly OpenBill[]>
  /** At most `size` accounts above `afterAid` that have such bills, ascending. */
  accountsToCharge(
    filter: Omit<BillFilter, 'aid'>,
    page: { readonly afterAid: number; readonly size: number },
  ): Promise<readonly number[]>
  /** Records a pending payment, which reserves the bills. Returns its txid. */
  reserve(session: ClientSession, payment: ReservedPayment): Promise<string>
  complete(session: ClientSession, payment: DecidedPayment): Promise<void>
  /** Opens the bills again. */
  reject(session: ClientSession, payment: DecidedPayment): Promise<void>
}
