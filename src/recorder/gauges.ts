/** Reads from Redis, once a second, what no process can count by itself. */
import type { Ledger } from '../ledger/ledger.ts'
import { openSessions, streamBacklog } from '../ledger/streams.ts'
import type { Metrics } from '../runtime/metrics.ts'

const REFRESH_MS = 1_000

export interface Gauges {
  stop(): void
}

export function startGauges(
  ledger: Ledger,
  metrics: Pick<Metrics, 'streamBacklog' | 'openSessions'>,
): Gauges {
  const refresh = async () => {
    if (!ledger.redis.isReady()) return
    const [backlog, open] = await Promise.all([streamBacklog(ledger), openSessions(ledger)])
    metrics.streamBacklog(backlog)
    metrics.openSessions(open)
  }
  // Redis may go at any moment: the last figures stay, and whoever needs it more tells of it.
  const timer = setInterval(() => refresh().catch(() => undefined), REFRESH_MS)
  timer.unref()
  return { stop: () => clearInterval(timer) }
}
