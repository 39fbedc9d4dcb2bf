/** Reads from Redis, once a second, what no process can count by itself. */
import { backlogPercent, readBacklog } from '../ledger/backlog.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { openSessions, streamBacklog } from '../ledger/streams.ts'
import type { Metrics } from '../runtime/metrics.ts'

const REFRESH_MS = 1_000

export interface Gauges {
  stop(): void
}

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
  // Redis may go at any moment: the last figures stay, and whoever needs it more tells of it.
  const timer = setInterval(() => refresh().catch(() => undefined), REFRESH_MS)
  timer.unref()
  return { stop: () => clearInterval(timer) }
}
