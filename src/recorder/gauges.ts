/** Periodic metrics that no process can count by itself, read from the stores. */
import type { Catalog } from '../catalog/connection.ts'
import { DEBT_BUCKET_ID } from '../catalog/records/balance-document.ts'
import { moneyOf } from '../catalog/records/money-value.ts'
import { backlogPercent, readBacklog } from '../ledger/backlog.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { openSessions, streamBacklog } from '../ledger/streams.ts'
import type { Metrics } from '../runtime/metrics.ts'

const REFRESH_MS = 1_000
/** Less often: it aggregates over all debtors. */
const DEBT_REFRESH_MS = 10_000

export interface Gauges {
  stop(): void
}

/** From Redis, once a second. */
export function startGauges(
  ledger: Ledger,
  metrics: Pick<Metrics, 'streamBacklog' | 'streamMemory' | 'openSessions'>,
): Gauges {
  const refresh = async () => {
    if (!ledger.redis.isReady()) return
    const [entries, memory, open] = await Promise.all([
      streamBacklog(ledger),
      readBacklog(ledger),
      openSessions(ledger),
    ])
    metrics.streamBacklog(entries)
    metrics.streamMemory(memory.streamBytes, backlogPercent(memory) / 100)
    metrics.openSessions(open)
  }
  // If Redis is unavailable the last values stay; the outage is reported elsewhere.
  const timer = setInterval(() => refresh().catch(() => undefined), REFRESH_MS)
  timer.unref()
  return { stop: () => clearInterval(timer) }
}

/** Debt for over-use, from the projection. */
export function startDebtGauges(catalog: Catalog, metrics: Pick<Metrics, 'debt'>): Gauges {
  const refresh = async () => {
    for (const [owner, sid] of DEBTORS) {
      const { micros, owners } = await debtWhere(catalog, { sid })
      metrics.debt(owner, moneyOf(micros), owners)
    }
  }
  const attempt = () => refresh().catch(() => undefined)
  void attempt()
  const timer = setInterval(attempt, DEBT_REFRESH_MS)
  timer.unref()
  return { stop: () => clearInterval(timer) }
}

const DEBTORS = [
  ['account', 0],
  ['subscriber', { $gt: 0 }],
] as const

/** Sum and number of outstanding debts. */
export async function debtWhere(
  catalog: Catalog,
  filter: object,
): Promise<{ micros: number; owners: number }> {
  const pipeline = [
    { $match: { bucket_id: DEBT_BUCKET_ID, spent: { $gt: 0 }, ...filter } },
    { $group: { _id: null, micros: { $sum: '$spent' }, owners: { $sum: 1 } } },
  ]
  const [sums] = await catalog.run('sum up debt', () =>
    catalog.balances.aggregate<{ micros: number; owners: number }>(pipeline).toArray(),
  )
  return sums ?? { micros: 0, owners: 0 }
}
