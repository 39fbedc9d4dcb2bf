/** Records that were rejected: submitted again, as they are or corrected, or dropped. */
import type { Actor } from '../catalog/actor.ts'
import { appendAudit } from '../catalog/audit/audit.ts'
import type { Catalog } from '../catalog/connection.ts'
import { repeated } from '../catalog/patience.ts'
import type { IntakeRejectedDocument } from '../catalog/records/usage/intake-documents.ts'
import { openRecordReader } from '../file-types/records/reader.ts'
import type { FileRecord, RecordFileType } from '../file-types/records/record-files.ts'
import { chargeChunk, findDuplicates } from './charge-chunk.ts'
import { ChunkResult, chargeOf, type RecordState, requestOf } from './prepared-chunk.ts'
import { type IntakeStores, mappingOf } from './take-file.ts'

export interface Resubmission {
  /**
   * `duplicate`: it was charged before. `unknown`: no record with this id waits. `rejected`: it
   * stays, with the text that was submitted and the reason.
   */
  state: RecordState | 'unknown'
  /** Empty unless it is rejected. */
  reason: string
}

export type FindFileType = (name: string) => Promise<RecordFileType>

type Rejected = Pick<Catalog, 'intakerejected' | 'transaction'>

/** `text`: of the corrected record; null to submit it as it is, when something else was wrong. */
export async function resubmitRecord(
  stores: IntakeStores,
  findFileType: FindFileType,
  id: string,
  text: string | null,
  actor: Actor,
): Promise<Resubmission> {
  const { catalog, patience } = stores
  const found = await repeated(
    () => catalog.intakerejected.findOne({ _id: id, state: 'waiting' }),
    patience,
  )
  if (found === null) return { state: 'unknown', reason: '' }
  const { file, line, file_type } = found
  const fileType = await findFileType(file_type)
  const record = readOne(fileType, line, text ?? found.text)
  const options = mappingOf(stores, file, fileType)
  const request = requestOf(record, options)
  const result = new ChunkResult()
  if (request === null) result.filter(record)
  if (request !== null && 'why' in request) result.reject(record, request)
  else if (request !== null) {
    const charge = chargeOf(record, request, options)
    const { duplicates, recorded } = await findDuplicates(stores, [charge])
    await chargeChunk(stores, [charge], new Set(duplicates), result, recorded)
  }
  return store(stores, found, record, result, actor)
}

/** A record alone, as one in the middle of a file. */
export function readOne(
  fileType: RecordFileType,
  line: number,
  text: string,
): Pick<FileRecord, 'message' | 'problem' | 'line' | 'text'> {
  const reader = openRecordReader(fileType, { offset: 1, line, records: 1, hasTrailer: false })
  // The last record would be taken for the trailer.
  const trailer = fileType.parser.hasFooter ? '-\n' : ''
  const all = [...reader.push(Buffer.from(`${text}\n${trailer}`)), ...reader.end()]
  const [first, second] = all.filter(({ isControl }) => !isControl)
  if (first !== undefined && second === undefined) return { ...first, line, text }
  const why = first === undefined ? 'is missing' : 'must be one'
  return { line, text, message: null, problem: { field: 'record', why } }
}

/** A record that is rejected again waits on, with its new text and reason. */
async function store(
  { catalog, clock }: Pick<IntakeStores, 'catalog' | 'clock'>,
  { _id }: Pick<IntakeRejectedDocument, '_id'>,
  { line, text }: Pick<FileRecord, 'line' | 'text'>,
  { states, rejections: [rejection] }: ChunkResult,
  actor: Actor,
): Promise<Resubmission> {
  const nowMs = clock.nowMs()
  const state = states.get(line) ?? 'rejected'
  const changes =
    rejection === undefined
      ? { text, state: 'corrected' as const }
      : { text, field: rejection.field, reason: rejection.why }
  await change(catalog, _id, changes, actor, nowMs)
  return {
    state,
    reason: rejection === undefined ? '' : problemText(rejection.field, rejection.why),
  }
}

/** Such as `msisdn is required`; of the record as a whole just the reason. */
export function problemText(field: string, why: string): string {
  return field === 'record' ? why : `${field} ${why}`
}

/** Returns whether a record with this id has waited. */
export function dropRecord(
  catalog: Rejected,
  id: string,
  actor: Actor,
  nowMs: number,
): Promise<boolean> {
  return change(catalog, id, { state: 'dropped' }, actor, nowMs)
}

function change(
  catalog: Rejected,
  _id: string,
  changes: Partial<IntakeRejectedDocument>,
  actor: Actor,
  nowMs: number,
): Promise<boolean> {
  return catalog.transaction('change a rejected record', async (session) => {
    const filter = { _id, state: 'waiting' as const }
    const more = { $set: { ...changes, updated: new Date(nowMs) } }
    const { matchedCount } = await catalog.intakerejected.updateOne(filter, more, { session })
    if (matchedCount === 0) return false
    // The text has numbers of people, and may be erased with the record.
    const { text: _, ...recorded } = changes
    const entry = { collection: 'intake_rejected', type: 'update', key: _id, new: recorded }
    appendAudit(session, actor, nowMs, entry)
    return true
  })
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
  { reads: { intakerejected } }: Pick<Catalog, 'reads'>,
  query: RejectedQuery,
  { skip, limit }: { skip: number; limit: number },
): Promise<IntakeRejectedDocument[]> {
  const found = intakerejected.find(rejectedFilter(query)).sort({ created: -1, file: 1, line: 1 })
  return found.skip(skip).limit(limit).toArray() as Promise<IntakeRejectedDocument[]>
}
