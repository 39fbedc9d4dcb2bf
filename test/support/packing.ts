/** Packed values as Redis stores them; the product writes them only as arguments of calls. */
import { type StreamRecord, writeRecordBlock } from '../../src/ledger/record-packing.ts'
import { Writer } from '../../src/ledger/writer.ts'

export { packSession } from '../../src/ledger/session-packing.ts'

const LENGTH_BYTES = 4

export function packRecord(record: StreamRecord): Buffer {
  return packed((writer) => writeRecordBlock(writer, record))
}

function packed(write: (writer: Writer) => void): Buffer {
  const writer = new Writer(1024)
  write(writer)
  return writer.take().subarray(LENGTH_BYTES)
}
