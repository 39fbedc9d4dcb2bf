/** Documents, as read, and settings that the invoice of an account depends on. */
import type { CreditLineDocument } from '../../catalog/records/usage/credit-line.ts'
import type { RealtimeLineDocument } from '../../catalog/records/usage/line-document.ts'
import type { Fields } from '../../domain/fields.ts'
import type { TaxContext } from '../../rating/price.ts'
import type { BillingCalendar } from './cycle-key.ts'
import type { LateUsage } from './late-usage.ts'
import type { CycleSpan } from './lines.ts'

/** A stored revision [`from`, `to`) of an entity, with all its fields as read. */
export type StoredRevision = Fields & { readonly from: Date; readonly to: Date }

/** Revisions of one key, sorted by `from`. */
export type RevisionsByKey = ReadonlyMap<string, readonly StoredRevision[]>

/** Documents that all accounts of a run share, read once and never changed. */
export interface CycleCatalogue {
  /** By `name`. */
  readonly plans: RevisionsByKey
  readonly services: RevisionsByKey
  /** By `key`. */
  readonly discounts: RevisionsByKey
  readonly charges: RevisionsByKey
  readonly taxation: TaxContext
}

/** Settings of the stored configuration; defaults in parentheses. */
export interface CycleSettings {
  /** Numeric code of the currency (999, none). */
  readonly currencyCode: number
  /** Parts of a cycle are fractions of calendar months (false). */
  readonly calendarMonthFractions: boolean
  /** Services that a plan includes are charged (true). */
  readonly chargeIncludedServices: boolean
  /** A missed upfront charge is made up for only if there was a previous run (false). */
  readonly reconcileRequiresPreviousRun: boolean
  /** Upfront charges are always for the whole next cycle (false). */
  readonly fullFraction: boolean
  /** Revisions that begin in the next cycle are known (false). */
  readonly billableNextCycle?: boolean
  /** Reconciliation lines are written for a difference of 0 too (false). */
  readonly generateZeroRefunds: boolean
  /** Charges paid ahead get the taxes at the end of their supply (false). */
  readonly correctTax: boolean
  /** Remaining installments of a terminated subscriber become due (true). */
  readonly preponeOnTermination: boolean
}

/** Revisions that charges of an account depend on. */
export interface HolderRevisions {
  readonly account: readonly StoredRevision[]
  readonly subscribers: readonly StoredRevision[]
  /** The same subscribers in other accounts: no day of a holding is charged in two accounts. */
  readonly elsewhere?: readonly StoredRevision[]
}

/** Everything that the invoice of one account in one cycle depends on. */
export interface AccountCycle extends HolderRevisions {
  readonly aid: number
  readonly calendar: BillingCalendar
  readonly cycle: CycleSpan
  /** The cycle after it, which is charged upfront. */
  readonly next: CycleSpan
  /**
   * Revisions with a part in the cycle, and with `billableNextCycle` those with a part in the next
   * one. Further ones do no harm: earlier ones have no days, later ones are left out.
   */
  readonly account: readonly StoredRevision[]
  readonly subscribers: readonly StoredRevision[]
  readonly catalogue: CycleCatalogue
  /**
   * Lines of `source` `billrun` with `billrun` = the key before this one: charges, discounts and
   * conditional charges. Imported lines of other systems may lack `exact` and `line_id`.
   */
  readonly prior: readonly Fields[]
  /** Whether the previous cycle was run for the account, so that `prior` is complete. */
  readonly hasPreviousRun: boolean
  /** Absent if no plan or service has a period that is longer than a cycle. */
  readonly periods?: PeriodInput
  /** Usage and credit lines with `billrun` = the key. */
  readonly lines: readonly (RealtimeLineDocument | CreditLineDocument)[]
  /** Usage of earlier cycles that no confirmed invoice has, or of which it has a part only. */
  readonly late: readonly LateUsage[]
  /** Installments with a later key, of subscribers that may have ended. */
  readonly laterInstallments: readonly CreditLineDocument[]
  /** Subscribers whose later installments become due in any case. */
  readonly mergedInstallments: readonly number[]
  readonly settings: CycleSettings
  /** The seller on invoices, if it is configured. */
  readonly seller?: Fields
  /** Time of the run, for `process_time` and `creation_time` only. */
  readonly nowMs: number
}

/** Documents for charges whose period is longer than a cycle. */
export interface PeriodInput extends HolderRevisions {
  /** Revisions with a part in a period that contains the cycle or the next one. */
  readonly account: readonly StoredRevision[]
  readonly subscribers: readonly StoredRevision[]
  /** Lines of `source` `billrun` that earlier runs wrote for such periods. Others do no harm. */
  readonly prior: readonly Fields[]
  /** Keys of the earlier cycles in such periods that were run, so that `prior` is complete. */
  readonly runs: readonly string[]
}

/** An account that cannot be computed. The message names account, entity and reason. */
export class CycleError extends Error {
  override name = 'CycleError'
  readonly aid: number
  /** Such as `plan GOLD` or `subscriber 7`. */
  readonly entity: string
  readonly reason: string

  constructor(aid: number, entity: string, reason: string) {
    super(`account ${aid}: ${entity}: ${reason}`)
    this.aid = aid
    this.entity = entity
    this.reason = reason
  }
}
