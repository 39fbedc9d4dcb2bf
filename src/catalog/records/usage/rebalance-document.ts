/** Requests to rate the lines of an account and cycle again. */
import type { IndexDescription, ObjectId } from 'mongodb'

export interface RebalanceDocument {
  _id: ObjectId
  aid: number
  billrun_key: string
  /** A query of lines in addition to account and cycle, as JSON: its names begin with `$`. */
  conditions: string
  conditions_hash: string
  /** Identifies account, cycle and conditions; unique while the request waits. */
  stamp: string
  state: 'waiting'
  creation_date: Date
}

export const REBALANCE_INDEXES: readonly IndexDescription[] = [
  { key: { stamp: 1 }, unique: true },
  { key: { aid: 1, creation_date: 1 } },
]
