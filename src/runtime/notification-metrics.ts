/** Metrics of notifications of events. */
import { Counter, Gauge, type Registry } from 'prom-client'

export interface NotificationMetrics {
  /** Counts attempts that were `delivered` or `failed`, and events that ended otherwise. */
  notifications(
    host: string,
    outcome: 'delivered' | 'failed' | 'dead' | 'unaddressed',
    count: number,
  ): void
  receiverCircuit(host: string, state: keyof typeof CIRCUITS): void
  /** Sets the number of pending events and the age of the oldest one in seconds. */
  pendingNotifications(count: number, oldestSeconds: number): void
  /** Counts digests by address, sent or not. */
  digests(outcome: 'sent' | 'failed' | 'refused', count: number): void
}

const CIRCUITS = { closed: 0, 'half-open': 1, open: 2 } as const
/** Further receivers are `other`: the number of time series is bounded. */
const HOSTS_MAX = 50

export function createNotificationMetrics(registers: Registry[]): NotificationMetrics {
  const outcomes = new Counter({
    name: 'tollgate_notifications_total',
    help: 'Attempts to send events by outcome, and events that are dead or have no receiver',
    labelNames: ['receiver', 'outcome'] as const,
    registers,
  })
  const circuit = new Gauge({
    name: 'tollgate_notification_circuit',
    help: 'Circuit of a receiver of events: 0 closed, 1 probing, 2 open (not called)',
    labelNames: ['receiver'] as const,
    registers,
  })
  const gauge = (name: string, help: string) => new Gauge({ name, help, registers })
  const pending = gauge('tollgate_notifications_pending', 'Events to be sent; counted up to 10000')
  const oldest = gauge(
    'tollgate_notifications_oldest_pending_seconds',
    'Age of the oldest event that is to be sent',
  )
  const digests = new Counter({
    name: 'tollgate_event_digests_total',
    help: 'E-mails with events, by outcome',
    labelNames: ['outcome'] as const,
    registers,
  })
  const hosts = new Set<string>()
  const labelOf = (host: string): string => {
    if (hosts.has(host)) return host
    if (hosts.size >= HOSTS_MAX) return 'other'
    hosts.add(host)
    return host
  }
  return {
    notifications(host, outcome, count) {
      if (count > 0) outcomes.inc({ receiver: labelOf(host), outcome }, count)
    },
    receiverCircuit: (host, state) => circuit.set({ receiver: labelOf(host) }, CIRCUITS[state]),
    pendingNotifications(count, oldestSeconds) {
      pending.set(count)
      oldest.set(oldestSeconds)
    },
    digests: (outcome, count) => digests.inc({ outcome }, count),
  }
}
