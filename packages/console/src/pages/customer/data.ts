/** Reads of the customer page, by calls of the API. Lists are read by key, without totals. */
import { get } from '../../api/client.ts'
import {
  type Fields,
  type Identified,
  PAGE_SIZE,
  type Page,
  pageOf,
  type RecordOf,
  readAnswer,
  readNewest,
  readRecords,
  readUnique,
} from '../../api/records.ts'
import { type OpenSession, readOpenSessions } from '../../api/sessions.ts'
import { textIn } from '../../parts/differences.ts'
import { afterTime, timePosition } from '../../parts/paging.ts'
import { isValidAt, type Revision } from '../../parts/revisions.ts'
import type { Balance } from './balance-view.ts'

export interface Customer {
  readonly kind: 'subscriber' | 'account'
  readonly aid: number
  /** Null for an account. */
  readonly sid: number | null
  /** Ordered by `from`. */
  readonly revisions: readonly Revision[]
}

const REVISIONS_MAX = 1_000

/** `customer` is null for an unknown number. */
export async function readCustomer(
  kind: Customer['kind'],
  id: number,
  signal: AbortSignal,
): Promise<{ readonly customer: Customer | null }> {
  const all = { sort: { from: 1 }, size: REVISIONS_MAX }
  if (kind === 'account') {
    const revisions = await readRecords<Revision>(
      'accounts',
      { query: { aid: id }, ...all },
      signal,
    )
    return { customer: revisions.length === 0 ? null : { kind, aid: id, sid: null, revisions } }
  }
  const revisions = await readRecords<Revision>(
    'subscribers',
    { query: { sid: id }, ...all },
    signal,
  )
  const last = revisions.at(-1)
  if (last === undefined) return { customer: null }
  return { customer: { kind, aid: Number(last['aid']), sid: id, revisions } }
}

export interface TermsAt {
  readonly plans: readonly Revision[]
  readonly services: readonly Revision[]
  readonly rates: readonly Revision[]
}

interface TermsQuery {
  readonly sid: number | null
  readonly plan: string
  readonly services: readonly string[]
  readonly at: string
}

/** Prices at an instant: of the plan, of its services, and of the rates of the latest lines. */
export async function readTermsAt(query: TermsQuery, signal: AbortSignal): Promise<TermsAt> {
  const { sid, plan, services, at } = query
  const named = async (
    collection: 'plans' | 'services' | 'rates',
    key: string,
    names: string[],
  ) => {
    if (names.length === 0) return []
    const body = { query: { [key]: { $in: names } }, sort: { [key]: 1 }, size: REVISIONS_MAX }
    const revisions = await readRecords<Revision>(collection, body, signal)
    return revisions.filter((revision) => isValidAt(revision, at))
  }
  const [plans, found, used] = await Promise.all([
    named('plans', 'name', plan === '' ? [] : [plan]),
    named('services', 'name', [...services]),
    sid === null ? [] : usedRates(sid, signal),
  ])
  return { plans, services: found, rates: await named('rates', 'key', used) }
}

async function usedRates(sid: number, signal: AbortSignal): Promise<string[]> {
  const sort = { urt: -1, _id: -1 }
  const body = { query: { sid }, sort, size: PAGE_SIZE, project: { arate_key: 1 } }
  const lines = await readRecords<Fields>('lines', body, signal)
  return [...new Set(lines.map((line) => textIn(line, 'arate_key')))].filter((key) => key !== '')
}

/** Balances of the subscriber, and shared ones of the account, from the ledger. */
export async function readBalances(
  { aid, sid }: Customer,
  signal: AbortSignal,
): Promise<readonly Balance[]> {
  const shared = { query: { aid, sid: 0 } }
  if (sid === null) return readRecords<Balance>('balances', shared, signal)
  const lists = await Promise.all([
    readRecords<Balance>('balances', { query: { sid } }, signal),
    readRecords<Balance>('balances', shared, signal),
  ])
  return lists.flat()
}

export interface PrepaidInclude {
  readonly external_id: number
  readonly name: string
  readonly charging_by: string
  readonly charging_by_usaget: string
  readonly shared: boolean
}

/** Definitions that are valid now. */
export async function readIncludes(signal: AbortSignal): Promise<readonly PrepaidInclude[]> {
  const body = { query: {}, states: [0], sort: { name: 1 }, size: REVISIONS_MAX }
  return (await readUnique<PrepaidInclude>('prepaidincludes', body, signal)).details
}

export function readSessions(
  { aid, sid }: Customer,
  signal: AbortSignal,
): Promise<Page<OpenSession>> {
  return readOpenSessions({ aid: String(aid), ...(sid !== null && { sid: String(sid) }) }, signal)
}

/** Members that each line has. */
type Always = '_id' | 'urt' | 'stamp' | 'type'
type Stored = RecordOf<'lines'>
export type Line = Required<Pick<Stored, Always>> & Omit<Stored, Always>

/** Newest first, by time and id. */
export async function readLines(
  sid: number,
  after: string | null,
  signal: AbortSignal,
): Promise<Page<Line>> {
  const query = { sid, ...(after !== null && afterTime(after)) }
  const body = { query, sort: { urt: -1, _id: -1 }, size: PAGE_SIZE }
  return pageOf(await readAnswer<Line>('lines', body, signal), timePosition)
}

/** Invoices, payments and refunds of the account, newest first. */
export function readBills(
  aid: number,
  after: string | null,
  signal: AbortSignal,
): Promise<Page<Fields & Identified>> {
  return readNewest('bills', { query: { aid }, after }, signal)
}

/** Times are whole seconds in answers, so their order is that of the ids. */
export function readAudit(
  { aid, sid }: Customer,
  after: string | null,
  signal: AbortSignal,
): Promise<Page<Fields & Identified>> {
  const account = { collection: 'accounts', key: String(aid) }
  const keys =
    sid === null
      ? [account]
      : [
          { collection: 'subscribers', key: String(sid) },
          { collection: 'balances', key: `${aid}_${sid}` },
        ]
  return readNewest('audit', { query: { $or: keys }, after }, signal)
}

/** One revision of each: the present one, otherwise the nearest. */
export async function readSubscribers(
  aid: number,
  after: string | null,
  signal: AbortSignal,
): Promise<Page<Revision>> {
  const query = { aid, ...(after !== null && { sid: { $gt: Number(after) } }) }
  const body = { query, states: [0, 1, 2], sort: { sid: 1 }, size: PAGE_SIZE }
  const answer = await readUnique<Revision>('subscribers', body, signal)
  return pageOf(answer, (one) => textIn(one, 'sid'))
}

/** The amount that the account has to pay. */
export async function readAccountBalance(aid: number, signal: AbortSignal): Promise<Fields> {
  const details = (await get('api/bill', { aid: String(aid) }, { signal })) as Fields
  return (details['balance'] ?? {}) as Fields
}

/** Invoice documents, newest cycle first. */
export async function readInvoices(aid: number, signal: AbortSignal): Promise<readonly Fields[]> {
  const query = { aid: String(aid), size: PAGE_SIZE }
  const details = await get('api/accountinvoices', query, { signal })
  return Object.values(details as Record<string, Fields>)
}
