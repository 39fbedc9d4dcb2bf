/** The invoice of one account in one cycle. Pure: a function of the documents that it is given. */
import type { CycleLineDocument } from '../../catalog/records/cycle-line.ts'
import type { AccountCycle } from './input.ts'

export {
  type AccountCycle,
  type CycleCatalogue,
  CycleError,
  type CycleSettings,
  type RevisionsByKey,
  type StoredRevision,
} from './input.ts'

/** The invoice to be stored; the run adds its number. */
export interface AccountInvoice {
  readonly aid: number
  readonly billrunKey: string
  /** Lines to be stored instead of those of an earlier run of this key. */
  readonly lines: readonly CycleLineDocument[]
  /** Stamps of installments that move to this key (`preponed`). */
  readonly prepone: readonly string[]
  /** Without `invoice_id`. */
  readonly invoice: Readonly<Record<string, unknown>>
}

/** Null: the account gets no invoice. Throws `CycleError`. */
export declare function computeAccount(input: AccountCycle): AccountInvoice | null
