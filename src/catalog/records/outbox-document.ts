/** Documents of the outbox: work in other stores that follows from a committed transaction. */
import type { IndexDescription, ObjectId } from 'mongodb'
import type { ProcessIdentity } from '../../runtime/process-identity.ts'

export interface OutboxDocument {
  _id: ObjectId
  /** In the order of the commits. */
  number: number
  kind: string
  /** Input of the handler, as BSON. */
  payload: unknown
  /** Entries with the same subject are executed in order; null for those without an order. */
  subject: string | null
  /** Executed beside the others, which do not wait for it. */
  isSlow: boolean
  /** The process that executes it; null if none does. */
  holder: ProcessIdentity | null
  /** From then on, any process may claim it; earlier if the holder has ended. */
  expires: Date
  /** Failed executions, other than outages of a store. */
  failures: number
  /** The message of the last failure. */
  error: string | null
}

export const OUTBOX_INDEXES: readonly IndexDescription[] = [
  { key: { isSlow: 1, number: 1 } },
  { key: { subject: 1, number: 1 } },
]
