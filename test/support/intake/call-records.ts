/** A file type of records: lines of JSON, which are their own identity. */
import { serviceRequest } from '../../../src/domain/charge-request.ts'
import type {
  FileRecord,
  OpenRecordReader,
  RecordFileType,
} from '../../../src/file-types/records/record-files.ts'
import { requestOf } from '../domain/requests.ts'

export interface CallRecord {
  id: string
  /** Bytes of data. */
  used: number
  msisdn: string
  atMs: number
}

export const CALLS = {
  type: 'usage',
  name: 'calls',
  isEnabled: true,
  rulesKey: '',
  rules: null,
  words: new Set(),
  map(message, { origin }) {
    const { id, used, msisdn, atMs } = message as unknown as CallRecord
    if (msisdn === undefined) return { field: 'msisdn', why: 'is required' }
    const request = requestOf({
      kind: 'event',
      origin: `${origin}/calls`,
      sessionId: id,
      requestNumber: -1,
      subscriberKey: 'msisdn',
      subscriberValue: msisdn,
      eventTimeMs: atMs,
      services: [serviceRequest({ usaget: 'data', used })],
    })
    return { request: used === 0 ? null : request, skipped: [], echo: {} as never }
  },
} as RecordFileType

export const openRecordReader: OpenRecordReader = (_, from) => {
  let { offset, line } = from ?? { offset: 0, line: 1 }
  let rest = ''
  const recordOf = (text: string, bytes: number): FileRecord => {
    offset += bytes
    line += 1
    const next = { offset, line, records: line - 1, hasTrailer: false }
    const common = { line: line - 1, text, next }
    if (text.startsWith('#')) {
      const problem = text === '#' ? null : { field: 'trailer', why: 'counts other records' }
      return { ...common, message: null, problem, isControl: true }
    }
    try {
      return { ...common, message: JSON.parse(text), problem: null, isControl: false }
    } catch {
      const problem = { field: 'record', why: 'is not JSON' }
      return { ...common, message: null, problem, isControl: false }
    }
  }
  return {
    *push(chunk) {
      const parts = (rest + chunk.toString()).split('\n')
      rest = parts.pop() ?? ''
      for (const text of parts) yield recordOf(text, text.length + 1)
    },
    *end() {
      if (rest !== '') yield recordOf(rest, rest.length)
    },
  }
}
