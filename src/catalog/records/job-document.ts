/** Long-running jobs, which resume after an interruption and report progress (jobs). */
import type { IndexDescription, ObjectId } from 'mongodb'
import type { ProcessIdentity } from '../../runtime/process-identity.ts'
import type { Actor } from '../actor.ts'
import {
  choice,
  date,
  integer,
  mapOf,
  orNull,
  type StoredOf,
  searchable,
  text,
} from '../entities/json-schema.ts'

/** Fields that the API returns. */
export const JOB = {
  kind: searchable(
    choice(
      [
        'erase',
        'retention',
        'syslog',
        'charge',
        'payments',
        'cycle',
        'confirm',
        'autorenew',
        'cards',
        'report',
        'overdue',
        'fraud',
        'digest',
        'export',
        'rerate',
        'kafka',
      ],
      'Kind of job.',
    ),
  ),
  subject: searchable(text('Subject of the job: `subscribers/17`, `lines`.')),
  state: searchable(
    choice(['queued', 'running', 'waiting', 'done'], '`waiting`: continues when it is `due`.'),
  ),
  step: text('Current or last step.'),
  position: mapOf(date('Until then.'), 'How far a standing job has come, by what it follows.'),
  counts: mapOf(integer('Documents.'), 'Number of documents by what was done to them.'),
  error: text('Error of the last attempt; empty if it did not fail.'),
  due: date('Time when it starts or continues.'),
  created: searchable(date('Time of the request.')),
  changed: date('Time of the last update.'),
  ended: orNull(date('The time.'), 'Time of completion; null before.'),
} as const

export interface JobDocument extends StoredOf<typeof JOB, 'position'> {
  _id: ObjectId
  /** Kind and subject while the job is not done; unique, so there is one such job at a time. */
  active?: string
  counts: Record<string, number>
  /** More work was added since it was claimed last. */
  again?: boolean
  options: Record<string, unknown>
  actor: Actor
  /** Unique per process that works on the job. */
  token: string
  holder: ProcessIdentity | null
  /** A holder without progress until then may be replaced by another process. */
  expires: Date
}

export const JOB_INDEXES: readonly IndexDescription[] = [
  { key: { active: 1 }, unique: true, partialFilterExpression: { active: { $gt: '' } } },
  { key: { state: 1, due: 1 } },
  { key: { ended: 1 } },
]
