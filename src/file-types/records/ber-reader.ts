/** Reads the records of a file of charging data records. */
import { type BerFileHeader, type BerFrame, BerFramer } from './ber-framing.ts'
import type { BerParser } from './ber-parser.ts'
import type { FileRecord, RecordPosition, RecordReader } from './record-files.ts'
import { type ParsedRecord, refused } from './syntax.ts'

const NOTHING = Buffer.alloc(0)
const HEX = /^(?:[0-9a-f]{2})+$/

/** A record alone; its text is hexadecimal. */
export function parseBerText(
  { parse }: BerParser,
  given: string,
): ParsedRecord & Pick<FileRecord, 'text'> {
  const text = given.toLowerCase()
  const parsed = HEX.test(text) ? parse(Buffer.from(text, 'hex')) : refused('must be hexadecimal')
  return { text, ...parsed }
}

/** Numbers records in place of lines; the header of a file is 0. */
export class BerReader implements RecordReader {
  readonly #parser: BerParser
  readonly #framer: BerFramer
  #records: number
  #offset: number
  #header: BerFileHeader | undefined

  constructor(parser: BerParser, { offset, records, header }: RecordPosition) {
    this.#parser = parser
    this.#framer = new BerFramer(parser.fileFormat, offset)
    this.#records = records
    this.#offset = offset
    this.#header = header
  }

  push(chunk: Buffer): FileRecord[] {
    return this.#framer.push(chunk, false).map((frame) => this.#recordOf(frame))
  }

  end(): FileRecord[] {
    const records = this.#framer.push(NOTHING, true).map((frame) => this.#recordOf(frame))
    const wrong = this.#headerProblem()
    if (wrong !== null) records.push(this.#control(this.#records + 1, wrong))
    return records
  }

  #recordOf({ type, bytes, from, end, why, header }: BerFrame): FileRecord {
    this.#offset = end
    if (header !== null) this.#header = header
    if (type === 'header') return this.#control(0, null)
    if (type === 'rest') {
      const problem = { field: 'record', why: `${why} (byte ${from}): the rest is not read` }
      return this.#control(this.#records + 1, problem)
    }
    const { message, problem } = why === '' ? this.#parser.parse(bytes) : refused(why)
    const line = this.#records + 1
    this.#records = line
    const text = bytes.toString('hex')
    const placed = problem === null ? null : { ...problem, why: `${problem.why} (byte ${from})` }
    return { line, text, message, problem: placed, isControl: false, next: this.#position() }
  }

  #headerProblem(): FileRecord['problem'] {
    const { bytes = null, records = null } = this.#header ?? {}
    if (records !== null && records !== this.#records) {
      const why = `is ${records}, and the file has ${this.#records} records`
      return { field: 'number of CDRs', why }
    }
    const { offset } = this.#framer
    if (bytes === null || bytes <= offset) return null
    return { field: 'file length', why: `is ${bytes}, and the file has ${offset} bytes` }
  }

  #control(line: number, problem: FileRecord['problem']): FileRecord {
    return { line, text: '', message: null, problem, isControl: true, next: this.#position() }
  }

  #position(): RecordPosition {
    const place = { offset: this.#offset, line: this.#records + 1, records: this.#records }
    const header = this.#header === undefined ? {} : { header: this.#header }
    return { ...place, hasTrailer: false, ...header }
  }
}
