/** Reads the lines of an account in a cycle, and compares their prices with those of today. */
import type { Catalog } from '../../catalog/connection.ts'
import { createPacer } from '../../catalog/feed/pacer.ts'
import { findProfiles } from '../../catalog/feed/profiles.ts'
import type { BillrunDocument } from '../../catalog/records/money/bill.ts'
import { Exact } from '../../catalog/records/money/exact-amount.ts'
import type { RealtimeLineDocument } from '../../catalog/records/usage/line-document.ts'
import type {
  RefusedLine,
  RerateAmounts,
  RerateInvoice,
  RerateSums,
} from '../../catalog/records/usage/rerate-documents.ts'
import type { Uninvoiced } from '../../catalog/records/usage/uninvoiced.ts'
import type { Config } from '../../config/schema.ts'
import type { OwnerState } from '../../domain/bucket.ts'
import type { SubscriberProfile } from '../../domain/catalogue.ts'
import { cycleAt, cycleEndMs } from '../../domain/cycle.ts'
import { RERATE } from '../../domain/line.ts'
import { createPoolCheck } from '../../rating/pool-check.ts'
import { type LiveRules, liveContext, readLiveRules } from '../quote/live.ts'
import type { LiveCatalogue } from '../quote/live-catalogue.ts'
import type { QuoteSettings } from '../quote/settings.ts'
import {
  isChanged,
  type RepricedLine,
  type RerateInput,
  type RerateProfile,
  rerateCycle,
} from './rerate-cycle.ts'

export interface RerateSource {
  readonly catalog: Catalog
  readonly rules: LiveRules
  readonly settings: QuoteSettings
  /** Lines of usage before then may have been removed. */
  readonly linesFromMs: number
  /** When it was opened. */
  readonly nowMs: number
}

export interface AccountInCycle {
  readonly aid: number
  readonly cycle: string
  /** Id of the queued request for it; absent for one of the selection of the run. */
  readonly request?: string
}

/** An account in one cycle, with the lines whose prices or payments differ. */
export interface AccountPrices extends AccountInCycle {
  /** Start of the cycle. */
  readonly cycleMs: number
  /** The invoice of the cycle; null without one. */
  readonly invoice: RerateInvoice | null
  /** Lines of usage in the cycle. */
  readonly lines: number
  /** Empty if lines are refused. */
  readonly changes: readonly RepricedLine[]
  /** With the counters after all lines, from which they are paid; 0 is the account. */
  readonly owners: ReadonlyMap<number, OwnerState>
  readonly refused: readonly RefusedLine[]
}

/** A line that was recorded when its cycle was over has a mark. */
type RecordedLine = RealtimeLineDocument & { readonly uninvoiced?: Uninvoiced }

const DAY_MS = 86_400_000

/** By the settings of the installation and its rules of today. Rejects as `readLiveRules`. */
export async function openRerateSource(
  { catalog, catalogue, nowMs }: RerateStores,
  { rating, retention: { linesDays } }: Pick<Config, 'rating' | 'retention'>,
): Promise<RerateSource> {
  const rules = await readLiveRules({ catalog, catalogue }, { rating })
  // Retention removes lines by their time, in a job that may be about to run.
  const linesFromMs = linesDays === 0 ? 0 : nowMs - (linesDays - 2) * DAY_MS
  return { catalog, rules, settings: catalogue.settings, linesFromMs, nowMs }
}

export interface RerateStores {
  readonly catalog: Catalog
  readonly catalogue: LiveCatalogue
  readonly nowMs: number
}

/** Refuses lines for reasons that are not in the catalogue. */
export type RefuseLine = (line: RealtimeLineDocument) => RefusedLine | null

/** Rejects with `CatalogUnavailableError`. */
export type PriceAccount = (found: AccountInCycle, refuse?: RefuseLine) => Promise<AccountPrices>

export function createPricing(source: RerateSource): PriceAccount {
  const { catalog, rules, settings, linesFromMs } = source
  const context = liveContext({ ...rules, profile: null, actionRules: null }, settings, 0)
  const needsPool = createPoolCheck(() => rules.catalogue)
  const { timeZone, cycleDay } = settings
  return async (found, refuse = () => null) => {
    const { aid, cycle: key } = found
    const cycle = cycleAt((cycleEndMs(key, timeZone, cycleDay) ?? 0) - 1, timeZone, cycleDay)
    const lines = await linesOf(catalog, found)
    const inputs = await withProfiles(catalog, lines, needsPool)
    const done = await paced(rerateCycle(inputs, key, context))
    const { lines: repriced, refused: inexact, owners } = done
    const kept = lines.flatMap((line) => refuse(line) ?? [])
    const text = 'lines of the cycle may have been removed'
    const removed = cycle.fromMs < linesFromMs ? [{ stamp: '', reason: 'retention', text }] : []
    const others = [...removed, ...(await otherCauses(catalog, aid, cycle, lines)), ...kept]
    const refused = [...others, ...inexact]
    const invoice = invoiceOf(await catalog.billrun.findOne({ aid, billrun_key: key }))
    const changes = refused.length === 0 ? repriced.filter(isChanged) : []
    const { fromMs: cycleMs } = cycle
    return { ...found, cycleMs, invoice, lines: lines.length, changes, owners, refused }
  }
}

/** In slices, between which the thread does its other work. */
async function paced<T>(steps: Generator<undefined, T>): Promise<T> {
  const pacer = createPacer()
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
    if (pacer.isSliceOver()) await pacer.pause()
  }
}

async function linesOf(
  { reads }: Catalog,
  { aid, cycle }: AccountInCycle,
): Promise<RecordedLine[]> {
  const filter = { aid, billrun: cycle, type: 'realtime' as const }
  // A secondary may lack versions that the recorder has written.
  const found = await reads.lines.find(filter, { readPreference: 'primary' }).toArray()
  return found as unknown as RecordedLine[]
}

/** A profile is read once for the lines until any part of it, or of its pool, changes. */
async function withProfiles(
  catalog: Catalog,
  lines: readonly RealtimeLineDocument[],
  needsPool: (profile: SubscriberProfile) => boolean,
): Promise<RerateInput[]> {
  const inputs: RerateInput[] = []
  const known = new Map<number, RerateProfile>()
  for (const line of lines.toSorted((a, b) => a.urt.getTime() - b.urt.getTime())) {
    const { sid } = line
    const atMs = line.urt.getTime()
    const kept = known.get(sid)
    if (kept !== undefined && atMs < kept.untilMs) {
      inputs.push({ line, profile: kept })
      continue
    }
    const query = { key: 'sid', value: String(sid), atMs }
    const [found = null] = await findProfiles(catalog, [query], needsPool)
    if (found === null || found instanceof Error) inputs.push({ line, profile: found })
    else {
      const profile = { ...found.profile, untilMs: found.validUntilMs }
      known.set(sid, profile)
      inputs.push({ line, profile })
    }
  }
  return inputs
}

/** Other changes of the counters of the cycle: by operations, and by usage of another account. */
async function otherCauses(
  catalog: Catalog,
  aid: number,
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
  lines: readonly RealtimeLineDocument[],
): Promise<RefusedLine[]> {
  const [from, to] = [new Date(fromMs), new Date(toMs)]
  const cause = async (filter: object, reason: string, text: string) => {
    const found = await catalog.lines.find(filter).limit(1).toArray()
    return found.map(({ stamp }) => ({ stamp, reason, text }))
  }
  // Operations have no cycle. What rerating has changed is in the lines.
  const ofAccount = { aid, billrun: null, type: 'balance', operation: { $ne: RERATE } }
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

function invoiceOf(found: BillrunDocument | null): RerateInvoice | null {
  if (found?.invoice_id === undefined) return null
  const closed = found.billed === 1 ? 'confirmed' : 'not_for_bill'
  return { id: found.invoice_id, state: found.billed === undefined ? 'computed' : closed }
}

export const NO_AMOUNTS: RerateAmounts = { aprice: '0', final_charge: '0' }
export const NO_SUMS: RerateSums = { changed: 0, difference: NO_AMOUNTS, on_confirmed: NO_AMOUNTS }

/** Sums of these lines: those without a mark are on the invoice, if it is confirmed. */
export function sumsOf(
  changes: readonly RepricedLine[],
  invoice: AccountPrices['invoice'],
): RerateSums {
  const isInvoiced = ({ before }: RepricedLine) =>
    invoice?.state === 'confirmed' && (before as RecordedLine).uninvoiced === undefined
  return {
    changed: changes.length,
    difference: changes.map(differenceOf).reduce(sumOfAmounts, NO_AMOUNTS),
    on_confirmed: changes.filter(isInvoiced).map(differenceOf).reduce(sumOfAmounts, NO_AMOUNTS),
  }
}

export function sumOfSums(one: RerateSums, other: RerateSums): RerateSums {
  return {
    changed: one.changed + other.changed,
    difference: sumOfAmounts(one.difference, other.difference),
    on_confirmed: sumOfAmounts(one.on_confirmed, other.on_confirmed),
  }
}

export function differenceOf({ before, after }: RepricedLine): RerateAmounts {
  return amountsOf(after.exact, before.exact)
}

export function amountsOf(one: RerateAmounts, minus: RerateAmounts = NO_AMOUNTS): RerateAmounts {
  return {
    aprice: new Exact(one.aprice).minus(minus.aprice).toString(),
    final_charge: new Exact(one.final_charge).minus(minus.final_charge).toString(),
  }
}

function sumOfAmounts(one: RerateAmounts, other: RerateAmounts): RerateAmounts {
  return {
    aprice: new Exact(one.aprice).plus(other.aprice).toString(),
    final_charge: new Exact(one.final_charge).plus(other.final_charge).toString(),
  }
}
