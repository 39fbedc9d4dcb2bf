/**
 * What a commit tells the recorder, and results of operations, as packed values.
 *
 *   record  u8 4 | lines | operations (MessagePack)
 *   line    stamp | account, subscriber | origin | session id | rating group | usage type | called
 *           number | u8 state | what it has of its segment (segment-packing.ts)
 *
 * Format 3 is the same without credit of refunds. Records of formats 1 and 2, and results, are MessagePack altogether: these begin with 92 or 93.
 */
import { Packr } from 'msgpackr'
import { present } from '../domain/assert.ts'
import type { Line, OperationLine } from '../domain/line.ts'
import { unpackOldLine } from './old-records.ts'
import { CorruptValueError } from './owner-packing.ts'
import { Reader } from './reader.ts'
import { readLineParts, writeLineParts } from './segment-packing.ts'
import type { Writer } from './writer.ts'

const RECORD_FORMAT = 4
/** Formats in this layout. */
const LAYOUT_FORMATS: readonly number[] = [3, RECORD_FORMAT]
/** Of results; and of the records before, in the first of which lines had names. */
const PACKED_FORMATS: readonly unknown[] = [1, 2]
const RESULT_FORMAT = 2
const packr = new Packr({ useRecords: false, moreTypes: false, int64AsType: 'number' })
const STATES: readonly Line['state'][] = ['open', 'ended', 'closed', 'expired']

/** What one commit tells the recorder beside the states of the owners. */
export interface StreamRecord {
  lines: Line[]
  operations: OperationLine[]
}

/** Behind its length as u32. */
export function writeRecordBlock(writer: Writer, record: StreamRecord): void {
  const openedAt = writer.openLength()
  writeRecord(writer, record)
  writer.closeLength(openedAt)
}

function writeRecord(writer: Writer, { lines, operations }: StreamRecord): void {
  writer.u8(RECORD_FORMAT)
  writer.number(lines.length)
  for (const line of lines) writeLine(writer, line)
  // Hardly any record has one.
  if (operations.length === 0) writer.number(0)
  else writer.chunk(packr.pack(operations))
}

/** Throws `CorruptValueError` if the value is not a packed record. */
export function unpackRecord(packed: Buffer): StreamRecord {
  if (!LAYOUT_FORMATS.includes(packed[0] ?? 0)) return unpackOldRecord(packed)
  try {
    const reader = new Reader(packed, 1)
    const lines: Line[] = []
    for (let left = reader.number(); left > 0; left -= 1) lines.push(readLine(reader))
    const operations = reader.chunk()
    if (!reader.isAtEnd) throw new RangeError('it has a wrong length')
    return { lines, operations: operations.length === 0 ? [] : packr.unpack(operations) }
  } catch (error) {
    throw new CorruptValueError('a record is damaged', { cause: error })
  }
}

function writeLine(writer: Writer, line: Line): void {
  writer.string(line.stamp)
  writer.number(line.aid)
  writer.number(line.sid)
  writer.string(line.origin)
  writer.string(line.sessionId)
  writer.number(line.ratingGroup)
  writer.string(line.usaget)
  writer.string(line.calledNumber)
  writer.u8(STATES.indexOf(line.state))
  writeLineParts(writer, line)
}

function readLine(reader: Reader): Line {
  return readLineParts(reader, {
    stamp: reader.string(),
    aid: reader.number(),
    sid: reader.number(),
    origin: reader.word(),
    sessionId: reader.string(),
    ratingGroup: reader.number(),
    usaget: reader.word(),
    calledNumber: reader.string(),
    state: present(STATES[reader.u8()], 'state of a line'),
  })
}

function unpackOldRecord(packed: Buffer): StreamRecord {
  const [format, lines, operations] = unpackVersioned(packed, 'record')
  if (!Array.isArray(lines) || !Array.isArray(operations)) {
    throw new CorruptValueError('a record has no lines')
  }
  try {
    return {
      lines: lines.map((line) => unpackOldLine(format as number, line)),
      operations: operations as OperationLine[],
    }
  } catch (error) {
    throw new CorruptValueError('a line of a record is damaged', { cause: error })
  }
}

/** The stored result of an operation, for its repetition. */
export function packResult(result: OperationLine): Buffer {
  return packr.pack([RESULT_FORMAT, result])
}

/** Throws `CorruptValueError` if the value is not a packed result. */
export function unpackResult(packed: Buffer): OperationLine {
  const [, result] = unpackVersioned(packed, 'result')
  if (typeof result !== 'object' || result === null) throw new CorruptValueError('no result')
  return result as OperationLine
}

function unpackVersioned(packed: Buffer, what: string): unknown[] {
  let fields: unknown
  try {
    fields = packr.unpack(packed)
  } catch (error) {
    throw new CorruptValueError(`a ${what} is damaged`, { cause: error })
  }
  if (!Array.isArray(fields) || !PACKED_FORMATS.includes(fields[0])) {
    throw new CorruptValueError(`a ${what} has an unknown format`)
  }
  return fields
}
