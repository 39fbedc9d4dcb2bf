/** Accounts that the customer system keeps (docs/EXTERNAL.md). */
import { setTimeout as pause } from 'node:timers/promises'
import { formatDate } from '../../domain/date-format.ts'
import {
  type BillableAccount,
  type BillableQuery,
  type BillableRequest,
  readBillable,
} from '../../external/customers/billable.ts'
import { CustomerSystemError } from '../../external/customers/errors.ts'
import type { RevisionContext } from '../../external/customers/revisions.ts'
import type { RunCycle } from '../cycle/run-cycle.ts'
import { type AccountSource, FIRST_PAGE, type SourcePage } from './account-source.ts'

export interface ExternalAccountsOptions {
  /** Sends the request; rejects with `CustomerSystemError`. */
  ask(request: BillableRequest): Promise<unknown>
  /** Accounts of an answer. */
  readonly size: number
  /** Format of the dates of a request; empty for the usual ones. */
  readonly dateFormat: string
  readonly context: RevisionContext
  /** Whether revisions that begin in the next cycle are asked for, too. */
  readonly withNextCycle: boolean
  /** Is given the accounts of each answer. */
  onAnswer?(accounts: readonly BillableAccount[]): Promise<void>
  /** Before the first repetition; twice as long before each further one. */
  readonly retryMs?: number
}

const DAY_FORMAT = 'YYYY-MM-DD'
const TIME_FORMAT = 'YYYY-MM-DD HH:MM:SS'
const TRIES = 3
const RETRY_MS = 250

export function externalAccounts(options: ExternalAccountsOptions): AccountSource {
  return new ExternalAccounts(options)
}

class ExternalAccounts implements AccountSource {
  readonly isExternal = true
  readonly #options: ExternalAccountsOptions
  /** The answer that is being divided into pages of a run. */
  #divided: { readonly id: string; readonly accounts: readonly BillableAccount[] } | null = null

  constructor(options: ExternalAccountsOptions) {
    this.#options = options
  }

  async count(): Promise<number> {
    return 0
  }

  async page(
    run: RunCycle,
    { after, source }: Parameters<AccountSource['page']>[1],
    size: number,
  ): ReturnType<AccountSource['page']> {
    for (let place = await this.#placeOf(run, source, after); ; ) {
      const accounts = await this.#whole(run, place)
      const left = accounts.filter(({ aid }) => aid > after)
      const following = this.#following(place, accounts)
      const customers = left.slice(0, size)
      const next = left.length > size ? place : following
      if (customers.length > 0 || next === null) {
        return { aids: customers.map(({ aid }) => aid), customers, next }
      }
      place = next
    }
  }

  /**
   * Accounts that were added during the run move the others to later pages: they are found again
   * from the first page on.
   */
  async #placeOf(run: RunCycle, source: SourcePage, after: number): Promise<SourcePage> {
    try {
      await this.#whole(run, source)
      return source
    } catch (error) {
      const isMoved = error instanceof CustomerSystemError && error.kind === 'overlap'
      if (!isMoved || source.number === 0) throw error
    }
    this.#divided = null
    for (let place = FIRST_PAGE; ; ) {
      const accounts = await this.#whole(run, place)
      const next = this.#following(place, accounts)
      if (next === null || accounts.some(({ aid }) => aid > after)) return place
      place = next
    }
  }

  /** Null behind a page that is not full. */
  #following({ number }: SourcePage, accounts: readonly BillableAccount[]): SourcePage | null {
    const last = accounts.at(-1)
    if (last === undefined || accounts.length < this.#options.size) return null
    return { number: number + 1, after: last.aid }
  }

  async #whole(run: RunCycle, { number, after }: SourcePage): Promise<readonly BillableAccount[]> {
    const id = `${run.id} ${number} ${after}`
    if (this.#divided?.id === id) return this.#divided.accounts
    const request = { ...this.#window(run), page: number, size: this.#options.size }
    const accounts = await this.#ask({ request, after, aids: null, ...spanOf(run) })
    this.#divided = { id, accounts }
    return accounts
  }

  async customers(run: RunCycle, aids: readonly number[]): Promise<readonly BillableAccount[]> {
    const sorted = [...aids].sort((a, b) => a - b)
    const found: BillableAccount[] = []
    for (let at = 0; at < sorted.length; at += this.#options.size) {
      const some = sorted.slice(at, at + this.#options.size)
      const request = { ...this.#window(run), ...only(some) }
      found.push(...(await this.#ask({ request, after: 0, aids: some, ...spanOf(run) })))
    }
    return found
  }

  async customerAt(aid: number, atMs: number): Promise<readonly BillableAccount[]> {
    const [start, end] = [this.#date(TIME_FORMAT, atMs), this.#date(TIME_FORMAT, atMs + 1000)]
    const request = { start_date: start, end_date: end, ...only([aid]) }
    const span = { startMs: Number.NEGATIVE_INFINITY, endMs: atMs + 1 }
    return this.#ask({ request, after: 0, aids: [aid], ...span })
  }

  #window({ cycle, next, invoicingDay }: RunCycle) {
    const { withNextCycle } = this.#options
    return {
      start_date: this.#date(DAY_FORMAT, cycle.startMs),
      end_date: this.#date(DAY_FORMAT, withNextCycle ? next.endMs : cycle.endMs),
      ...(invoicingDay !== null && { invoicing_days: [invoicingDay] }),
    }
  }

  #date(usual: string, atMs: number): string {
    const { dateFormat, context } = this.#options
    return formatDate(dateFormat === '' ? usual : dateFormat, atMs, context.timeZone)
  }

  /** Asks again if the answer cannot be used: the customer system may have been restarted. */
  async #ask(query: BillableQuery): Promise<BillableAccount[]> {
    const { ask, context, onAnswer, retryMs = RETRY_MS } = this.#options
    for (let attempt = 1; ; attempt += 1) {
      try {
        const accounts = readBillable(await ask(query.request), query, context)
        await onAnswer?.(accounts)
        return accounts
      } catch (error) {
        if (!(error instanceof CustomerSystemError)) throw error
        if (attempt === TRIES || NOT_REPEATED.has(error.kind)) throw error
        await pause(retryMs * 2 ** (attempt - 1))
      }
    }
  }
}

/** As of revisions that are read from MongoDB. */
function spanOf({ cycle, next }: RunCycle) {
  return { startMs: cycle.startMs, endMs: next.endMs }
}

function only(aids: readonly number[]) {
  return { page: 0, size: aids.length, aids: aids.join(',') }
}

type Kind = CustomerSystemError['kind']

/** A repetition would wait as long again, or be refused again. */
const NOT_REPEATED: ReadonlySet<Kind> = new Set([
  'timeout',
  'circuit open',
  'queue full',
  'settings',
  'address',
  'request',
  'token',
  'unauthorized',
])

const AWAY: ReadonlySet<Kind> = new Set([
  'unreachable',
  'timeout',
  'status',
  'circuit open',
  'queue full',
])

/** The customer system is not available: it may be later, without a change of data or settings. */
export function isCustomerSystemAway(error: unknown): error is CustomerSystemError {
  return error instanceof CustomerSystemError && AWAY.has(error.kind)
}
