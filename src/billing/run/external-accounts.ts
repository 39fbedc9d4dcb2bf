/** Accounts that the customer system keeps (interface section 4.7). */
import { setTimeout as pause } from 'node:timers/promises'
import {
  type BillableAccount,
  type BillableQuery,
  type BillableRequest,
  readBillable,
} from '../../external/customers/billable.ts'
import { DAY_FORMAT, formatDate, TIME_FORMAT } from '../../external/customers/cycle-dates.ts'
import { CustomerSystemError } from '../../external/customers/errors.ts'
import type { RevisionContext } from '../../external/customers/revisions.ts'
import type { AccountSource } from './account-source.ts'
import type { RunCycle } from './run-cycle.ts'

export interface ExternalAccountsOptions {
  /** Sends the request; rejects with `CustomerSystemError`. */
  ask(request: BillableRequest): Promise<unknown>
  /** Format of the dates of a request; null for the usual ones. */
  readonly dateFormat: string | null
  readonly context: RevisionContext
  /** Whether revisions that begin in the next cycle are asked for, too. */
  readonly withNextCycle: boolean
  /** Accounts of an answer, which may fill the cache of account and subscriber details. */
  onAnswer?(accounts: readonly BillableAccount[]): void
  /** Before the first repetition; twice as long before each further one. */
  readonly retryMs?: number
}

const TRIES = 3
const RETRY_MS = 250
/** Accounts that are asked for by number at once. */
const AIDS_MAX = 100

export function externalAccounts(options: ExternalAccountsOptions): AccountSource {
  const { dateFormat, context, withNextCycle } = options
  const { timeZone } = context
  const date = (usual: string, atMs: number) => formatDate(dateFormat ?? usual, atMs, timeZone)
  const window = ({ cycle, next, invoicingDay }: RunCycle) => ({
    start_date: date(DAY_FORMAT, cycle.startMs),
    end_date: date(DAY_FORMAT, withNextCycle ? next.endMs : cycle.endMs),
    ...(invoicingDay !== null && { invoicing_days: [invoicingDay] }),
  })
  // The same revisions as read from MongoDB.
  const spanOf = ({ cycle, next }: RunCycle) => ({ startMs: cycle.startMs, endMs: next.endMs })
  return {
    isExternal: true,
    count: async () => 0,
    async page(run, { after, number }, size) {
      const request = { ...window(run), page: number, size }
      const found = await asked(options, { request, after, aids: null, ...spanOf(run) })
      const aids = found.map(({ aid }) => aid)
      return { aids, customers: found, isLast: aids.length < size }
    },
    async customers(run, aids) {
      const sorted = [...aids].sort((a, b) => a - b)
      const found: BillableAccount[] = []
      for (let at = 0; at < sorted.length; at += AIDS_MAX) {
        const some = sorted.slice(at, at + AIDS_MAX)
        const request = { ...window(run), ...only(some) }
        found.push(...(await asked(options, { request, after: 0, aids: some, ...spanOf(run) })))
      }
      return found
    },
    customerAt(aid, atMs) {
      const [start_date, end_date] = [date(TIME_FORMAT, atMs), date(TIME_FORMAT, atMs + 1000)]
      const request = { start_date, end_date, ...only([aid]) }
      const span = { startMs: Number.NEGATIVE_INFINITY, endMs: atMs + 1 }
      return asked(options, { request, after: 0, aids: [aid], ...span })
    },
  }
}

function only(aids: readonly number[]) {
  return { page: 0, size: aids.length, aids: aids.join(',') }
}

/** An answer that cannot be used is asked for again: the customer system may have been restarted. */
async function asked(
  { ask, context, onAnswer, retryMs = RETRY_MS }: ExternalAccountsOptions,
  query: BillableQuery,
): Promise<BillableAccount[]> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const accounts = readBillable(await ask(query.request), query, context)
      onAnswer?.(accounts)
      return accounts
    } catch (error) {
      if (!(error instanceof CustomerSystemError)) throw error
      if (attempt === TRIES || NOT_REPEATED.has(error.kind)) throw error
      await pause(retryMs * 2 ** (attempt - 1))
    }
  }
}

type Kind = CustomerSystemError['kind']

/** A repetition would wait as long again, or meet the same settings. */
const NOT_REPEATED: ReadonlySet<Kind> = new Set([
  'timeout',
  'circuit open',
  'queue full',
  'settings',
  'address',
])

const AWAY: ReadonlySet<Kind> = new Set([
  'unreachable',
  'timeout',
  'status',
  'token',
  'circuit open',
  'queue full',
])

/** The customer system is not available: it may be later, without a change of data or settings. */
export function isCustomerSystemAway(error: unknown): error is CustomerSystemError {
  return error instanceof CustomerSystemError && AWAY.has(error.kind)
}
