/** Records that were rejected: submitted again, as they are or corrected, or dropped. */
import type { Catalog } from '../catalog/connection.ts'
import { repeated } from '../catalog/patience.ts'
import type { IntakeRejectedDocument } from '../catalog/records/usage/intake-documents.ts'
import type {
  FileRecord,
  OpenRecordReader,
  RecordFileType,
} from '../file-types/records/record-files.ts'
import { chargeChunk, findDuplicates } from './charge-chunk.ts'
import { ChunkResult, chargeOf, requestOf } from './prepared-chunk.ts'
import type { IntakeStores } from './take-file.ts'

export interface Resubmission {
  /**
   * `duplicate`: it was charged before. `unknown`: no record with this id waits. `rejected`: it
   * stays, with the text that was submitted and the reason.
   */
  state: 'charged' | 'duplicate' | 'filtered' | 'rejected' | 'unknown'
  /** Empty unless it is rejected. */
  reason: string
}

export interface RecordFormats {
  findFileType(name: string): Promise<RecordFileType>
  openReader: OpenRecordReader
}

type Rejected = Pick<Catalog, 'intakerejected'>

/** `text`: of the corrected record; null to submit it as it is, when something else was wrong. */
export async function resubmitRecord(
  stores: IntakeStores,
  { findFileType, openReader }: RecordFormats,
  id: string,
  text: string | null,
): Promise<Resubmission> {
  const { catalog, clock, eventFutureMsMax, patience } = stores
  const found = await repeated(
    () => catalog.intakerejected.findOne({ _id: id, state: 'waiting' }),
    patience,
  )
  if (found === null) return { state: 'unknown', reason: '' }
  const { file, line, file_type } = found
  const fileType = await findFileType(file_type)
  const record = readOne(openReader, fileType, line, text ?? found.text)
  const options = { fileId: file, fileType, nowMs: clock.nowMs(), eventFutureMsMax }
  const request = requestOf(record, options)
  const result = new ChunkResult()
  if (request !== null && 'why' in request) result.reject(record, request)
  else if (request !== null) {
    const charge = chargeOf(record, request, options)
    const { duplicates, recorded } = await findDuplicates(stores, [charge])
    await chargeChunk(stores, [charge], new Set(duplicates), result, recorded)
  }
  return store(catalog, found, record.text, result, new Date(clock.nowMs()))
}

/** A record alone, as one in the middle of a file. */
function readOne(
  openReader: OpenRecordReader,
  fileType: RecordFileType,
  line: number,
  text: string,
): Pick<FileRecord, 'message' | 'problem' | 'line' | 'text'> {
  const reader = openReader(fileType, { offset: 1, line, records: 1, hasTrailer: false })
  const all = [...reader.push(Buffer.from(`${text}\n`)), ...reader.end()]
  const [first, second] = all.filter(({ isControl }) => !isControl)
  if (first !== undefined && second === undefined) return { ...first, line, text }
  const why = first === undefined ? 'is missing' : 'must be one'
  return { line, text, message: null, problem: { field: 'record', why } }
}

async function store(
  catalog: Rejected,
  { _id }: Pick<IntakeRejectedDocument, '_id'>,
  text: string,
  { counts, rejections: [rejection] }: ChunkResult,
  updated: Date,
): Promise<Resubmission> {
  if (rejection !== undefined) {
    const { field, why: reason } = rejection
    const change = { $set: { text, field, reason, updated } }
    await catalog.intakerejected.updateOne({ _id, state: 'waiting' }, change)
    return { state: 'rejected', reason: field === 'record' ? reason : `${field} ${reason}` }
  }
  const change = { $set: { text, state: 'corrected' as const, updated } }
  await catalog.intakerejected.updateOne({ _id, state: 'waiting' }, change)
  if (counts.charged > 0) return { state: 'charged', reason: '' }
  return { state: counts.duplicates > 0 ? 'duplicate' : 'filtered', reason: '' }
}

/** Returns whether a record with this id has waited. */
export async function dropRecord(catalog: Rejected, id: string, nowMs: number): Promise<boolean> {
  const change = { $set: { state: 'dropped' as const, updated: new Date(nowMs) } }
  const { matchedCount } = await catalog.intakerejected.updateOne(
    { _id: id, state: 'waiting' },
    change,
  )
  return matchedCount > 0
}

export interface RejectedQuery {
  state?: IntakeRejectedDocument['state'] | undefined
  file?: string | undefined
}

export function rejectedFilter({ state, file }: RejectedQuery) {
  return { ...(state !== undefined && { state }), ...(file !== undefined && { file }) }
}

/** The newest files first; the records of a file in their order. */
export function listRejected(
  { intakerejected }: Rejected,
  query: RejectedQuery,
  { skip, limit }: { skip: number; limit: number },
): Promise<IntakeRejectedDocument[]> {
  const found = intakerejected.find(rejectedFilter(query)).sort({ created: -1, file: 1, line: 1 })
  return found.skip(skip).limit(limit).toArray() as Promise<IntakeRejectedDocument[]>
}
