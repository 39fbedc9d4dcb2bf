/** Metrics of the sources of usage records. */
import { Counter, Gauge, type Registry } from 'prom-client'

/** `error`: it could not be taken, and waits. */
export type FileResult = 'done' | 'failed' | 'repeated' | 'error'

export interface IntakeMetrics {
  intakeFile(source: string, result: FileResult): void
  intakeRecords(
    source: string,
    result: 'charged' | 'duplicates' | 'filtered' | 'rejected',
    count: number,
  ): void
  /** Sets the number of files that wait, and the age of the oldest one in seconds. */
  waitingFiles(source: string, count: number, oldestSeconds: number): void
  sourceFailing(source: string, isFailing: boolean): void
}

export function createIntakeMetrics(registers: Registry[]): IntakeMetrics {
  const labelNames = ['source', 'result'] as const
  const files = new Counter({
    name: 'tollgate_intake_files_total',
    help: 'Files of usage records by result; those with result error wait',
    labelNames,
    registers,
  })
  const records = new Counter({
    name: 'tollgate_intake_records_total',
    help: 'Usage records of files by result',
    labelNames,
    registers,
  })
  const gauge = (name: string, help: string) =>
    new Gauge({ name, help, labelNames: ['source'] as const, registers })
  const waiting = gauge('tollgate_intake_waiting_files', 'Files of a source that wait')
  const oldest = gauge(
    'tollgate_intake_oldest_waiting_seconds',
    'Age of the oldest file of a source that waits',
  )
  const failing = gauge(
    'tollgate_intake_source_failing',
    '1 while files of a source cannot be listed or read',
  )
  return {
    intakeFile: (source, result) => files.inc({ source, result }),
    intakeRecords(source, result, count) {
      if (count > 0) records.inc({ source, result }, count)
    },
    waitingFiles(source, count, oldestSeconds) {
      waiting.set({ source }, count)
      oldest.set({ source }, oldestSeconds)
    },
    sourceFailing: (source, isFailing) => failing.set({ source }, isFailing ? 1 : 0),
  }
}
