/** Packed values as Redis stores them; the product writes them only as arguments of calls. */
import type { Session } from '../../src/domain/session.ts'
import { type StreamRecord, writeRecordBlock } from '../../src/ledger/record-packing.ts'
import { writeSessionBlock } from '../../src/ledger/session-packing.ts'
import { Writer } from '../../src/ledger/writer.ts'

const LENGTH_BYTES = 4

export function packSession(session: Session): Buffer {
  return packed((writer) => writeSessionBlock(writer, session))
}

export function packRecord(record: StreamRecord): Buffer {
  return packed((writer) => writeRecordBlock(writer, record))
}

function packed(write: (writer: Writer) => void): Buffer {
  const writer = new Writer(1024)
  write(writer)
  return writer.take().subarray(LENGTH_BYTES)
}
