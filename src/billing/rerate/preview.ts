/** Preview of rerating: what would change, and the largest differences. */
import type { Catalog } from '../../catalog/connection.ts'
import { Exact } from '../../catalog/records/money/exact-amount.ts'
import type { RealtimeLineDocument } from '../../catalog/records/usage/line-document.ts'
import type {
  RefusedLine,
  RerateAmounts,
  RerateInvoice,
  RerateSums,
} from '../../catalog/records/usage/rerate-documents.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import {
  type AccountInCycle,
  amountsOf,
  createPricing,
  differenceOf,
  NO_SUMS,
  type RerateSource,
  sumOfSums,
  sumsOf,
} from './account-prices.ts'
import { readKept, refuseKept } from './kept.ts'
import type { RepricedLine } from './rerate-cycle.ts'

/** Lines by which accounts and cycles are found; empty and 0 for any. */
export interface RerateSelection {
  /** Time of the lines: [fromMs, toMs). */
  readonly fromMs: number
  readonly toMs: number
  readonly rateKey: string
  readonly plan: string
  readonly sid: number
  readonly origin: string
}

/** `oldestMs`: begin of the oldest cycle that still receives usage. Null if it can be rerated. */
export function selectionFault(
  { fromMs, toMs }: RerateSelection,
  { oldestMs }: { readonly oldestMs: number },
): { readonly path: 'from' | 'to'; readonly text: string } | null {
  if (toMs <= fromMs) return { path: 'to', text: 'must be after the begin' }
  if (fromMs >= oldestMs) return null
  const oldest = new Date(oldestMs).toISOString()
  return { path: 'from', text: `must not be before ${oldest}: older cycles are closed` }
}

/** A line with another price, or other payments. */
export interface ChangedPrice extends Pick<RealtimeLineDocument, 'stamp' | 'aid' | 'sid' | 'urt'> {
  readonly before: RerateAmounts
  readonly after: RerateAmounts
  readonly difference: RerateAmounts
}

/** An account in one cycle. */
export interface ReratedAccount extends AccountInCycle, RerateSums {
  /** The invoice of the cycle; null without one. */
  readonly invoice: RerateInvoice | null
  /** Lines of usage in the cycle. */
  readonly lines: number
  readonly refused: readonly RefusedLine[]
}

export interface RerateTotals extends RerateSums {
  readonly accounts: number
  /** Accounts that cannot be rerated. */
  readonly refused: number
  readonly lines: number
  readonly largest: readonly ChangedPrice[]
}

const LARGEST = 10

/**
 * Shows accounts with selected lines, in order. All lines of such an account in the cycle are
 * priced, since they share included units. Ends when `show` says no. Rejects with errors of the
 * stores.
 */
export async function previewRerate(
  source: RerateSource & { readonly ledger: Ledger },
  selection: RerateSelection,
  show: (account: ReratedAccount) => boolean,
): Promise<RerateTotals> {
  const price = createPricing(source)
  let totals: RerateTotals = { ...NO_SUMS, accounts: 0, refused: 0, lines: 0, largest: [] }
  for (const found of await selectedAccounts(source.catalog, selection)) {
    const refuse = refuseKept(await readKept(source.ledger, [found.aid], source.nowMs))
    const { changes, owners: _, cycleMs: __, ...account } = await price(found, refuse)
    const sums = sumsOf(changes, account.invoice)
    if (!show({ ...account, ...sums })) break
    totals = {
      ...sumOfSums(totals, sums),
      accounts: totals.accounts + 1,
      refused: totals.refused + (account.refused.length > 0 ? 1 : 0),
      lines: totals.lines + account.lines,
      largest: [...totals.largest, ...changes.map(changedPrice)]
        .sort(largestFirst)
        .slice(0, LARGEST),
    }
  }
  return totals
}

/** In order. */
export async function selectedAccounts(
  { reads }: Catalog,
  { fromMs, toMs, rateKey, plan, sid, origin }: RerateSelection,
): Promise<AccountInCycle[]> {
  const filter = {
    type: 'realtime',
    urt: { $gte: new Date(fromMs), $lt: new Date(toMs) },
    ...(rateKey !== '' && { arate_key: rateKey }),
    ...(plan !== '' && { plan }),
    ...(sid !== 0 && { sid }),
    ...(origin !== '' && { origin }),
  }
  const groups = reads.lines.aggregate<{ _id: AccountInCycle }>(
    [{ $match: filter }, { $group: { _id: { aid: '$aid', cycle: '$billrun' } } }],
    { allowDiskUse: true },
  )
  const found = (await groups.toArray()).map(({ _id }) => _id)
  return found.sort((a, b) => a.aid - b.aid || (a.cycle < b.cycle ? -1 : 1))
}

function changedPrice(change: RepricedLine): ChangedPrice {
  const { stamp, aid, sid, urt, exact } = change.before
  const prices = { before: amountsOf(exact), after: amountsOf(change.after.exact) }
  return { stamp, aid, sid, urt, ...prices, difference: differenceOf(change) }
}

function largestFirst({ difference: a }: ChangedPrice, { difference: b }: ChangedPrice): number {
  const size = (amount: string) => new Exact(amount).abs()
  return (
    size(b.final_charge).comparedTo(size(a.final_charge)) ||
    size(b.aprice).comparedTo(size(a.aprice))
  )
}
