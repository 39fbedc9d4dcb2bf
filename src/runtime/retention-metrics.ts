/** Metrics of records that are removed, or passed on, by age. */
import { Counter, Gauge, type Registry } from 'prom-client'

export function createRetentionMetrics(registers: Registry[]) {
  const labelNames = ['collection'] as const
  const removed = new Counter({
    name: 'tollgate_retention_removed_total',
    help: 'Documents removed because they were older than the settings keep them',
    labelNames,
    registers,
  })
  const ended = new Gauge({
    name: 'tollgate_retention_ended_seconds',
    help: 'When the last run of retention came to its end, in seconds since 1970',
    labelNames,
    registers,
  })
  const sent = new Counter({
    name: 'tollgate_audit_sent_total',
    help: 'Audit records sent to the syslog receiver, repeated ones too',
    registers,
  })
  return {
    auditSent: (count: number) => sent.inc(count),
    retentionRemoved: (collection: string, count: number) => removed.inc({ collection }, count),
    retentionEnded: (collection: string, atMs: number) => ended.set({ collection }, atMs / 1000),
  }
}
