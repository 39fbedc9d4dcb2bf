/** Long operations in one form, whatever runs them: jobs, billing cycles, imports, the queue. */
import type { ImportProgressDocument } from '../../catalog/records/import-document.ts'
import type { JobDocument } from '../../catalog/records/job-document.ts'
import type { CycleRunDocument } from '../../catalog/records/money/cycle-documents.ts'
import type { RebalanceDocument } from '../../catalog/records/usage/rebalance-document.ts'
import { dateText } from '../../entities/views.ts'
import type { ActionCall } from './action.ts'

/** An operation; `filtration` is what it works on. */
export interface LongOperation {
  readonly action: string
  readonly filtration: unknown
  /** `waiting`: it will begin or continue later; `paused`: an operator has to continue it. */
  readonly state: 'waiting' | 'running' | 'paused' | 'done'
  readonly start: Date
  readonly end: Date | null
  readonly details: Readonly<Record<string, unknown>>
}

export function jobOperation(job: JobDocument): LongOperation {
  const { kind, subject, state, step, counts, error, created, ended } = job
  return {
    action: kind,
    filtration: subject,
    state: state === 'queued' ? 'waiting' : state,
    start: created,
    end: ended,
    details: { step, counts, ...(error !== '' && { error }) },
  }
}

export function cycleOperation(run: CycleRunDocument): LongOperation {
  const { key, invoicing_day: day, state, reason, total, counts, started, ended } = run
  return {
    action: 'completecycle',
    filtration: { billrun_key: key, ...(day !== null && { invoicing_day: day }) },
    state: state === 'finished' ? 'done' : state,
    start: started,
    end: ended,
    details: { total, counts, ...(reason !== '' && { reason }) },
  }
}

export function importOperation(progress: ImportProgressDocument): LongOperation {
  const { _id, collection, operation, state, rows_total, rows_done, rows_failed } = progress
  return {
    action: 'import',
    filtration: { collection, operation, import_id: _id },
    state: state === 'stopped' ? 'paused' : state,
    start: progress.started,
    end: state === 'done' ? progress.changed : null,
    details: { rows_total, rows_done, rows_failed },
  }
}

export function rebalanceOperation(queued: RebalanceDocument): LongOperation {
  const { aid, billrun_key, conditions, stamp, state, creation_date } = queued
  return {
    action: 'resetlines',
    filtration: { aid, billrun_key, conditions: JSON.parse(conditions) as unknown },
    state,
    start: creation_date,
    end: null,
    details: { stamp },
  }
}

export function operationView(operation: LongOperation, { config }: ActionCall) {
  const { action, filtration, state, start, end, details } = operation
  const { timeZone } = config.rating
  return {
    action,
    filtration,
    state,
    start_time: dateText(start.getTime(), timeZone),
    end_time: end === null ? null : dateText(end.getTime(), timeZone),
    details,
  }
}

export function rebalanceView(queued: RebalanceDocument, { config }: ActionCall) {
  const { aid, billrun_key, conditions, conditions_hash, stamp, state, creation_date } = queued
  return {
    aid,
    billrun_key,
    conditions: JSON.parse(conditions) as unknown,
    conditions_hash,
    stamp,
    state,
    creation_date: dateText(creation_date.getTime(), config.rating.timeZone),
  }
}
