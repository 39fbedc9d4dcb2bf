/** Head and totals of a preview, and its checks. */
import type { Catalog } from '../../catalog/connection.ts'
import { Exact } from '../../catalog/records/money/exact-amount.ts'
import { keyAfter } from '../cycle/cycle-key.ts'
import { BillingError } from '../errors.ts'
import { type Assumed, assumedAccounts } from './assumed.ts'
import type { AccountPreview } from './preview.ts'
import { type CycleState, readCycleState } from './status.ts'

/** Earlier confirmed cycles that are computed again unless the caller says how many. */
export const BACK = 2
export const BACK_MAX = 24

const WITH_INVOICES: readonly string[] = ['running', 'finished', 'to_rerun', 'confirmed']

export interface PreviewHead {
  readonly key: string
  readonly status: CycleState['status']
  readonly previous: PreviousCycle
  /** Key of the cycle whose invoices it is compared with. */
  readonly compared: string
}

interface PreviousCycle {
  readonly key: string
  readonly status: CycleState['status']
  /** The lines from which charges that were paid ahead are known. */
  readonly assumption: string
}

export async function previewHead(
  catalog: Catalog,
  { cycle, status }: CycleState,
  nowMs: number,
): Promise<PreviewHead> {
  const previous = await previousOf(catalog, cycle, nowMs)
  const compared = WITH_INVOICES.includes(status) ? cycle.key : previous.key
  return { key: cycle.key, status, previous, compared }
}

async function previousOf(
  catalog: Catalog,
  { key: own, invoicingDay, installedDay, calendar }: CycleState['cycle'],
  nowMs: number,
): Promise<PreviousCycle> {
  const key = keyAfter(own, -1)
  const installed = { ...calendar, cycleDay: installedDay }
  const { status } = await readCycleState(catalog, { key, invoicingDay }, installed, nowMs)
  const isRun = WITH_INVOICES.includes(status)
  const assumption = isRun ? 'its lines as stored' : 'not run: only lines that are stored already'
  return { key, status, assumption }
}

/** Whether accounts may be supposed: not if the customer system has them. */
export function mayAssume(assumed: Assumed | null, isExternal: boolean): boolean {
  return !isExternal || assumed === null || assumedAccounts(assumed).length === 0
}

export const ASSUMED_ELSEWHERE =
  'account and subscribers cannot be supposed: the customer system has them'

/** Rejects with `BillingError` if one of the named accounts does not exist. */
export async function checkAccounts(
  catalog: Catalog,
  aid: number | null,
  assumed: Assumed | null,
): Promise<void> {
  const named = [...(aid === null ? [] : [aid]), ...(assumed ? assumedAccounts(assumed) : [])]
  const found = await catalog.subscribers.distinct('aid', {
    aid: { $in: named },
    deleted: { $ne: true },
  } as never)
  const missing = named.find((one) => !(found as number[]).includes(one))
  if (missing !== undefined)
    throw new BillingError(`the account ${missing} does not exist`, { path: 'aid' })
}

/**
 * Accounts with differences, and those that fail. Usage differs from one cycle to the next for
 * nearly all accounts, so it counts only in a comparison with the invoices of the cycle itself.
 */
export function isShown(account: AccountPreview, { key, compared }: PreviewHead): boolean {
  const { changes, others, price_changes: prices, tax_changes: taxes, failed } = account
  const listed = [changes, prices, taxes, account.not_returned]
  if (failed !== undefined || listed.some(({ length }) => length > 0)) return true
  const isChanged = others.wanted !== others.stored || account.total !== account.stored
  return compared === key && isChanged
}

export interface PreviewTotals {
  readonly accounts: number
  readonly invoices: number
  /** Accounts with changed lines. */
  readonly changed: number
  readonly failed: number
  /** After tax. */
  readonly total: string
  readonly stored: string
  readonly difference: string
  /** Accounts with changed prices. */
  readonly price_changes: number
  readonly not_returned: string
}

export const NO_TOTALS: PreviewTotals = {
  ...{ accounts: 0, invoices: 0, changed: 0, failed: 0, price_changes: 0 },
  ...{ total: '0', stored: '0', difference: '0', not_returned: '0' },
}

/** The totals with one more account. */
export function withAccount(sum: PreviewTotals, account: AccountPreview): PreviewTotals {
  const { total, stored, changes, failed } = account
  const lost = account.not_returned.map(({ difference }) => difference)
  const [all, before] = [added(sum.total, total), added(sum.stored, stored)]
  return {
    accounts: sum.accounts + 1,
    invoices: sum.invoices + (total === null ? 0 : 1),
    changed: sum.changed + (changes.length > 0 ? 1 : 0),
    failed: sum.failed + (failed === undefined ? 0 : 1),
    total: all.toString(),
    stored: before.toString(),
    difference: all.minus(before).toString(),
    price_changes: sum.price_changes + (account.price_changes.length > 0 ? 1 : 0),
    not_returned: added(sum.not_returned, ...lost).toString(),
  }
}

function added(sum: string, ...more: readonly (string | null)[]): Exact {
  return more.reduce<Exact>((total, each) => total.plus(each ?? 0), new Exact(sum))
}
