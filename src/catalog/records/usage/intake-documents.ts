/** Files of usage records, and records that were rejected (src/intake). */
import type { IndexDescription } from 'mongodb'

/** Usage of one type that was charged. */
export interface IntakeTotal {
  usaget: string
  records: number
  units: number
  /** Before tax. */
  price_micros: number
}

/** Numbers of data records. Their sum is `read`. */
export interface IntakeCounts {
  read: number
  charged: number
  /** Records that were charged before, by this file or another one. */
  duplicates: number
  /** Records that the filters of the file type exclude from charging. */
  filtered: number
  rejected: number
}

/** Where the next record begins (file-types/records/record-files.ts). */
export interface IntakePosition {
  offset: number
  line: number
  records: number
  hasTrailer: boolean
  sums?: string[]
  header?: { bytes: number | null; records: number | null }
}

export interface IntakeFileDocument extends IntakeCounts {
  /** Digest of name, file type and content. */
  _id: string
  name: string
  file_type: string
  size: number
  /** `failed`: the file contradicts its trailer or header, or is unreadable from some place on. */
  state: 'running' | 'done' | 'failed'
  /** Why it failed; empty otherwise. */
  error: string
  /** The process that works on it: one that finds another name stops. */
  owner: string
  /** The end of what is committed and counted. */
  position: IntakePosition
  /**
   * The records under way after the position: where they end, and the lines that were charged
   * before this file was. Null if no chunk is under way.
   */
  chunk: { end: number; duplicates: number[] } | null
  totals: IntakeTotal[]
  begun: Date
  updated: Date
}

export interface IntakeRejectedDocument {
  /** File and line. */
  _id: string
  file: string
  file_name: string
  file_type: string
  line: number
  /** The record as it is in the file, or as it was submitted last. */
  text: string
  /** The field that cannot be read, or `record`. */
  field: string
  reason: string
  /** `submitted`: its text is being charged, or a process has ended meanwhile. */
  state: 'waiting' | 'submitted' | 'corrected' | 'dropped'
  /** When the process that charges it was known to work on it (intake/record-claim.ts). */
  claimed?: Date
  created: Date
  updated: Date
}

export const INTAKE_FILE_INDEXES: readonly IndexDescription[] = [{ key: { begun: -1 } }]

export const INTAKE_REJECTED_INDEXES: readonly IndexDescription[] = [
  { key: { file: 1, line: 1 } },
  { key: { state: 1, created: -1 } },
]
