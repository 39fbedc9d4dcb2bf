/**
 * The answer of a customer system with the accounts of a cycle: its rules, and its revisions by
 * account (docs/EXTERNAL.md). Pure.
 */
import { FieldError, type Fields, isEmpty, isObject, wholeAt } from '../../domain/fields.ts'
import { CustomerSystemError } from './errors.ts'
import {
  type CustomerKind,
  type CustomerRevision,
  checkMandatory,
  fieldsOf,
  type RevisionContext,
} from './revisions.ts'

/** Fields of the request. */
export interface BillableRequest {
  readonly start_date: string
  readonly end_date: string
  readonly page: number
  /** Accounts expected in the answer. */
  readonly size: number
  /** Separated by commas. */
  readonly aids?: string
  readonly invoicing_days?: readonly number[]
}

export interface BillableQuery {
  readonly request: BillableRequest
  /** The last account of the page before; 0 for the first one. */
  readonly after: number
  /** The only accounts that may be in the answer; null for any. */
  readonly aids: readonly number[] | null
  /** Revisions without a part in [`startMs`, `endMs`) are left out. */
  readonly startMs: number
  readonly endMs: number
}

type Revision = CustomerRevision['fields']

export interface BillableAccount {
  readonly aid: number
  /** Sorted by `from`; without one in the window, the last one before it. */
  readonly account: readonly Revision[]
  /** Sorted by `from`, then by `sid`. */
  readonly subscribers: readonly Revision[]
  /** Subscribers whose later installments are due now. */
  readonly merged: readonly number[]
  /** Why it cannot be invoiced; null if it can. */
  readonly problem: string | null
}

/** The text of existing installations. */
export const NO_DATA = 'Failed to retrive valid results for billable, remote returned no data.'

/**
 * By account, in their order. Throws `CustomerSystemError` if the answer reports a failure or
 * breaks the rules of the interface; the message names the page and, if it is about one, the
 * account.
 */
export function readBillable(
  answer: unknown,
  query: BillableQuery,
  context: RevisionContext,
): BillableAccount[] {
  const { request } = query
  if (!isObject(answer) || isEmpty(answer)) throw new CustomerSystemError('invalid answer', NO_DATA)
  const { status, data, options } = answer
  if (!isTruthy(status) || data === undefined || data === null) {
    const text = `Remote server return an error (status : ${statusText(status)}) on request : `
    throw new CustomerSystemError('refused', text + JSON.stringify(request))
  }
  const rows = isEmpty(data) ? [] : data
  if (!Array.isArray(rows)) throw broken(request, 'data must be a list')
  const merged = mergedOf(options, request)
  const groups = groupsOf(rows, query)
  if (groups.size > request.size) {
    throw broken(request, `has ${groups.size} accounts, asked for ${request.size}`)
  }
  return [...groups].map(([aid, own]) => accountOf(aid, own, query, context, merged.get(aid) ?? []))
}

function broken(
  { page }: BillableRequest,
  reason: string,
  kind: CustomerSystemError['kind'] = 'invalid answer',
): CustomerSystemError {
  return new CustomerSystemError(kind, `billable accounts, page ${page}: ${reason}`)
}

/** As PHP has it. */
function isTruthy(value: unknown): boolean {
  return Boolean(value) && value !== '0'
}

function statusText(status: unknown): string {
  return status === undefined ? '' : String(JSON.stringify(status)).slice(0, 100)
}

/** Rows by account; they are sorted, and none of them was on an earlier page. */
function groupsOf(rows: readonly unknown[], { request, after, aids }: BillableQuery) {
  const groups = new Map<number, Fields[]>()
  const requested = aids === null ? null : new Set(aids)
  let last = 0
  for (const [index, row] of rows.entries()) {
    if (!isObject(row)) throw broken(request, `data.${index} must be an object`)
    const aid = aidOf(row, index, request)
    if (aid < last) {
      const why = `account ${aid} follows account ${last}: accounts must be sorted by number`
      throw broken(request, why)
    }
    if (aid <= after) {
      const why = `account ${aid} is on an earlier page, which ended with account ${after}`
      throw broken(request, `${why}: pages must be sorted and not overlap`, 'overlap')
    }
    if (requested?.has(aid) === false) {
      throw broken(request, `account ${aid} is not one of the requested accounts (aids)`)
    }
    last = aid
    const own = groups.get(aid)
    if (own === undefined) groups.set(aid, [row])
    else own.push(row)
  }
  return groups
}

function aidOf(row: Fields, index: number, request: BillableRequest): number {
  try {
    return wholeAt(row['aid'], `data.${index}.aid`, 1)
  } catch (error) {
    if (error instanceof FieldError) throw broken(request, error.message)
    throw error
  }
}

function accountOf(
  aid: number,
  rows: readonly Fields[],
  { startMs, endMs }: BillableQuery,
  context: RevisionContext,
  merged: readonly number[],
): BillableAccount {
  try {
    const own = rows.map((row) => [kindOf(row), row] as const)
    const all = (kind: CustomerKind) =>
      checkedOrder(
        own.filter(([each]) => each === kind).map(([, row]) => namedRevision(kind, row, context)),
      )
    const within = ({ from, to }: Revision) => from.getTime() < endMs && to.getTime() > startMs
    const accounts = all('account')
    if (accounts.length === 0) throw new FieldError('', 'has no account revision')
    const current = accounts.filter(within)
    const account = current.length > 0 ? current : accounts.slice(-1)
    const subscribers = all('subscriber').filter(within)
    for (const each of [...account, ...subscribers]) {
      const kind = each['type'] as CustomerKind
      named(kind, each, () => checkMandatory(kind, each, context))
    }
    return { aid, account, subscribers, merged, problem: null }
  } catch (error) {
    if (!(error instanceof FieldError)) throw error
    const problem = `account ${aid}: customer system: ${error.message}`
    return { aid, account: [], subscribers: [], merged, problem }
  }
}

function kindOf(row: Fields): CustomerKind {
  const { type } = row
  if (type === 'account' || type === 'subscriber') return type
  if (type === undefined) return row['sid'] === undefined ? 'account' : 'subscriber'
  throw new FieldError('type', 'must be account or subscriber')
}

function namedRevision(kind: CustomerKind, row: Fields, context: RevisionContext): Revision {
  return named(kind, row, () => fieldsOf(kind, row, context))
}

/** The subscriber is named in the error. */
function named<T>(kind: CustomerKind, row: Fields, act: () => T): T {
  try {
    return act()
  } catch (error) {
    if (!(error instanceof FieldError) || kind === 'account') throw error
    throw new FieldError('', `subscriber ${String(row['sid']).slice(0, 40)}: ${error.message}`)
  }
}

/** Sorted by `from`, then `sid`; those without any time left out. Throws `FieldError`. */
function checkedOrder(revisions: readonly Revision[]): Revision[] {
  const sidOf = (revision: Revision) => Number(revision['sid'] ?? 0)
  const sorted = revisions
    .filter(({ from, to }) => from < to)
    .sort((a, b) => a.from.getTime() - b.from.getTime() || sidOf(a) - sidOf(b))
  const lastOf = new Map<number, Revision>()
  for (const revision of sorted) {
    const sid = sidOf(revision)
    const last = lastOf.get(sid)
    if (last !== undefined && revision.from < last.to) {
      const who = sid === 0 ? '' : `subscriber ${sid}: `
      const times = `one until ${last.to.toISOString()}, one from ${revision.from.toISOString()}`
      throw new FieldError('', `${who}revisions overlap: ${times}`)
    }
    lastOf.set(sid, revision)
  }
  return sorted
}

/** `options.merge_credit_installments` by account; PHP clients write options as a list too. */
function mergedOf(options: unknown, request: BillableRequest): Map<number, readonly number[]> {
  const found = new Map<number, readonly number[]>()
  const parts = Array.isArray(options) ? options : [options]
  for (const part of parts) {
    if (isEmpty(part)) continue
    if (!isObject(part)) throw broken(request, 'options must be an object')
    const path = 'options.merge_credit_installments'
    const value = part['merge_credit_installments']
    if (isEmpty(value)) continue
    if (!isObject(value)) throw broken(request, `${path} must be an object of lists by account`)
    for (const [aid, sids] of Object.entries(value)) {
      if (!Array.isArray(sids)) throw broken(request, `${path}.${aid} must be a list`)
      try {
        const numbers = sids.map((sid, index) => wholeAt(sid, `${path}.${aid}.${index}`, 1))
        found.set(wholeAt(aid, `${path}.${aid}`, 1), numbers)
      } catch (error) {
        if (error instanceof FieldError) throw broken(request, error.message)
        throw error
      }
    }
  }
  return found
}
