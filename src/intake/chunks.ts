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

/** `end`: where the first chunk ends, if that is known. No chunk is empty. */
export async function* readChunks(
  { path, size, fileType, chunkRecords }: FileSource,
  from: RecordPosition,
  end: number | null,
): AsyncGenerator<FileRecord[]> {
  const reader = openRecordReader(fileType, from)
  let chunk: FileRecord[] = []
  let endsAt = end
  const take = function* (records: Iterable<FileRecord>) {
    for (const record of records) {
      chunk.push(record)
      const isFull = endsAt === null ? chunk.length >= chunkRecords : record.next.offset >= endsAt
      if (!isFull) continue
      yield chunk
      chunk = []
      endsAt = null
    }
  }
  if (from.offset < size) {
    const bytes = createReadStream(path, { start: from.offset, end: size - 1 })
    for await (const part of bytes) yield* take(reader.push(part as Buffer))
  }
  yield* take(reader.end())
  if (chunk.length > 0) yield chunk
}
