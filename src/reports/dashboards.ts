/**
 * Dashboards: figures by billing cycle, from a year ago to the last confirmed cycle. Amounts are
 * exact decimals.
 */
import { calendarOf } from '../billing/credit/credits.ts'
import { keyAfter, keyEndMs } from '../billing/cycle/cycle-key.ts'
import type { UnguardedCollection } from '../catalog/collections.ts'
import type { Catalog } from '../catalog/connection.ts'
import { Exact } from '../catalog/records/money/exact-amount.ts'
import type { Config } from '../config/schema.ts'
import type { Fields } from '../domain/fields.ts'
import { lastConfirmedKey } from '../entities/rules/minimum-date.ts'
import { jsonValue } from './row-values.ts'

export interface DashboardCall {
  readonly catalog: Catalog
  /** The connection for reports. */
  readonly reader: Catalog
  readonly config: Config
  readonly nowMs: number
  readonly signal?: AbortSignal | undefined
}

/** The cycles of a dashboard. */
interface Window {
  /** Keys, the oldest first; at most 12. */
  readonly keys: readonly string[]
  readonly last: string
  readonly previous: string
}

type Dashboard = (call: DashboardCall, window: Window) => Promise<Fields[]>

const MONTHS = 12
const PLANS_SHOWN = 8

const BY_NAME: Readonly<Record<string, Dashboard>> = {
  totalRevenue: revenue,
  revenueOverTime: revenue,
  outstandingDebt: debt,
  debtOverTime: debt,
  totalNumOfCustomers: customers,
  customerStateDistribution: customerStates,
  planByCustomers,
  revenueByPlan,
  agingDebt,
}

/** By name; each answers its rows, none without a confirmed cycle. */
export const DASHBOARDS: Readonly<Record<string, (call: DashboardCall) => Promise<Fields[]>>> =
  Object.fromEntries(
    Object.entries(BY_NAME).map(([name, dashboard]) => [
      name,
      (call) => dashboardView(dashboard, call),
    ]),
  )

async function dashboardView(dashboard: Dashboard, call: DashboardCall): Promise<Fields[]> {
  const last = await lastConfirmedKey(call.catalog)
  if (last === null) return []
  const keys = Array.from({ length: MONTHS }, (_, index) => keyAfter(last, index + 1 - MONTHS))
  const rows = await dashboard(call, { keys, last, previous: keyAfter(last, -1) })
  const { timeZone } = call.config.rating
  return rows.map((row) => jsonValue(row, timeZone) as Fields)
}

type Collection = 'bills' | 'billrun' | 'lines'

/** Documents with a group in `_id`. */
async function grouped(
  { reader, config, signal }: DashboardCall,
  collection: Collection,
  pipeline: Fields[],
): Promise<Fields[]> {
  const documents = reader.unguarded[collection] as unknown as UnguardedCollection
  const limitMs = config.reports.timeoutMs
  const found: Fields[] = []
  const batches = reader.readBatches<Fields>(
    `dashboard of ${collection}`,
    (limits) => documents.aggregate<Fields>(pipeline, { ...limits, allowDiskUse: true }),
    { signal, limitMs },
  )
  for await (const batch of batches) found.push(...batch)
  return found
}

const decimal = (input: string) => ({
  $sum: { $convert: { input, to: 'decimal', onError: null, onNull: null } },
})

function exact(value: unknown): Exact {
  return value === undefined || value === null ? new Exact(0) : new Exact(String(value))
}

/** Invoiced amounts of each cycle. */
async function revenue(call: DashboardCall, { keys }: Window): Promise<Fields[]> {
  const found = await grouped(call, 'bills', [
    { $match: { type: 'inv', billrun_key: { $in: keys } } },
    { $group: { _id: '$billrun_key', due: decimal('$due') } },
    { $sort: { _id: 1 } },
  ])
  return found.map(({ _id, due }) => ({ billrun_key: _id, due: exact(due) }))
}

/** The debt of all customers at the end of each cycle: invoices less payments until then. */
async function debt(call: DashboardCall, { keys }: Window): Promise<Fields[]> {
  const calendar = calendarOf(call.config)
  const ends = keys.map((key) => new Date(keyEndMs(key, calendar)))
  const until = ends.map((end) => ({ $cond: [{ $lt: ['$urt', end] }, 1, 0] }))
  // The number of cycles at whose end the bill existed.
  const found = await grouped(call, 'bills', [
    { $match: { urt: { $lt: ends.at(-1) } } },
    { $group: { _id: { $add: until }, due: decimal('$due') } },
  ])
  const bySpan = new Map(found.map(({ _id, due }) => [Number(_id), exact(due)]))
  return keys.map((key, index) => {
    const spans = [...bySpan].filter(([span]) => span >= keys.length - index)
    return { billrun_key: key, due: spans.reduce((sum, [, due]) => sum.plus(due), exact(0)) }
  })
}

/** Unpaid parts of the invoices of each cycle. */
async function agingDebt(call: DashboardCall, { keys }: Window): Promise<Fields[]> {
  const found = await grouped(call, 'bills', [
    { $match: { type: 'inv', billrun_key: { $in: keys }, paid: { $ne: '1' } } },
    { $group: { _id: '$billrun_key', left: decimal('$left_to_pay') } },
    { $sort: { _id: 1 } },
  ])
  return found.map(({ _id, left }) => ({ billrun_key: _id, left_to_pay: exact(left) }))
}

/** Accounts with an invoice in each cycle. */
async function customers(call: DashboardCall, { keys }: Window): Promise<Fields[]> {
  const found = await grouped(call, 'billrun', [
    { $match: { billrun_key: { $in: keys } } },
    { $group: { _id: '$billrun_key', customers_num: { $sum: 1 } } },
    { $sort: { _id: 1 } },
  ])
  return found.map(({ _id, customers_num }) => ({ billrun_key: _id, customers_num }))
}

const STATES = ['existing', 'new', 'churn'] as const

/** Accounts of the last cycle and of the one before: of both, only of the last, of the other. */
async function customerStates(call: DashboardCall, { last, previous }: Window): Promise<Fields[]> {
  const isIn = (key: string) => ({
    $max: { $cond: [{ $eq: ['$billrun_key', key] }, 1, 0] },
  })
  const found = await grouped(call, 'billrun', [
    { $match: { billrun_key: { $in: [last, previous] } } },
    { $group: { _id: '$aid', last: isIn(last), previous: isIn(previous) } },
    { $group: { _id: { last: '$last', previous: '$previous' }, customers_num: { $sum: 1 } } },
  ])
  const counts = new Map(
    found.map(({ _id, customers_num }) => {
      const { last: isLast, previous: isPrevious } = _id as Fields
      const state = isLast !== 1 ? 'churn' : isPrevious === 1 ? 'existing' : 'new'
      return [state, customers_num]
    }),
  )
  return STATES.map((state) => ({ state, customers_num: counts.get(state) ?? 0 }))
}

/** Subscribers with a plan in the last cycle, and in the one before. */
async function planByCustomers(call: DashboardCall, { last, previous }: Window): Promise<Fields[]> {
  const found = await grouped(call, 'billrun', [
    { $match: { billrun_key: { $in: [last, previous] } } },
    { $project: { billrun_key: 1, 'subs.plan': 1 } },
    { $unwind: '$subs' },
    { $group: { _id: { plan: '$subs.plan', key: '$billrun_key' }, amount: { $sum: 1 } } },
  ])
  return byPlan(found, last)
}

/** Prices before tax by plan, the largest first; the rest is one row. */
async function revenueByPlan(call: DashboardCall, { last, previous }: Window): Promise<Fields[]> {
  const found = await grouped(call, 'billrun', [
    { $match: { billrun_key: { $in: [last, previous] } } },
    { $project: { billrun_key: 1, 'subs.plan': 1, 'subs.totals.exact.before_vat': 1 } },
    { $unwind: '$subs' },
    {
      $group: {
        _id: { plan: '$subs.plan', key: '$billrun_key' },
        amount: decimal('$subs.totals.exact.before_vat'),
      },
    },
  ])
  const rows = byPlan(found, last)
  const others = rows.slice(PLANS_SHOWN)
  if (others.length === 0) return rows
  const sum = (name: 'amount' | 'prev_amount') =>
    others.reduce((total, row) => total.plus(row[name]), exact(0))
  const rest = { plan: 'others', amount: sum('amount'), prev_amount: sum('prev_amount') }
  return [...rows.slice(0, PLANS_SHOWN), rest]
}

interface PlanRow extends Fields {
  readonly plan: string
  readonly amount: Exact
  readonly prev_amount: Exact
}

function byPlan(found: readonly Fields[], last: string): PlanRow[] {
  const rows = new Map<string, PlanRow>()
  for (const { _id, amount } of found) {
    const { plan, key } = _id as Fields
    // The account itself has no plan.
    if (typeof plan !== 'string' || plan === '') continue
    const row = rows.get(plan) ?? { plan, amount: exact(0), prev_amount: exact(0) }
    const name = key === last ? 'amount' : 'prev_amount'
    rows.set(plan, { ...row, [name]: row[name].plus(exact(amount)) })
  }
  return [...rows.values()].sort(
    (a, b) =>
      b.amount.cmp(a.amount) || b.prev_amount.cmp(a.prev_amount) || (a.plan < b.plan ? -1 : 1),
  )
}
