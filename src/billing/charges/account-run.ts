/** The charge run of an account, and its result. */
import type { Actor } from '../../catalog/actor.ts'
import type { Exact } from '../../catalog/records/money/exact-amount.ts'
import type { GatewayChargeDocument } from '../../catalog/records/money/payment-documents.ts'
import type { ActiveCard } from '../cards/active-card.ts'
import type { BillSelection, ChargeMode } from './books.ts'
import type { NewCharge } from './charge-store.ts'

export type PayMode = 'one_payment' | 'multiple_payments'

export interface AccountRun {
  readonly aid: number
  readonly selection: BillSelection
  readonly payMode: PayMode
  /** `charge` if absent. */
  readonly mode?: ChargeMode | undefined
  /** Charges exactly this: what is beyond the bills becomes credit. Refunds at most this. */
  readonly amount?: Exact | undefined
  /** Charged instead of the card of the account. */
  readonly card?: ActiveCard | undefined
  /** Configured fields of the payments. */
  readonly uf?: Readonly<Record<string, unknown>> | undefined
  /** The operator has named the account: it is charged even if a repetition is due later. */
  readonly isNamed: boolean
  readonly run: string
  readonly actor: Actor
  readonly reason: string
}

export interface AccountResult {
  readonly charges: readonly GatewayChargeDocument[]
  /** Why nothing was charged; null if something was. */
  readonly skipped: 'no card' | 'no bills' | 'no charge' | null
}

/** The charges to create. */
export interface ChargePlan {
  readonly charges: readonly NewCharge[]
  readonly skipped: AccountResult['skipped']
}
