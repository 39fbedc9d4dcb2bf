/** The records of a chunk: mapped to requests, compared with what was charged before, counted. */
import type {
  IntakeCounts,
  IntakeFileDocument,
  IntakeRejectedDocument,
  IntakeTotal,
} from '../catalog/records/usage/intake-documents.ts'
import { type ChargeOutcome, reasons } from '../domain/charge-outcome.ts'
import type { ChargeRequest } from '../domain/charge-request.ts'
import { recordStamps } from '../domain/lines.ts'
import type { FieldProblem } from '../file-types/file-type.ts'
import {
  digestOf,
  type FileRecord,
  type RecordFileType,
  type RecordPosition,
} from '../file-types/records/record-files.ts'
import { sessionKeyOf } from '../ledger/keys.ts'
import type { RecordedUse } from './recorded.ts'

/** A record to charge. */
export interface RecordCharge {
  readonly record: Pick<FileRecord, 'line' | 'text'>
  readonly request: ChargeRequest
  readonly sessionKey: string
  /** Stamps of its lines. */
  readonly stamps: readonly string[]
}

/** The result of a record. */
export type RecordState = 'charged' | 'duplicate' | 'filtered' | 'rejected'

export type Rejection = FieldProblem & Pick<FileRecord, 'line' | 'text'>

/** The results of the records of a chunk. */
export class ChunkResult {
  readonly counts: IntakeCounts = { read: 0, charged: 0, duplicates: 0, filtered: 0, rejected: 0 }
  readonly totals = new Map<string, IntakeTotal>()
  readonly rejections: Rejection[] = []
  /** By line. */
  readonly states = new Map<number, RecordState>()
  /** Keys of records that are charged. */
  readonly chargedKeys = new Set<string>()

  reject(record: Pick<FileRecord, 'line' | 'text'>, { field, why }: FieldProblem): void {
    this.counts.rejected += 1
    this.states.set(record.line, 'rejected')
    this.rejections.push({ line: record.line, text: record.text, field, why })
  }

  filter({ line }: Pick<FileRecord, 'line'>): void {
    this.counts.filtered += 1
    this.states.set(line, 'filtered')
  }

  duplicate({ record, sessionKey }: RecordCharge): void {
    this.counts.duplicates += 1
    this.states.set(record.line, 'duplicate')
    this.chargedKeys.add(sessionKey)
  }

  charged({ record, sessionKey }: RecordCharge, uses: Iterable<RecordedUse>): void {
    this.counts.charged += 1
    this.states.set(record.line, 'charged')
    this.chargedKeys.add(sessionKey)
    const usagets = new Set<string>()
    for (const use of uses) {
      addUse(this.totals, use, usagets.has(use.usaget) ? 0 : 1)
      usagets.add(use.usaget)
    }
  }

  decided(charge: RecordCharge, outcome: ChargeOutcome): void {
    const { reason, detail } = outcome
    if (reason === 'granted') this.charged(charge, usesOf(charge.request, outcome))
    else if (reason === 'sessionClosed') this.duplicate(charge)
    else {
      const { text } = reasons[reason]
      const why = detail === '' ? text : `${text}: ${detail}`
      this.reject(charge.record, { field: 'record', why })
    }
  }
}

function addUse(
  totals: Map<string, IntakeTotal>,
  { usaget, units, price_micros }: RecordedUse,
  records: number,
): void {
  const total = totals.get(usaget) ?? { usaget, records: 0, units: 0, price_micros: 0 }
  total.records += records
  total.units += units
  total.price_micros += price_micros
  totals.set(usaget, total)
}

function* usesOf({ services }: ChargeRequest, outcome: ChargeOutcome): Iterable<RecordedUse> {
  for (const [index, { usaget, reason, cost }] of outcome.services.entries()) {
    if (reason !== 'granted') continue
    yield { usaget, units: services[index]?.used ?? 0, price_micros: cost }
  }
}

/** The totals of a file with those of a chunk. */
export function addTotals(
  known: readonly IntakeTotal[],
  more: ReadonlyMap<string, IntakeTotal>,
): IntakeTotal[] {
  const sums = new Map(known.map((total) => [total.usaget, { ...total }]))
  for (const total of more.values()) addUse(sums, total, total.records)
  return [...sums.values()]
}

export interface PreparedChunk {
  readonly end: RecordPosition
  readonly charges: readonly RecordCharge[]
  readonly result: ChunkResult
  /** Why the file is not what its header or trailer says; empty if it is. */
  readonly error: string
}

export interface MappingOptions {
  readonly fileId: string
  readonly fileType: Pick<RecordFileType, 'map'>
  readonly nowMs: number
  readonly eventFutureMsMax: number
}

/** Origin of records; that of a request and its line has the name of the file type as well. */
export const ORIGIN = 'file'

/** `records`: at least one. */
export function prepareChunk(
  records: readonly FileRecord[],
  options: MappingOptions,
): PreparedChunk {
  const result = new ChunkResult()
  const charges: RecordCharge[] = []
  let error = ''
  for (const record of records) {
    const { problem, isControl, line } = record
    if (isControl) {
      if (problem !== null) error ||= `line ${line}: ${problem.field} ${problem.why}`
      continue
    }
    result.counts.read += 1
    const request = requestOf(record, options)
    if (request === null) result.filter(record)
    else if ('why' in request) result.reject(record, request)
    else charges.push(chargeOf(record, request, options))
  }
  const { next: end } = records.at(-1) as FileRecord
  return { end, charges, result, error }
}

/** The request, null if filters exclude the record, or its problem. */
export function requestOf(
  { message, problem, text }: Pick<FileRecord, 'message' | 'problem' | 'text'>,
  { fileType, nowMs, eventFutureMsMax }: MappingOptions,
): ChargeRequest | FieldProblem | null {
  if (message === null) return problem ?? { field: 'record', why: 'cannot be read' }
  const bodyDigest = () => digestOf({ text })
  const mapped = fileType.map(message, { origin: ORIGIN, nowMs, eventFutureMsMax, bodyDigest })
  return 'why' in mapped ? mapped : mapped.request
}

/**
 * The stamp is the place of the record in its file: the ledger answers a repetition of the same
 * place with the stored outcome, and refuses the record at any other place.
 */
export function chargeOf(
  { line, text }: Pick<FileRecord, 'line' | 'text'>,
  request: ChargeRequest,
  { fileId }: Pick<MappingOptions, 'fileId'>,
): RecordCharge {
  const { origin, sessionId, services } = request
  const sessionKey = sessionKeyOf(origin, sessionId)
  request.isRecord = true
  request.stamp = `${fileId}:${line}`
  const stamps = recordStamps(sessionKey, services.length)
  return { record: { line, text }, request, sessionKey, stamps }
}

export function rejectedDocument(
  file: Pick<IntakeFileDocument, '_id' | 'name' | 'file_type'>,
  { line, text, field, why }: Rejection,
  now: Date,
): IntakeRejectedDocument {
  return {
    _id: `${file._id}:${line}`,
    file: file._id,
    file_name: file.name,
    file_type: file.file_type,
    line,
    text,
    field,
    reason: why,
    state: 'waiting',
    created: now,
    updated: now,
  }
}
