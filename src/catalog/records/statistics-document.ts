/** Statistics that clients of the deprecated action API keep here. */
import type { IndexDescription, ObjectId } from 'mongodb'

export interface StatisticsDocument {
  _id: ObjectId
  creation_date: Date
  /** As it was sent. */
  statistics: Readonly<Record<string, unknown>>
}

export const STATISTICS_INDEXES: readonly IndexDescription[] = [{ key: { creation_date: 1 } }]
