/** How far the export of lines has come, and the lines that it has passed but not exported. */
import type { AnyBulkWriteOperation, IndexDescription, ObjectId } from 'mongodb'

/** The content of a file that may be in its place: a repetition writes the same file. */
export interface PlannedExport {
  readonly tag: string
  /** The last line of the collection that the file takes into account. */
  readonly to: ObjectId
  /** A repetition keeps the format, and so the name of the file, when settings have changed. */
  readonly format: 'csv' | 'jsonl'
  readonly gzip: boolean
}

/** The single document of the collection. */
export interface ExportDocument {
  _id: 'lines'
  /** Number of the last complete file. */
  seq: number
  /** Lines up to this id were exported, or wait. */
  after: ObjectId
  planned: PlannedExport | null
  /** Waiting lines with this tag are in a complete file. */
  done: string
  /** Time of MongoDB when it was last asked for. */
  looked?: Date
}

/** A line that will be exported, wherever its id is. */
export interface ExportWaitingDocument {
  /** Stamp of the line. */
  _id: string
  /** That of the file that exports it. */
  tag?: string
}

/**
 * A line that the stream of lines (Kafka) has not sent in this version, or a higher one. The first
 * that waits has the lowest id.
 */
export interface ExportStreamDocument {
  _id: ObjectId
  stamp: string
  v: number
}

export const EXPORT_STREAM_INDEXES: readonly IndexDescription[] = [
  { key: { stamp: 1 }, unique: true },
]

export const EXPORT_WAITING_INDEXES: readonly IndexDescription[] = [{ key: { tag: 1 } }]

/**
 * Has a line exported again: to be written after the line, by everything that changes what a line
 * of a finished segment charges. A file that is being written has either version.
 */
export function exportAgain(stamp: string): AnyBulkWriteOperation<ExportWaitingDocument> {
  return { updateOne: { filter: { _id: stamp }, update: { $unset: { tag: '' } }, upsert: true } }
}
