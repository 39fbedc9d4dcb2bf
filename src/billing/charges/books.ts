/** The bills and payments of charges, as the books implement them. */
import type { Decimal } from 'decimal.js'
import type { Actor } from '../../catalog/actor.ts'
import type { ClientSession } from '../../catalog/collections.ts'

export interface OpenBill {
  readonly type: 'inv' | 'rec'
  readonly id: number | string
  /** Not paid and not reserved; above 0. */
  readonly left: Decimal
}

/** Which bills a charge run pays; absent members do not restrict. */
export interface BillSelection {
  readonly invoices?: readonly number[] | undefined
  readonly billrunKey?: string | undefined
  readonly minInvoiceDateMs?: number | undefined
}

export interface ReservedPayment {
  readonly aid: number
  readonly gateway: string
  readonly amount: Decimal
  readonly bills: readonly { type: OpenBill['type']; id: OpenBill['id']; amount: Decimal }[]
  /** Id of the charge: the same charge reserves once. */
  readonly chargeId: string
  readonly actor: Actor
  readonly reason: string
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

/** Writes take part in the transaction of the session. */
export interface PaymentBooks {
  /**
   * Bills that may be charged now, oldest first. None if the account also has credit: its bills
   * are covered by that first.
   */
  openBills(aid: number, selection: BillSelection, nowMs: number): Promise<readonly OpenBill[]>
  /** At most `size` accounts above `afterAid` that have such bills, ascending. */
  accountsToCharge(
    selection: BillSelection,
    page: { readonly afterAid: number; readonly size: number },
    nowMs: number,
  ): Promise<readonly number[]>
  /** Records a pending payment, which reserves the bills. Returns its txid. */
  reserve(session: ClientSession, payment: ReservedPayment): Promise<string>
  complete(session: ClientSession, payment: DecidedPayment): Promise<void>
  /** Opens the bills again. */
  reject(session: ClientSession, payment: DecidedPayment): Promise<void>
}
