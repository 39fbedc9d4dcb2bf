import type { Long } from 'bson'
import { encode } from '../values/document.ts'

const TYPE_DOCUMENT = 0x03
const TYPE_ARRAY = 0x04
/** Length field and terminating zero of a document. */
const FRAME_BYTES = 5

export type CursorBatch = {
  readonly field: 'firstBatch' | 'nextBatch'
  readonly docs: readonly Uint8Array[]
  readonly id: Long
  readonly ns: string
}

/**
 * The answer `{ cursor: { <field>: docs, id, ns }, ok: 1 }`. Stored documents are copied without
 * decoding them.
 */
export function encodeBatch({ field, docs, id, ns }: CursorBatch): Uint8Array {
  // The fields after the array and after the cursor, each with the terminating zero.
  const afterArray = encode({ id, ns }).subarray(4)
  const afterCursor = encode({ ok: 1 }).subarray(4)
  let arrayBytes = FRAME_BYTES
  docs.forEach((doc, i) => {
    arrayBytes += 2 + String(i).length + doc.length
  })
  const cursorBytes = 4 + 2 + field.length + arrayBytes + afterArray.length
  const out = Buffer.allocUnsafe(4 + 2 + 'cursor'.length + cursorBytes + afterCursor.length)
  let at = out.writeInt32LE(out.length, 0)
  at = writeName(out, at, TYPE_DOCUMENT, 'cursor')
  at = out.writeInt32LE(cursorBytes, at)
  at = writeName(out, at, TYPE_ARRAY, field)
  at = out.writeInt32LE(arrayBytes, at)
  docs.forEach((doc, i) => {
    at = writeName(out, at, TYPE_DOCUMENT, String(i))
    out.set(doc, at)
    at += doc.length
  })
  at = out.writeUInt8(0, at)
  out.set(afterArray, at)
  out.set(afterCursor, at + afterArray.length)
  return out
}

function writeName(out: Buffer, at: number, type: number, name: string): number {
  const nameAt = out.writeUInt8(type, at)
  return out.writeUInt8(0, nameAt + out.write(name, nameAt, 'latin1'))
}
