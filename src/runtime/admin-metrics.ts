/** Metrics of the admin port, and of records that its jobs remove or pass on. */
import { Counter, Gauge, type Registry } from 'prom-client'

export function createAdminMetrics(registers: Registry[]) {
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
  const auditRecords = new Counter({
    name: 'tollgate_audit_sent_total',
    help: 'Audit records sent to the syslog receiver, repeated ones too',
    registers,
  })
  const secrets = new Counter({
    name: 'tollgate_card_secrets_refused_total',
    help: 'Secrets of prepaid cards that were wrong, or refused by a limit on wrong ones',
    labelNames: ['reason'] as const,
    registers,
  })
  const files = new Counter({
    name: 'tollgate_exported_files_total',
    help: 'Files of lines that were exported',
    registers,
  })
  const lines = new Counter({
    name: 'tollgate_exported_lines_total',
    help: 'Lines in files that were exported',
    registers,
  })
  const until = new Gauge({
    name: 'tollgate_exported_until_seconds',
    help: 'Until when lines were exported, by the time of their insertion, in seconds since 1970',
    registers,
  })
  return {
    ...createStreamMetrics(registers),
    linesExported(count: { files: number; lines: number }) {
      files.inc(count.files)
      lines.inc(count.lines)
    },
    exportedUntil: (atMs: number) => until.set(atMs / 1000),
    cardSecretRefused: (reason: 'wrong' | 'limit') => secrets.inc({ reason }),
    auditSent: (count: number) => auditRecords.inc(count),
    retentionRemoved: (collection: string, count: number) => removed.inc({ collection }, count),
    retentionEnded: (collection: string, atMs: number) => ended.set({ collection }, atMs / 1000),
  }
}

/** Lines that are sent as a stream. */
function createStreamMetrics(registers: Registry[]) {
  const sent = new Counter({
    name: 'tollgate_kafka_lines_total',
    help: 'Lines that Kafka has acknowledged, repeated ones too',
    registers,
  })
  const failures = new Counter({
    name: 'tollgate_kafka_failures_total',
    help: 'Attempts to send lines to Kafka that have failed',
    registers,
  })
  const unsent = new Gauge({
    name: 'tollgate_kafka_waiting_lines',
    help: 'Recorded lines that wait for Kafka',
    registers,
  })
  const unsentAge = new Gauge({
    name: 'tollgate_kafka_oldest_waiting_seconds',
    help: 'Age of the recorded line that has waited longest for Kafka',
    registers,
  })
  return {
    linesUnsent(count: number, ageSeconds: number) {
      unsent.set(count)
      unsentAge.set(ageSeconds)
    },
    linesSent: (count: number) => sent.inc(count),
    sendingFailed: () => failures.inc(),
  }
}
