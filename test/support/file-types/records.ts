/** File types of records for tests, and the records that they read. */
import { compileRecordFileType } from '../../../src/file-types/records/compile.ts'
import { openRecordReader } from '../../../src/file-types/records/reader.ts'
import type { FileRecord, RecordPosition } from '../../../src/file-types/records/record-files.ts'
import { DEFAULTS, type Fields, NOW_MS } from './sample.ts'

export const CSV = {
  type: 'separator',
  structure: [{ name: 'when' }, { name: 'caller' }, { name: 'called' }, { name: 'seconds' }],
}
export const CALLS = {
  date_field: 'when',
  usaget_mapping: [
    { usaget: 'call', unit: 'seconds', volume_src: 'seconds', called_number_field: 'called' },
  ],
}

/** `changes` replace whole sections. */
export function recordDocument(changes: Fields = {}): Fields {
  return {
    file_type: 'CDR',
    type: 'usage',
    parser: CSV,
    processor: CALLS,
    customer_identification_fields: { '*': [{ src_key: 'caller', target_key: 'msisdn' }] },
    ...changes,
  }
}

export function recordType(changes: Fields = {}, given = DEFAULTS) {
  return compileRecordFileType(recordDocument(changes), given, 'file_types.CDR')
}

export const RECORD_CONTEXT = {
  origin: 'files',
  nowMs: NOW_MS,
  eventFutureMsMax: 60_000,
  bodyDigest: () => 'd1ge57',
}

/** The records of a file that is pushed in these chunks. */
export function readChunks(
  parser: Fields,
  chunks: readonly (Buffer | string)[],
  from?: RecordPosition,
): FileRecord[] {
  const reader = openRecordReader(recordType({ parser }), from)
  const read = chunks.flatMap((chunk) => {
    const bytes = Buffer.from(chunk)
    const records = [...reader.push(bytes)]
    // As if the caller read the next chunk into the same buffer.
    bytes.fill('"')
    return records
  })
  return [...read, ...reader.end()]
}
