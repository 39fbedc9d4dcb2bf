/** Progress of billing cycles: runs, the pages of accounts that they claim, failed accounts. */
import type { IndexDescription } from 'mongodb'
import type { ProcessIdentity } from '../../../runtime/process-identity.ts'
import type { Actor } from '../../actor.ts'

/** Accounts of a run by result. */
export interface CycleCounts {
  /** Accounts that were processed, whatever the result. */
  accounts: number
  invoices: number
  /** Accounts without anything to invoice. */
  empty: number
  /** Accounts whose invoice is confirmed: nothing was changed. */
  confirmed: number
  /** Accounts that could not be computed or stored. */
  failed: number
}

/** The run of a cycle, or of the accounts of one invoicing day. */
export interface CycleRunDocument {
  /** Key of the cycle; followed by `/` and the invoicing day, if accounts have one. */
  _id: string
  key: string
  /** Null unless accounts have different invoicing days. */
  invoicing_day: number | null
  /** Counts the runs of the cycle: a later one replaces the invoices of the earlier one. */
  generation: number
  /** Machine on which it was begun. */
  host: string
  state: 'running' | 'paused' | 'finished'
  /** Why it is paused; empty otherwise. */
  reason: string
  /** Accounts when the run began; 0 until its end if they were not known. */
  total: number
  counts: CycleCounts
  /** `counts` when the run was continued after a pause. */
  continued: CycleCounts
  generate_pdf: boolean
  actor: Actor
  started: Date
  changed: Date
  ended: Date | null
}

/** Accounts `after` to `to` of a run. The page that begins where another ends is claimed next. */
export interface CyclePageDocument {
  /** Run, generation and `after`. */
  _id: string
  run: string
  generation: number
  /** The account before the first one; 0 for the first page. */
  after: number
  to: number
  /**
   * Page of the customer system that has the accounts behind this page, and the account before it;
   * null if no page follows.
   */
  next: { number: number; after: number } | null
  aids: number[]
  state: 'claimed' | 'done'
  /** Unique per claim. */
  token: string
  holder: ProcessIdentity
  /** From then on any process may claim it; earlier if the holder has ended. */
  expires: Date
  started: Date
  ended: Date | null
}

export const CYCLE_PAGE_INDEXES: readonly IndexDescription[] = [
  { key: { run: 1, generation: 1, after: 1 } },
  { key: { run: 1, generation: 1, state: 1, after: 1 } },
]

/** An account whose invoice could not be made. */
export interface ParkedAccountDocument {
  /** Run and account. */
  _id: string
  run: string
  key: string
  aid: number
  /** `skipped`: an operator has decided that it gets no invoice in this cycle. */
  state: 'parked' | 'skipped'
  reason: string
  tries: number
  since: Date
  changed: Date
}

export const PARKED_ACCOUNT_INDEXES: readonly IndexDescription[] = [
  { key: { run: 1, state: 1, aid: 1 } },
  { key: { key: 1, aid: 1 } },
]

/** A number that was given to an invoice which a later run did not need any more. */
export interface VoidInvoiceDocument {
  /** Number of the invoice. */
  _id: number
  series: string
  aid: number
  billrun_key: string
  reason: string
  voided: Date
}

export const VOID_INVOICE_INDEXES: readonly IndexDescription[] = [
  { key: { aid: 1, billrun_key: 1 } },
  { key: { billrun_key: 1 } },
]
