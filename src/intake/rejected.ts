/**
 * Records that were rejected: submitted again, as they are or corrected, or dropped. The text that
 * is submitted is stored before it is charged: until its outcome is stored, no other one is.
 */
import type { Actor } from '../catalog/actor.ts'
import { appendAudit } from '../catalog/audit/audit.ts'
import type { Catalog } from '../catalog/connection.ts'
import { repeated } from '../catalog/patience.ts'
import type { IntakeRejectedDocument } from '../catalog/records/usage/intake-documents.ts'
import { parseBerText } from '../file-types/records/ber-reader.ts'
import { TOO_LONG } from '../file-types/records/framing.ts'
import { NOT_UTF8, openRecordReader } from '../file-types/records/reader.ts'
import type { FileRecord, RecordFileType } from '../file-types/records/record-files.ts'
import { chargeChunk, findDuplicates } from './charge-chunk.ts'
import {
  ChunkResult,
  chargeOf,
  type MappingOptions,
  type RecordState,
  requestOf,
} from './prepared-chunk.ts'
import { RecordClaim, RecordClaimLostError } from './record-claim.ts'
import { type IntakeStores, mappingOf } from './take-file.ts'

export interface Resubmission {
  /**
   * `duplicate`: it was charged before. `unknown`: no record with this id waits, or it is being
   * charged. `rejected`: it stays, with the text that was submitted and the reason.
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
  const claim = new RecordClaim(stores, id, record.text)
  if (!(await claim.take())) return UNKNOWN
  try {
    const options = mappingOf(stores, file, fileType)
    const result = await chargeOne({ ...stores, worker: claim.worker }, record, options)
    return await store(stores, claim, record, result, actor)
  } catch (error) {
    if (error instanceof RecordClaimLostError) return UNKNOWN
    // Without its answer the claim ends by its time.
    await claim.release().catch(() => undefined)
    throw error
  }
}

async function chargeOne(
  stores: IntakeStores,
  record: Pick<FileRecord, 'message' | 'problem' | 'line' | 'text'>,
  options: MappingOptions,
): Promise<ChunkResult> {
  const request = requestOf(record, options)
  const result = new ChunkResult()
  if (request === null) result.filter(record)
  else if ('why' in request) result.reject(record, request)
  else {
    const charge = chargeOf(record, request, options)
    const { duplicates, recorded } = await findDuplicates(stores, [charge])
    await chargeChunk(stores, [charge], new Set(duplicates), result, recorded)
  }
  return result
}

/** The stored text is not the whole record of the file. */
function isAltered({ state, field, reason }: IntakeRejectedDocument): boolean {
  return state === 'waiting' && field === 'record' && [TOO_LONG, NOT_UTF8].includes(reason)
}

/** A record alone, as one in the middle of a file. It may begin with a byte order mark. */
export function readOne(
  fileType: RecordFileType,
  line: number,
  given: string,
): Pick<FileRecord, 'message' | 'problem' | 'line' | 'text'> {
  const text = given.replace(/^\ufeff/, '')
  const { parser } = fileType
  if (parser.type === 'ber') return { line, ...parseBerText(parser, text) }
  const reader = openRecordReader(fileType, { offset: 1, line, records: 1, hasTrailer: false })
  // The last record would be taken for the trailer.
  const trailer = parser.hasFooter ? '-\n' : ''
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
  { held }: RecordClaim,
  { line }: Pick<FileRecord, 'line'>,
  { states, rejections: [rejection] }: ChunkResult,
  actor: Actor,
): Promise<Resubmission> {
  const nowMs = clock.nowMs()
  const state = states.get(line) ?? 'rejected'
  const changes =
    rejection === undefined
      ? { state: 'corrected' as const }
      : { state: 'waiting' as const, field: rejection.field, reason: rejection.why }
  if (!(await change(catalog, held, changes, actor, nowMs))) return UNKNOWN
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
  filter: Pick<IntakeRejectedDocument, '_id' | 'state'> & { text?: string; claimed?: Date },
  changes: Partial<Pick<IntakeRejectedDocument, 'state' | 'field' | 'reason'>>,
  actor: Actor,
  nowMs: number,
): Promise<boolean> {
  return catalog.transaction('change a rejected record', async (session) => {
    const more = {
      $set: { ...changes, updated: new Date(nowMs) },
      $unset: { claimed: '' as const },
    }
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
  file_type?: string | undefined
  reason?: string | undefined
  id?: string | undefined
}

/** The records of a file in their order, those of all files by when they were rejected. */
export function listRejected(
  { reads: { intakerejected } }: Pick<Catalog, 'reads'>,
  query: RejectedQuery,
  { skip, limit }: { skip: number; limit: number },
): Promise<IntakeRejectedDocument[]> {
  const order =
    query.file === undefined ? ({ created: -1, file: 1, line: 1 } as const) : ({ line: 1 } as const)
  const { id: _id, ...fields } = query
  const given = Object.entries({ _id, ...fields }).filter(([, value]) => value !== undefined)
  const found = intakerejected
    .find(Object.fromEntries(given), { projection: { claimed: 0 } })
    .sort(order)
  return found.skip(skip).limit(limit).toArray() as Promise<IntakeRejectedDocument[]>
}
