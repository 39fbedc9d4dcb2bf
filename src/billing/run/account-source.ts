/** Where runs get their accounts from: MongoDB, or the customer system. */
import type { BillableAccount } from '../../external/customers/billable.ts'
import type { RunCycle } from '../cycle/run-cycle.ts'

/** A page of the customer system; one may be divided into several pages of a run. */
export interface SourcePage {
  /** From 0. */
  readonly number: number
  /** The last account of the page before; 0 for the first one. */
  readonly after: number
}

export const FIRST_PAGE: SourcePage = { number: 0, after: 0 }

/** Where a page of a run begins. */
export interface PagePlace {
  /** The last account of the page before; 0 for the first page. */
  readonly after: number
  readonly source: SourcePage
}

/** Revisions by account; null if they are read from MongoDB together with the lines. */
export type Customers = readonly BillableAccount[] | null

export interface AccountPage {
  /** In the order of their numbers; empty behind the last page. */
  readonly aids: readonly number[]
  readonly customers: Customers
  /** Has the accounts of the next page, or null. */
  readonly next: SourcePage | null
}

/** Its calls reject with `CatalogUnavailableError` or `CustomerSystemError`. */
export interface AccountSource {
  readonly isExternal: boolean
  /** Accounts of the run; 0 if that is not known beforehand. */
  count(run: RunCycle): Promise<number>
  page(run: RunCycle, place: PagePlace, size: number): Promise<AccountPage>
  customers(run: RunCycle, aids: readonly number[]): Promise<Customers>
  /** All revisions of an account that began at the instant or before; null as `Customers`. */
  customerAt(aid: number, atMs: number): Promise<Customers>
}

/** The source by the current settings. Rejects with `CatalogUnavailableError`. */
export type OpenAccounts = () => Promise<AccountSource>
