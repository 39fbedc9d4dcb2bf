/** Reads the records of a file in chunks. */
import { createReadStream } from 'node:fs'
import { openRecordReader } from '../file-types/records/reader.ts'
import type {
  FileRecord,
  RecordFileType,
  RecordPosition,
} from '../file-types/records/record-files.ts'

export interface FileSource {
  path: string
  /** Bytes to read; what is appended later is not part of the file. */
  size: number
  fileType: RecordFileType
  chunkRecords: number
}

/** The file has fewer bytes than before. */
export class FileCutOffError extends Error {
  override name = 'FileCutOffError'
}

/** A chunk ends with the record that reaches so much text. */
const CHUNK_CHARS = 4 * 1024 * 1024

/**
 * `end`: where the first chunk ends, if that is known. No chunk is empty. Rejects with
 * `FileCutOffError`, before the last record of a file that was cut off.
 */
export async function* readChunks(
  { path, size, fileType, chunkRecords }: FileSource,
  from: RecordPosition,
  end: number | null,
): AsyncGenerator<FileRecord[]> {
  const reader = openRecordReader(fileType, from)
  let chunk: FileRecord[] = []
  let chars = 0
  let endsAt = end
  const take = function* (records: Iterable<FileRecord>) {
    for (const record of records) {
      chunk.push(record)
      chars += record.text.length
      const isLarge = chunk.length >= chunkRecords || chars >= CHUNK_CHARS
      const isFull = endsAt === null ? isLarge : record.next.offset >= endsAt
      if (!isFull) continue
      yield chunk
      chunk = []
      chars = 0
      endsAt = null
    }
  }
  if (from.offset < size) {
    const bytes = createReadStream(path, { start: from.offset, end: size - 1 })
    for await (const part of bytes) yield* take(reader.push(part as Buffer))
    if (from.offset + bytes.bytesRead < size) {
      throw new FileCutOffError(`${path} was cut off: it had ${size} bytes`)
    }
  }
  yield* take(reader.end())
  if (chunk.length > 0) yield chunk
}
