/** Progress of an import of the entity API, so that it can be resumed. */
import type { ProcessIdentity } from '../../runtime/process-identity.ts'

export type ImportDocument = ImportProgressDocument | ImportFailuresDocument

/** One per import. */
export interface ImportProgressDocument {
  /** Id of the import. */
  _id: string
  kind: 'progress'
  collection: string
  operation: string
  /** Hash of the file and the settings; only an identical import is resumed. */
  checksum: string
  file_name: string
  /** `stopped`: can be resumed. */
  state: 'running' | 'stopped' | 'done'
  /** Number of rows in the file. */
  rows_total: number
  /** Number of completed units. A unit is written as a whole: a row, or the lines of one rate. */
  units_done: number
  /** Number of rows in the completed units. */
  rows_done: number
  rows_failed: number
  /** Unique per process that works on the import. */
  token: string
  holder: ProcessIdentity
  /** A holder without progress until then may be replaced by another process. */
  expires: Date
  started: Date
  changed: Date
}

/** Failed rows of one batch; the id is the import id, `/`, and the first unit. */
export interface ImportFailuresDocument {
  _id: string
  kind: 'failures'
  failures: { row: string; text: string }[]
}
