/**
 * Encodes the records that a commit sends to the recorder, and results of operations.
 *
 *   record  u8 1 | lines | operations (MessagePack); u8 2 with events (MessagePack) at the end
 *   line    stamp | names with u8 state as their flags (identity-packing.ts) | the segment's part
 *           (segment-packing.ts)
 *   result  MessagePack: [1, operation]
 */
import { Packr } from 'msgpackr'
import { present } from '../domain/assert.ts'
import type { BalanceEvent } from '../domain/events/event.ts'
import type { Line, OperationLine } from '../domain/line.ts'
import { LINE_NAMES, readLineNames, readNamesAfter, writeLineNames } from './identity-packing.ts'
import { CorruptValueError } from './owner-packing.ts'
import { Reader } from './reader.ts'
import { readLineParts, writeLineParts } from './segment-packing.ts'
import { Writer } from './writer.ts'

const RECORD_FORMAT = 1
const RECORD_WITH_EVENTS = 2
const RESULT_FORMAT = 1
const packr = new Packr({ useRecords: false, moreTypes: false, int64AsType: 'number' })
const STATES: readonly Line['state'][] = ['open', 'ended', 'closed', 'expired']

/** The data that a commit sends to the recorder in addition to the states of the owners. */
export interface StreamRecord {
  lines: Line[]
  operations: OperationLine[]
  /** Absent if there are none. */
  events?: BalanceEvent[]
}

interface ReadonlyRecord {
  readonly lines: readonly Line[]
  readonly operations: readonly OperationLine[]
  readonly events?: readonly BalanceEvent[]
}

/** Writes the length as u32, then the record. */
export function writeRecordBlock(writer: Writer, record: ReadonlyRecord): void {
  const openedAt = writer.openLength()
  writeRecord(writer, record)
  writer.closeLength(openedAt)
}

export function packRecord(record: StreamRecord): Buffer {
  const writer = new Writer(RECORD_BYTES)
  writeRecord(writer, record)
  return writer.take()
}

/** Usual size of a record with a few operations. */
const RECORD_BYTES = 1024

function writeRecord(writer: Writer, { lines, operations, events = [] }: ReadonlyRecord): void {
  writer.u8(events.length === 0 ? RECORD_FORMAT : RECORD_WITH_EVENTS)
  writer.number(lines.length)
  for (const line of lines) writeLine(writer, line)
  // Hardly any record has an operation.
  if (operations.length === 0) writer.number(0)
  else writer.chunk(packr.pack(operations))
  if (events.length > 0) writer.chunk(packr.pack(events))
}

/** Throws `CorruptValueError` if the value is not a packed record. */
export function unpackRecord(packed: Buffer): StreamRecord {
  const format = packed[0]
  if (format !== RECORD_FORMAT && format !== RECORD_WITH_EVENTS) {
    throw new CorruptValueError('a record has an unknown format')
  }
  try {
    const reader = new Reader(packed.subarray(1))
    const lines: Line[] = []
    for (let left = reader.number(); left > 0; left -= 1) lines.push(readLine(reader))
    const operations = reader.chunk()
    const events = format === RECORD_FORMAT ? null : reader.chunk()
    if (!reader.isAtEnd) throw new RangeError('the record has a wrong length')
    return {
      lines,
      operations: operations.length === 0 ? [] : packr.unpack(operations),
      ...(events === null ? {} : { events: packr.unpack(events) }),
    }
  } catch (error) {
    throw new CorruptValueError('a record is damaged', { cause: error })
  }
}

function writeLine(writer: Writer, line: Line): void {
  writer.string(line.stamp)
  writeLineNames(writer, line, STATES.indexOf(line.state))
  writeLineParts(writer, line)
}

function readLine(reader: Reader): Line {
  const stamp = reader.string()
  const { session, service } = readLineNames(reader)
  const flags = reader.u8()
  const state = present(STATES[flags & ~LINE_NAMES], 'state of a line')
  readNamesAfter(flags & LINE_NAMES, reader, service)
  const { version, pricing, counts } = readLineParts(reader)
  return {
    stamp,
    version,
    session,
    service,
    pricing,
    counts,
    state,
  }
}

/** Encodes the result of an operation, which is returned when the operation is repeated. */
export function packResult(result: OperationLine): Buffer {
  return packr.pack([RESULT_FORMAT, result])
}

/** Throws `CorruptValueError` if the value is not a packed result. */
export function unpackResult(packed: Buffer): OperationLine {
  let fields: unknown
  try {
    fields = packr.unpack(packed)
  } catch (error) {
    throw new CorruptValueError('a result is damaged', { cause: error })
  }
  const [format, result] = Array.isArray(fields) ? fields : []
  if (format !== RESULT_FORMAT) throw new CorruptValueError('a result has an unknown format')
  if (typeof result !== 'object' || result === null) throw new CorruptValueError('no result')
  return result as OperationLine
}
