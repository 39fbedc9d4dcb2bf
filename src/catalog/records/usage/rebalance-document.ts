/** Requests to rate the lines of an account and cycle again. */
import type { IndexDescription, ObjectId } from 'mongodb'

export interface RebalanceDocument {
  _id: ObjectId
  aid: number
  billrun_key: string
  /** A query of lines in addition to account and cycle, as JSON: its names begin with `$`. */
  conditions: string
  conditions_hash: string
  /** Identifies account, cycle and conditions; followed by the id of a request that has ended. */
  stamp: string
  state: 'waiting' | 'done' | 'failed'
  /** Why it has failed; empty if it has not. */
  reason?: string
  creation_date: Date
  ended?: Date
}

export const REBALANCE_INDEXES: readonly IndexDescription[] = [
  { key: { stamp: 1 }, unique: true },
  { key: { aid: 1, creation_date: 1 } },
]
