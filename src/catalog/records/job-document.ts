/** Long-running jobs, which resume after an interruption and report progress (jobs). */
import type { IndexDescription, ObjectId } from 'mongodb'
import type { ProcessIdentity } from '../../runtime/process-identity.ts'
import type { Actor } from '../actor.ts'

export interface JobDocument {
  _id: ObjectId
  kind:
    | 'erase'
    | 'retention'
    | 'syslog'
    | 'charge'
    | 'payments'
    | 'cycle'
    | 'confirm'
    | 'autorenew'
    | 'cards'
    | 'report'
    | 'overdue'
    | 'fraud'
    | 'digest'
  /** Subject of the job: `subscribers/17`, `lines`. */
  subject: string
  /** Kind and subject while the job is not done; unique, so there is one such job at a time. */
  active?: string
  /** `waiting`: continues at `due`. */
  state: 'queued' | 'running' | 'waiting' | 'done'
  /** Current or last step. */
  step: string
  /** How far a standing job has come, by what it follows. */
  position?: Readonly<Record<string, Date>>
  /** Number of documents by what was done to them. */
  counts: Record<string, number>
  options: Record<string, unknown>
  actor: Actor
  /** Error of the last attempt; empty if it did not fail. */
  error: string
  due: Date
  /** Unique per process that works on the job. */
  token: string
  holder: ProcessIdentity | null
  /** A holder without progress until then may be replaced by another process. */
  expires: Date
  created: Date
  changed: Date
  ended: Date | null
}

export const JOB_INDEXES: readonly IndexDescription[] = [
  { key: { active: 1 }, unique: true, partialFilterExpression: { active: { $gt: '' } } },
  { key: { state: 1, due: 1 } },
  { key: { ended: 1 } },
]
