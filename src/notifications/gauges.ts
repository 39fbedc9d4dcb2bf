/** Gauges of pending events, read from MongoDB. */
import type { Catalog } from '../catalog/connection.ts'
import type { Clock } from '../runtime/clock.ts'
import type { NotificationMetrics } from '../runtime/notification-metrics.ts'

const REFRESH_MS = 10_000
/** More are not counted: counting has to stay cheap. */
const COUNTED_MAX = 10_000

export interface GaugeParts {
  readonly catalog: Catalog
  readonly metrics: Pick<NotificationMetrics, 'pendingNotifications'>
  readonly clock: Clock
}

export function startNotificationGauges(parts: GaugeParts): { stop(): void } {
  // If MongoDB is unavailable the last values stay; the outage is reported elsewhere.
  const attempt = () => refreshNotificationGauges(parts).catch(() => undefined)
  void attempt()
  const timer = setInterval(attempt, REFRESH_MS)
  timer.unref()
  return { stop: () => clearInterval(timer) }
}

export async function refreshNotificationGauges(parts: GaugeParts): Promise<void> {
  const { catalog, metrics, clock } = parts
  const pending = { 'delivery.state': 'pending' } as const
  const [count, [oldest]] = await catalog.run('count pending events', () =>
    Promise.all([
      catalog.events.countDocuments(pending, { limit: COUNTED_MAX }),
      catalog.events
        .find(pending, { projection: { creation_time: 1 } })
        .sort({ creation_time: 1 })
        .limit(1)
        .toArray(),
    ]),
  )
  const ageMs = oldest === undefined ? 0 : clock.nowMs() - oldest.creation_time.getTime()
  metrics.pendingNotifications(count, Math.max(0, ageMs) / 1000)
}
