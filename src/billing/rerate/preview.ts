/** Preview of rerating: reads the lines of accounts, and compares their prices. */
import type { Catalog } from '../../catalog/connection.ts'
import { findProfiles } from '../../catalog/feed/profiles.ts'
import type { BillrunDocument } from '../../catalog/records/money/bill.ts'
import { Exact } from '../../catalog/records/money/exact-amount.ts'
import type { RealtimeLineDocument } from '../../catalog/records/usage/line-document.ts'
import type { Uninvoiced } from '../../catalog/records/usage/uninvoiced.ts'
import type { SubscriberProfile } from '../../domain/catalogue.ts'
import { cycleAt, cycleEndMs } from '../../domain/cycle.ts'
import { createPoolCheck } from '../../rating/pool-check.ts'
import { type LiveRules, liveContext } from '../quote/live.ts'
import type { QuoteSettings } from '../quote/settings.ts'
import {
  type RefusedLine,
  type RepricedLine,
  type RerateInput,
  type RerateRules,
  rerateCycle,
} from './rerate-cycle.ts'

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

/** Decimals: before tax, and with it. */
export interface RerateAmounts {
  readonly aprice: string
  readonly final_charge: string
}

/** A line with another price. */
export interface ChangedPrice {
  readonly stamp: string
  readonly aid: number
  readonly sid: number
  readonly urt: Date
  readonly before: RerateAmounts
  readonly after: RerateAmounts
  readonly difference: RerateAmounts
}

type InvoiceState = 'computed' | 'confirmed' | 'not_for_bill'

/** An account in one cycle. */
export interface ReratedAccount {
  readonly aid: number
  readonly cycle: string
  /** The invoice of the cycle; null without one. */
  readonly invoice: { readonly id: number; readonly state: InvoiceState } | null
  /** Lines of usage in the cycle. */
  readonly lines: number
  /** Empty if lines are refused. */
  readonly changed: readonly ChangedPrice[]
  readonly difference: RerateAmounts
  /** The part of it that is on a confirmed invoice, which is never changed. */
  readonly on_confirmed: RerateAmounts
  readonly refused: readonly RefusedLine[]
}

export interface RerateSource {
  readonly catalog: Catalog
  readonly rules: LiveRules
  readonly settings: QuoteSettings
}

/** A line that was recorded when its cycle was over has a mark. */
type RecordedLine = RealtimeLineDocument & { readonly uninvoiced?: Uninvoiced }

interface AccountCycle {
  readonly aid: number
  readonly cycle: string
}

/**
 * Accounts with selected lines, in order. All lines of such an account in the cycle are priced,
 * since they share included units. Rejects with `CatalogUnavailableError`.
 */
export async function* previewRerate(
  source: RerateSource,
  selection: RerateSelection,
): AsyncGenerator<ReratedAccount> {
  const { catalog, rules, settings } = source
  const context: RerateRules = liveContext(
    { ...rules, profile: null, actionRules: null },
    settings,
    0,
  )
  const needsPool = createPoolCheck(() => rules.catalogue)
  for (const found of await selected(catalog, selection)) {
    const lines = await linesOf(catalog, found)
    const inputs = await withProfiles(catalog, lines, needsPool)
    const { lines: repriced, refused: inexact } = rerateCycle(inputs, found.cycle, context)
    const refused = [...(await otherCauses(source, found, lines)), ...inexact]
    const changes = refused.length === 0 ? repriced.flatMap(changeOf) : []
    const ofCycle = { aid: found.aid, billrun_key: found.cycle }
    const invoice = invoiceOf(await catalog.billrun.findOne(ofCycle))
    const isConfirmed = invoice?.state === 'confirmed'
    yield {
      ...found,
      invoice,
      lines: lines.length,
      changed: changes.map(({ price }) => price),
      difference: differenceOf(changes),
      on_confirmed: differenceOf(changes.filter(({ isLate }) => isConfirmed && !isLate)),
      refused,
    }
  }
}

async function selected(
  { reads }: Catalog,
  { fromMs, toMs, rateKey, plan, sid, origin }: RerateSelection,
): Promise<AccountCycle[]> {
  const filter = {
    type: 'realtime',
    urt: { $gte: new Date(fromMs), $lt: new Date(toMs) },
    ...(rateKey !== '' && { arate_key: rateKey }),
    ...(plan !== '' && { plan }),
    ...(sid !== 0 && { sid }),
    ...(origin !== '' && { origin }),
  }
  const groups = reads.lines.aggregate<{ _id: AccountCycle }>(
    [{ $match: filter }, { $group: { _id: { aid: '$aid', cycle: '$billrun' } } }],
    { allowDiskUse: true },
  )
  const found = (await groups.toArray()).map(({ _id }) => _id)
  return found.sort((a, b) => a.aid - b.aid || (a.cycle < b.cycle ? -1 : 1))
}

async function linesOf({ reads }: Catalog, { aid, cycle }: AccountCycle): Promise<RecordedLine[]> {
  const filter = { aid, billrun: cycle, type: 'realtime' as const }
  const found = await reads.lines.find(filter).toArray()
  return found as unknown as RecordedLine[]
}

/** A profile is read once for the lines until any part of it changes. */
async function withProfiles(
  catalog: Catalog,
  lines: readonly RealtimeLineDocument[],
  needsPool: (profile: SubscriberProfile) => boolean,
): Promise<RerateInput[]> {
  const inputs: RerateInput[] = []
  const known = new Map<number, SubscriberProfile>()
  for (const line of lines.toSorted((a, b) => a.urt.getTime() - b.urt.getTime())) {
    const { sid } = line
    const atMs = line.urt.getTime()
    const kept = known.get(sid)
    if (kept !== undefined && atMs < kept.toMs) {
      inputs.push({ line, profile: kept })
      continue
    }
    const query = { key: 'sid', value: String(sid), atMs }
    const [found = null] = await findProfiles(catalog, [query], needsPool)
    const profile = found === null || found instanceof Error ? found : found.profile
    if (profile !== null && !(profile instanceof Error)) known.set(sid, profile)
    inputs.push({ line, profile })
  }
  return inputs
}

/** Other changes of the counters of the cycle: by operations, and by usage of another account. */
async function otherCauses(
  { catalog, settings: { timeZone, cycleDay } }: RerateSource,
  { aid, cycle: key }: AccountCycle,
  lines: readonly RealtimeLineDocument[],
): Promise<RefusedLine[]> {
  const cycle = cycleAt((cycleEndMs(key, timeZone, cycleDay) ?? 0) - 1, timeZone, cycleDay)
  const [from, to] = [new Date(cycle.fromMs), new Date(cycle.toMs)]
  const cause = async (filter: object, reason: string, text: string) => {
    const found = await catalog.lines.find(filter).limit(1).toArray()
    return found.map(({ stamp }) => ({ stamp, reason, text }))
  }
  // Operations have no cycle.
  const ofAccount = { aid, billrun: null, type: 'balance' }
  const operations = {
    ...ofAccount,
    counter: { $exists: true },
    from: { $lt: to },
    to: { $gt: from },
  }
  const sids = [...new Set(lines.map(({ sid }) => sid))]
  const ofOthers = { type: 'realtime', aid: { $ne: aid } }
  const elsewhere = { sid: { $in: sids }, urt: { $gte: from, $lt: to }, ...ofOthers }
  return [
    ...(await cause(operations, 'operation', 'it changed a counter of the cycle without usage')),
    ...(await cause(elsewhere, 'moved', 'its subscriber was in two accounts during the cycle')),
  ]
}

function invoiceOf(found: BillrunDocument | null): ReratedAccount['invoice'] {
  if (found?.invoice_id === undefined) return null
  const closed = found.billed === 1 ? 'confirmed' : 'not_for_bill'
  return { id: found.invoice_id, state: found.billed === undefined ? 'computed' : closed }
}

interface Change {
  readonly price: ChangedPrice
  /** Recorded after the confirmation: the next run invoices what differs from the invoice. */
  readonly isLate: boolean
}

function changeOf({ before, after }: RepricedLine): Change[] {
  const { stamp, aid, sid, urt, uninvoiced } = before as RecordedLine
  const difference = amountsOf(after.exact, before.exact)
  if (difference.aprice === '0' && difference.final_charge === '0') return []
  const prices = { before: amountsOf(before.exact), after: amountsOf(after.exact), difference }
  return [{ price: { stamp, aid, sid, urt, ...prices }, isLate: uninvoiced !== undefined }]
}

function differenceOf(changes: readonly Change[]): RerateAmounts {
  return changes.map(({ price }) => price.difference).reduce(sumOfAmounts, NO_AMOUNTS)
}

function amountsOf(one: RerateAmounts, minus: RerateAmounts = NO_AMOUNTS): RerateAmounts {
  return {
    aprice: new Exact(one.aprice).minus(minus.aprice).toString(),
    final_charge: new Exact(one.final_charge).minus(minus.final_charge).toString(),
  }
}

export const NO_AMOUNTS: RerateAmounts = { aprice: '0', final_charge: '0' }

export function sumOfAmounts(one: RerateAmounts, other: RerateAmounts): RerateAmounts {
  return {
    aprice: new Exact(one.aprice).plus(other.aprice).toString(),
    final_charge: new Exact(one.final_charge).plus(other.final_charge).toString(),
  }
}
