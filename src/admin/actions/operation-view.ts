/** Long operations in one form, whatever runs them: jobs, billing cycles, imports, the queue. */
import {
  choice,
  closed,
  constant,
  customFields,
  either,
  integer,
  mapOf,
  orNull,
  text,
  type ValueOf,
} from '../../catalog/entities/json-schema.ts'
import type { ImportProgressDocument } from '../../catalog/records/import-document.ts'
import type { JobDocument } from '../../catalog/records/job-document.ts'
import type { CycleRunDocument } from '../../catalog/records/money/cycle-documents.ts'
import type { RebalanceDocument } from '../../catalog/records/usage/rebalance-document.ts'
import type { Fields } from '../../domain/fields.ts'
import { dateText } from '../../entities/views.ts'
import type { ActionCall } from './action.ts'

const COUNTS = mapOf(integer('Their number.'), 'Numbers by result.')

export const OPERATION = closed('An operation.', {
  action: text('Kind of operation.'),
  filtration: either(
    'What it works on.',
    text('A job: its subject.'),
    closed(
      'A run of a cycle.',
      { billrun_key: text('Key of the cycle.'), invoicing_day: integer('The invoicing day.') },
      ['invoicing_day'],
    ),
    closed('An import.', {
      collection: text('Name of the collection.'),
      operation: text('`create` or `permanentchange`.'),
      import_id: text('Id of the import.'),
    }),
    closed('Lines.', {
      aid: integer('The account.'),
      billrun_key: text('Key of the cycle.'),
      conditions: customFields('Conditions on the lines.'),
    }),
  ),
  state: choice(
    ['waiting', 'running', 'paused', 'done'],
    '`waiting`: it will begin or continue later; `paused`: an operator has to continue it.',
  ),
  start_time: text('Begin.'),
  end_time: orNull(text('The time.'), 'End.'),
  details: either(
    'Its progress.',
    closed(
      'A job.',
      { step: text('Step.'), counts: COUNTS, error: text('Error of the last attempt.') },
      ['error'],
    ),
    closed(
      'A run of a cycle.',
      { total: integer('Accounts.'), counts: COUNTS, reason: text('Why it is paused.') },
      ['reason'],
    ),
    closed('An import.', {
      rows_total: integer('Rows.'),
      rows_done: integer('Rows that were processed.'),
      rows_failed: integer('Rows that were not imported.'),
    }),
    closed(
      'Lines.',
      { stamp: text('Identifies the request.'), reason: text('Why they were not rerated.') },
      ['reason'],
    ),
  ),
})

export const QUEUED_LINES = closed('A request in the queue.', {
  aid: integer('The account.'),
  billrun_key: text('Key of the cycle.'),
  conditions: customFields('Conditions on the lines.'),
  conditions_hash: text('Digest of the conditions.'),
  stamp: text('Identifies the request.'),
  state: constant('waiting', 'State.'),
  creation_date: text('When it was queued.'),
})

type OperationView = ValueOf<typeof OPERATION>

export interface LongOperation
  extends Pick<OperationView, 'action' | 'filtration' | 'state' | 'details'> {
  readonly start: Date
  readonly end: Date | null
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
    details: { total, counts: { ...counts }, ...(reason !== '' && { reason }) },
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
  const { reason = '', ended = null } = queued
  return {
    action: 'resetlines',
    filtration: { aid, billrun_key, conditions: JSON.parse(conditions) as Fields },
    state: state === 'waiting' ? state : 'done',
    start: creation_date,
    end: ended,
    details: { stamp: stamp.replace(/\/.*/, ''), ...(reason !== '' && { reason }) },
  }
}

export function operationView(operation: LongOperation, { config }: ActionCall): OperationView {
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

export function rebalanceView(
  queued: RebalanceDocument,
  { config }: ActionCall,
): ValueOf<typeof QUEUED_LINES> {
  const { aid, billrun_key, conditions, conditions_hash, stamp, creation_date } = queued
  return {
    aid,
    billrun_key,
    conditions: JSON.parse(conditions) as Fields,
    conditions_hash,
    stamp,
    state: 'waiting',
    creation_date: dateText(creation_date.getTime(), config.rating.timeZone),
  }
}
