/** Long work that goes on where it was cut off, and shows how far it is (admin/jobs). */
import type { IndexDescription, ObjectId } from 'mongodb'
import type { ProcessIdentity } from '../../runtime/process-identity.ts'
import type { Actor } from '../actor.ts'

export interface JobDocument {
  _id: ObjectId
  kind: 'erase' | 'retention' | 'syslog'
  /** What it is about: `subscribers/17`, `lines`. */
  subject: string
  /** Kind and subject, while it is not done: there is one such job at a time. */
  active?: string
  /** `waiting`: goes on at `due`, by itself. */
  state: 'queued' | 'running' | 'waiting' | 'done'
  /** What it does now, or did last. */
  step: string
  /** Documents by what was done to them. */
  counts: Record<string, number>
  options: Record<string, unknown>
  actor: Actor
  /** Of the last attempt; empty: there was none. */
  error: string
  due: Date
  /** Another one with each process that works on it. */
  token: string
  holder: ProcessIdentity | null
  /** Who holds it longer without any progress may be overtaken. */
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
