/**
 * Records that were rejected: submitted again, as they are or corrected, or dropped. The text that
 * is submitted is stored before it is charged: until its outcome is stored, no other one is.
 */
import type { Actor } from '../catalog/actor.ts'
import { appendAudit } from '../catalog/audit/audit.ts'
import type { Catalog } from '../catalog/connection.ts'
import { repeated } from '../catalog/patience.ts'
import type { IntakeRejectedDocument } from '../catalog/records/usage/intake-documents.ts'
import { TOO_LONG } from '../file-types/records/framing.ts'
import { NOT_UTF8, openRecordReader } from '../file-types/records/reader.ts'
import type { FileRecord, RecordFileType } from '../file-types/records/record-files.ts'
import { chargeChunk, findDuplicates } from './charge-chunk.ts'
import { ChunkResult, chargeOf, type RecordState, requestOf } from './prepared-chunk.ts'
import { type IntakeStores, mappingOf } from './take-file.ts'

export interface Resubmission {
  /**
   * `duplicate`: it was charged before. `unknown`: no record with this id waits, or another text
   * is being charged. `rejected`: it stays, with the text that was submitted and the reason.
   */
  state: RecordState | 'unknown'
  /** Empty unless it is rejected. */
  reason: string
}

export type FindFileType = (name: string) => Promise<RecordFileType>

type Rejected = Pick<Catalog, 'intakerejected' | 'transaction'>

const UNKNOWN: Resubmission = { state: 'unknown', reason: '' }

/**
 * `text`: of the corrected record; null to submit it as it is, when something else was wrong. After
 * an interruption only the text that was submitted can be submitted again.
 */
export async function resubmitRecord(
  stores: IntakeStores,
  findFileType: FindFileType,
  id: string,
  text: string | null,
  actor: Actor,
): Promise<Resubmission> {
  const { catalog, patience } = stores
  const open = { _id: id, state: { $in: ['waiting', 'submitted'] as const } }
  const found = await repeated(() => catalog.intakerejected.findOne(open), patience)
  if (found === null) return UNKNOWN
  const { file, line, file_type } = found
  if (text === null && isAltered(found)) {
    return { state: 'rejected', reason: `${found.reason}: its text must be given` }
  }
  const fileType = await findFileType(file_type)
  const record = readOne(fileType, line, text ?? found.text)
  if (!(await claim(stores, id, record.text))) return UNKNOWN
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

/** The stored text is not the whole record of the file. */
function isAltered({ state, field, reason }: IntakeRejectedDocument): boolean {
  return state === 'waiting' && field === 'record' && [TOO_LONG, NOT_UTF8].includes(reason)
}

/** Another text cannot be submitted from then on. Returns whether this one may be charged. */
async function claim(
  { catalog, clock, patience }: Pick<IntakeStores, 'catalog' | 'clock' | 'patience'>,
  _id: string,
  text: string,
): Promise<boolean> {
  const filter = {
    _id,
    $or: [{ state: 'waiting' as const }, { state: 'submitted' as const, text }],
  }
  const change = { $set: { state: 'submitted' as const, text, updated: new Date(clock.nowMs()) } }
  const claimed = () => catalog.intakerejected.findOneAndUpdate(filter, change)
  return (await repeated(claimed, patience)) !== null
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
  if (first !== undefined && second === undefined) {
    return { ...first, line, text: first.problem === null ? first.text : text }
  }
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
      ? { state: 'corrected' as const }
      : { state: 'waiting' as const, field: rejection.field, reason: rejection.why }
  await change(catalog, { _id, state: 'submitted', text }, changes, actor, nowMs)
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
  return change(catalog, { _id: id, state: 'waiting' }, { state: 'dropped' }, actor, nowMs)
}

function change(
  catalog: Rejected,
  filter: Pick<IntakeRejectedDocument, '_id' | 'state'> & { text?: string },
  changes: Partial<Pick<IntakeRejectedDocument, 'state' | 'field' | 'reason'>>,
  actor: Actor,
  nowMs: number,
): Promise<boolean> {
  return catalog.transaction('change a rejected record', async (session) => {
    const more = { $set: { ...changes, updated: new Date(nowMs) } }
    const { matchedCount } = await catalog.intakerejected.updateOne(filter, more, { session })
    if (matchedCount === 0) return false
    // Without the text, which has numbers of people, and may be erased with the record.
    const entry = { collection: 'intake_rejected', type: 'update', key: filter._id, new: changes }
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

/** The records of a file in their order, those of all files by when they were rejected. */
export function listRejected(
  { reads: { intakerejected } }: Pick<Catalog, 'reads'>,
  query: RejectedQuery,
  { skip, limit }: { skip: number; limit: number },
): Promise<IntakeRejectedDocument[]> {
  const order =
    query.file === undefined ? ({ created: -1, file: 1, line: 1 } as const) : ({ line: 1 } as const)
  const found = intakerejected.find(rejectedFilter(query)).sort(order)
  return found.skip(skip).limit(limit).toArray() as Promise<IntakeRejectedDocument[]>
}
