/** How far an import of the entity API has come, so that it can go on where it was cut off. */
import type { ProcessIdentity } from '../../runtime/process-identity.ts'

export type ImportDocument = ImportProgressDocument | ImportFailuresDocument

/** One for each import. */
export interface ImportProgressDocument {
  /** Id of the import. */
  _id: string
  kind: 'progress'
  collection: string
  operation: string
  /** Of the file and of the settings: only the same import goes on. */
  checksum: string
  file_name: string
  /** `stopped`: it can go on. */
  state: 'running' | 'stopped' | 'done'
  /** Rows of the file. */
  rows_total: number
  /** What is written together: a row, or the lines of one rate. So many of them are done. */
  units_done: number
  /** Rows in those. */
  rows_done: number
  rows_failed: number
  /** Another one with each process that works on it. */
  token: string
  holder: ProcessIdentity
  /** Who holds it longer without any progress may be overtaken. */
  expires: Date
  started: Date
  changed: Date
}

/** Rows of one batch that failed; its id is that of the import, `/`, and the first unit. */
export interface ImportFailuresDocument {
  _id: string
  kind: 'failures'
  failures: { row: string; text: string }[]
}
