/** Reads the records of a file. */
import { isUtf8 } from 'node:buffer'
import { BerReader } from './ber-reader.ts'
import { noSums } from './control-sums.ts'
import { type Frame, Framer } from './framing.ts'
import {
  FILE_START,
  type FileRecord,
  type RecordFileType,
  type RecordPosition,
  type RecordReader,
} from './record-files.ts'
import { type LineParser, type LineType, refused } from './syntax.ts'

/** By default from the beginning; `from` is `next` of a record. Bytes before it are not pushed. */
export function openRecordReader(
  { parser }: RecordFileType,
  from: RecordPosition = FILE_START,
): RecordReader {
  return parser.type === 'ber' ? new BerReader(parser, from) : new Reader(parser, from)
}

export const NOT_UTF8 = 'is not UTF-8'

const NOTHING = Buffer.alloc(0)
const BYTE_ORDER_MARK = Buffer.from('\ufeff')

interface PlacedFrame {
  readonly frame: Frame
  readonly line: number
  readonly next: Pick<RecordPosition, 'offset' | 'line'>
}

type Content = Pick<FileRecord, 'message' | 'problem'>

class Reader implements RecordReader {
  readonly #parser: LineParser
  readonly #framer: Framer
  /** The first bytes of a file, until it is known whether they are a byte order mark. */
  #head: Buffer | null
  #offset: number
  #line: number
  #records: number
  #hasTrailer: boolean
  /** Empty if trailers state none. */
  #sums: readonly bigint[]
  #isFirst: boolean
  /** The last frame so far, which is the trailer if no other follows. */
  #held: PlacedFrame | null = null

  constructor(parser: LineParser, { offset, line, records, hasTrailer, sums }: RecordPosition) {
    this.#parser = parser
    this.#framer = new Framer(parser.quoting)
    this.#head = offset === 0 ? NOTHING : null
    this.#offset = offset
    this.#line = line
    this.#records = records
    this.#hasTrailer = hasTrailer
    this.#sums = sums?.map(BigInt) ?? noSums(parser.sums?.count ?? 0)
    this.#isFirst = offset === 0
  }

  push(chunk: Buffer): FileRecord[] {
    return this.#read(chunk, false)
  }

  end(): FileRecord[] {
    const records = this.#read(NOTHING, true)
    if (this.#held !== null) records.push(this.#recordOf(this.#held, !this.#isFirst))
    this.#held = null
    const { count, sums } = this.#parser
    if ((count !== null || sums !== null) && !this.#hasTrailer) records.push(this.#missingTrailer())
    return records
  }

  #read(chunk: Buffer, isLast: boolean): FileRecord[] {
    const bytes = this.#head === null ? chunk : this.#withoutMark(this.#head, chunk, isLast)
    const records: FileRecord[] = []
    for (const frame of this.#framer.push(bytes, isLast)) {
      const record = this.#place(frame)
      if (record !== null) records.push(record)
    }
    return records
  }

  #withoutMark(head: Buffer, chunk: Buffer, isLast: boolean): Buffer {
    const bytes = Buffer.concat([head, chunk])
    const { length } = BYTE_ORDER_MARK
    const isUnknown = bytes.length < length && !isLast
    this.#head = isUnknown ? bytes : null
    if (isUnknown) return NOTHING
    if (!bytes.subarray(0, length).equals(BYTE_ORDER_MARK)) return bytes
    this.#offset = length
    return bytes.subarray(length)
  }

  /** Null for an empty line, and for a frame that may be the trailer. */
  #place(frame: Frame): FileRecord | null {
    const line = this.#line
    this.#offset += frame.size
    this.#line += frame.lines
    if (frame.bytes.length === 0) return null
    const placed = { frame, line, next: { offset: this.#offset, line: this.#line } }
    if (!this.#parser.hasFooter) return this.#recordOf(placed, false)
    const held = this.#held
    // A copy: the caller may reuse the chunk.
    this.#held = { ...placed, frame: { ...frame, bytes: Buffer.from(frame.bytes) } }
    return held === null ? null : this.#recordOf(held, false)
  }

  #recordOf({ frame, line, next }: PlacedFrame, isFooter: boolean): FileRecord {
    const { bytes, why: wrong } = frame
    const text = bytes.toString('utf8')
    const why = wrong === '' && !isUtf8(bytes) ? NOT_UTF8 : wrong
    const type = this.#typeOf(text, isFooter)
    const isControl = type === 'header' || type === 'trailer'
    const content: Content = why === '' ? this.#contentOf(type, text) : refused(why)
    this.#isFirst = false
    if (!isControl) this.#records += 1
    const { sums } = this.#parser
    if (sums !== null && content.message !== null) {
      this.#sums = sums.add(this.#sums, content.message)
    }
    if (type === 'trailer') this.#hasTrailer = true
    return { line, text, ...content, isControl, next: this.#positionAt(next) }
  }

  #typeOf(text: string, isFooter: boolean): LineType | null {
    if (this.#isFirst && this.#parser.hasHeader) return 'header'
    return isFooter ? 'trailer' : this.#parser.lineType(text)
  }

  #contentOf(type: LineType | null, text: string): Content {
    if (type === 'header') return { message: null, problem: null }
    if (type === 'trailer') return { message: null, problem: this.#trailerProblem(text) }
    if (type === null) return refused('is of no line type')
    return this.#hasTrailer ? refused('is behind the trailer') : this.#parser.parse(text)
  }

  #trailerProblem(text: string): Content['problem'] {
    const { sums } = this.#parser
    const count = this.#parser.count?.(text) ?? this.#records
    if (typeof count !== 'number') return count
    if (count === this.#records) return sums?.problem(text, this.#sums) ?? null
    const why = `is ${count}, and the file has ${this.#records} records`
    return { field: this.#parser.countField, why }
  }

  #missingTrailer(): FileRecord {
    this.#hasTrailer = true
    const next = this.#positionAt({ offset: this.#offset, line: this.#line })
    const problem = { field: 'trailer', why: 'is missing: the file may be cut off' }
    return { line: this.#line, text: '', message: null, problem, isControl: true, next }
  }

  #positionAt(place: Pick<RecordPosition, 'offset' | 'line'>): RecordPosition {
    const position = { ...place, records: this.#records, hasTrailer: this.#hasTrailer }
    return this.#sums.length === 0 ? position : { ...position, sums: this.#sums.map(String) }
  }
}
