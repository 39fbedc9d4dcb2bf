/** Files of usage records (`type: usage`). Pure: bytes are pushed in, records come out. */
import { createHash } from 'node:crypto'
import type { FieldProblem, MapContext, MappedRequest, Message, RatedFormat } from '../file-type.ts'
import type { BerFileHeader } from './ber-framing.ts'
import type { BerParser } from './ber-parser.ts'
import type { LineParser } from './syntax.ts'

/** Context for mapping a record. */
export interface RecordContext
  extends Pick<MapContext, 'origin' | 'nowMs' | 'eventFutureMsMax' | 'bodyDigest'> {}

/** A file type that describes records in files, in place of messages. */
export interface RecordFileType extends RatedFormat {
  readonly type: 'usage'
  readonly parser: LineParser | BerParser
  /**
   * Maps a record to a request of kind `event` whose services have `used` and request nothing.
   * Its session id is the digest of what identifies the record. Never throws.
   */
  readonly map: (message: Message, context: RecordContext) => MappedRequest | FieldProblem
}

/** `bodyDigest` of a record: the same text in another file is the same record. */
export function digestOf({ text }: Pick<FileRecord, 'text'>): string {
  return createHash('sha256').update(text).digest('hex')
}

/** A place between two records of a file; all values are needed to resume there. */
export interface RecordPosition {
  /** Bytes before it. */
  offset: number
  /** Number of the line that begins there, from 1. */
  line: number
  /** Data records before it, wrong ones included. */
  records: number
  /** Whether a trailer is before it. */
  hasTrailer: boolean
  /** Control sums of the records before it (control-sums.ts), as whole numbers. */
  sums?: string[]
  /** The header of a file of TS 32.297, if it is before it. */
  header?: BerFileHeader
}

export const FILE_START: RecordPosition = { offset: 0, line: 1, records: 0, hasTrailer: false }

export interface FileRecord {
  /** Number of its first line, or of the record of a file without lines, from 1. */
  line: number
  /**
   * Without the line end; of bytes hexadecimal; cut if it is too long; empty for a trailer that is
   * missing.
   */
  text: string
  /** Null for control records and wrong ones. */
  message: Message | null
  /** Why the record cannot be read; `field` is the column, or `record`. */
  problem: FieldProblem | null
  /** A header or trailer. With a problem, the file has failed. */
  isControl: boolean
  /** Where to resume after it. */
  next: RecordPosition
}

/** Holds at most one record of the file, whatever the size of the file. */
export interface RecordReader {
  push(chunk: Buffer): Iterable<FileRecord>
  /** The last record, if it has no line end, and the trailer if it is missing. */
  end(): Iterable<FileRecord>
}
