import type { EntityCollection } from '../entities/entity-table.ts'
import type { ChainEnd } from './audit-document.ts'

/** Collections whose writes are numbered: entities, and the stored configuration. */
export type NumberedCollection = EntityCollection | 'config'

export interface HeadDocument {
  _id: 'head'
  /** Number of committed transactions. */
  version: number
  /** The newest audit record. */
  audit: ChainEnd
  /** The number of the newest write of each collection. */
  numbers: Record<NumberedCollection | 'outbox', number>
}
