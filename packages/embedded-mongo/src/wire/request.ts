import { crc32c } from './crc32c.ts'
import { MongoWireError } from './frames.ts'

const OP_REPLY = 1
const OP_QUERY = 2004
const OP_MSG = 2013

const CHECKSUM_PRESENT = 1 << 0
const MORE_TO_COME = 1 << 1
const EXHAUST_ALLOWED = 1 << 16
/** Unknown flags in the lower half are an error, those in the upper half are ignored. */
const REQUIRED_FLAGS = 0xffff

/** A message of a client. */
export type Request = {
  readonly requestId: number
  /** `query` is the legacy form of a driver's first hello. */
  readonly form: 'msg' | 'query'
  /** Whether the client expects no answer. */
  readonly isUnacknowledged: boolean
  /** The command, as BSON. */
  readonly body: Uint8Array
  /** Documents sent as separate sequences, by the name of their field. */
  readonly sequences: ReadonlyMap<string, readonly Buffer[]>
  /** Database of a query; a message names it in the command. */
  readonly database: string | undefined
}

/**
 * Parses a message (OP_MSG, or OP_QUERY on `$cmd`).
 * @throws WireError for any other message
 */
export function parseRequest(frame: Buffer): Request {
  const requestId = frame.readInt32LE(4)
  const opCode = frame.readInt32LE(12)
  try {
    if (opCode === OP_MSG) return parseMsg(frame, requestId)
    if (opCode === OP_QUERY) return parseQuery(frame, requestId)
  } catch (error) {
    if (error instanceof RangeError) throw new MongoWireError('a message ends too early')
    throw error
  }
  throw new MongoWireError(`opcode ${opCode} is not supported`)
}

function parseMsg(frame: Buffer, requestId: number): Request {
  const flags = frame.readUInt32LE(16)
  if (flags & REQUIRED_FLAGS & ~(CHECKSUM_PRESENT | MORE_TO_COME)) {
    throw new MongoWireError(`unknown required flags ${flags}`)
  }
  // A client that allows an exhaust stream also accepts single answers.
  const isUnacknowledged = (flags & MORE_TO_COME) !== 0 && (flags & EXHAUST_ALLOWED) === 0
  const end = flags & CHECKSUM_PRESENT ? checked(frame) : frame.length
  const sequences = new Map<string, Buffer[]>()
  let body: Uint8Array | undefined
  let at = 20
  while (at < end) {
    const kind = frame[at++]
    if (kind === 0) {
      if (body) throw new MongoWireError('a message with two bodies')
      body = documentAt(frame, at, end)
      at += body.length
    } else if (kind === 1) {
      const section = frame.subarray(at, sectionEnd(frame, at, end))
      const { name, docs } = parseSequence(section)
      if (sequences.has(name)) throw new MongoWireError(`two sequences named ${name}`)
      sequences.set(name, docs)
      at += section.length
    } else throw new MongoWireError(`unknown section kind ${kind}`)
  }
  if (!body) throw new MongoWireError('a message without a body')
  return { requestId, form: 'msg', isUnacknowledged, body, sequences, database: undefined }
}

function checked(frame: Buffer): number {
  const end = frame.length - 4
  if (crc32c(frame.subarray(0, end)) === frame.readUInt32LE(end)) return end
  throw new MongoWireError('the checksum of a message is wrong')
}

function sectionEnd(frame: Buffer, at: number, end: number): number {
  const length = frame.readInt32LE(at)
  if (length >= 5 && at + length <= end) return at + length
  throw new MongoWireError('a section has a wrong length')
}

function parseSequence(section: Buffer): { name: string; docs: Buffer[] } {
  const nameEnd = section.indexOf(0, 4)
  if (nameEnd < 0) throw new MongoWireError('a sequence without a name')
  const docs: Buffer[] = []
  let at = nameEnd + 1
  while (at < section.length) {
    const doc = documentAt(section, at, section.length)
    docs.push(doc)
    at += doc.length
  }
  return { name: section.toString('utf8', 4, nameEnd), docs }
}

function documentAt(bytes: Buffer, at: number, end: number): Buffer {
  const length = bytes.readInt32LE(at)
  if (length >= 5 && at + length <= end) return bytes.subarray(at, at + length)
  throw new MongoWireError('a document has a wrong length')
}

function parseQuery(frame: Buffer, requestId: number): Request {
  const nameEnd = frame.indexOf(0, 20)
  const name = frame.toString('utf8', 20, nameEnd)
  if (!name.endsWith('.$cmd')) throw new MongoWireError('OP_QUERY is supported for commands only')
  // The numbers to skip and to return are between the name and the command.
  const body = documentAt(frame, nameEnd + 1 + 8, frame.length)
  const database = name.slice(0, -'.$cmd'.length)
  const sequences = new Map<string, Buffer[]>()
  return { requestId, form: 'query', isUnacknowledged: false, body, sequences, database }
}

/** Encodes the answer in the form of the request. */
export function encodeAnswer(request: Request, answerId: number, body: Uint8Array): Buffer[] {
  const isQuery = request.form === 'query'
  const head = Buffer.alloc(isQuery ? 36 : 21)
  head.writeInt32LE(head.length + body.length, 0)
  head.writeInt32LE(answerId, 4)
  head.writeInt32LE(request.requestId, 8)
  head.writeInt32LE(isQuery ? OP_REPLY : OP_MSG, 12)
  // A reply has one document and no cursor; a message has no flags and a section of kind 0, all
  // zeros.
  if (isQuery) head.writeInt32LE(1, 32)
  return [head, Buffer.from(body.buffer, body.byteOffset, body.byteLength)]
}
