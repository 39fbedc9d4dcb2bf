/** Charges the records of a file: each once, and from where an earlier process has stopped. */
import { createHash, randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import type { ClientSession } from '../catalog/collections.ts'
import type { Catalog } from '../catalog/connection.ts'
import { EntityConflictError } from '../catalog/errors.ts'
import { isUnanswered, repeated } from '../catalog/patience.ts'
import type {
  IntakeCounts,
  IntakeFileDocument,
  IntakeRejectedDocument,
} from '../catalog/records/usage/intake-documents.ts'
import {
  FILE_START,
  type FileRecord,
  type RecordFileType,
} from '../file-types/records/record-files.ts'
import type { Clock } from '../runtime/clock.ts'
import { chargeChunk, findDuplicates, type RecordStores } from './charge-chunk.ts'
import { readChunks } from './chunks.ts'
import {
  addTotals,
  type MappingOptions,
  type PreparedChunk,
  prepareChunk,
  type Rejection,
  rejectedDocument,
} from './prepared-chunk.ts'
import type { RecordedLines } from './recorded.ts'

export interface IntakeStores extends RecordStores {
  readonly catalog: Pick<Catalog, 'lines' | 'intakefiles' | 'intakerejected' | 'transaction'>
  readonly clock: Clock
  /** `rating.eventFutureMsMax`. */
  readonly eventFutureMsMax: number
  /** The progress of a file is stored once for so many records. */
  readonly chunkRecords: number
}

export function mappingOf(
  { clock, eventFutureMsMax }: Pick<IntakeStores, 'clock' | 'eventFutureMsMax'>,
  fileId: string,
  fileType: RecordFileType,
): MappingOptions {
  return { fileId, fileType, nowMs: clock.nowMs(), eventFutureMsMax }
}

export interface GivenFile {
  path: string
  name: string
  fileType: RecordFileType
}

/** Another process works on the file. */
export class FileTakenOverError extends Error {
  override name = 'FileTakenOverError'
}

/** Called after each chunk, and first with what an earlier process has done. */
export type OnProgress = (file: Readonly<IntakeFileDocument>) => void

/** A file that is done is not read again. Rejects with `FileTakenOverError`, `FileCutOffError`. */
export async function takeFile(
  stores: IntakeStores,
  given: GivenFile,
  onProgress: OnProgress,
): Promise<IntakeFileDocument> {
  const { size } = await stat(given.path)
  const id = await fileId(given, size)
  const begun = await beginFile(stores, given, id, size)
  onProgress(begun)
  if (begun.state !== 'running') return begun
  const run = new FileRun(stores, given, begun, onProgress)
  try {
    await run.run()
  } finally {
    await run.close()
  }
  return run.file
}

/** Files of the same content are one if they have the same name. */
async function fileId({ path, name, fileType }: GivenFile, size: number): Promise<string> {
  const hash = createHash('sha256').update(`${fileType.name}\n${name}\n`)
  if (size > 0)
    for await (const bytes of createReadStream(path, { end: size - 1 })) hash.update(bytes)
  return hash.digest('base64url').slice(0, 22)
}

async function beginFile(
  { catalog, clock, patience }: IntakeStores,
  { name, fileType }: GivenFile,
  _id: string,
  size: number,
): Promise<IntakeFileDocument> {
  const now = new Date(clock.nowMs())
  const nothing: IntakeCounts = { read: 0, charged: 0, duplicates: 0, filtered: 0, rejected: 0 }
  const first: Omit<IntakeFileDocument, '_id' | 'owner'> = {
    ...{ name, file_type: fileType.name, size, state: 'running', error: '' },
    ...nothing,
    ...{ position: FILE_START, chunk: null, totals: [], begun: now, updated: now },
  }
  const change = { $set: { owner: randomUUID() }, $setOnInsert: first }
  const more = { upsert: true, returnDocument: 'after' } as const
  const found = await repeated(
    () => catalog.intakefiles.findOneAndUpdate({ _id }, change, more),
    patience,
  )
  return found as IntakeFileDocument
}

interface NextChunk extends PreparedChunk {
  duplicates: number[]
  recorded: RecordedLines | null
}

class FileRun {
  /** As it is stored. */
  file: IntakeFileDocument
  readonly #stores: IntakeStores
  readonly #given: GivenFile
  readonly #chunks: AsyncGenerator<FileRecord[]>
  readonly #onProgress: OnProgress

  constructor(
    stores: IntakeStores,
    given: GivenFile,
    file: IntakeFileDocument,
    onProgress: OnProgress,
  ) {
    this.#stores = stores
    this.#given = given
    this.file = file
    this.#onProgress = onProgress
    const { position, chunk, size } = file
    const { chunkRecords } = stores
    this.#chunks = readChunks({ ...given, size, chunkRecords }, position, chunk?.end ?? null)
  }

  /** While a chunk is charged, the next one is read and compared. */
  async run(): Promise<void> {
    const { chunk: interrupted } = this.file
    let current = await this.#prepare(interrupted?.duplicates ?? null)
    if (current !== null) await this.#store({ chunk: chunkOf(current) })
    while (current !== null) {
      const { charges, duplicates, result, recorded } = current
      const charging = chargeChunk(this.#stores, charges, new Set(duplicates), result, recorded)
      // The caller closes the stores when either has failed: the other one must have ended.
      const preparing = this.#prepare(null)
      const ended = await Promise.allSettled([preparing, charging])
      for (const one of ended) if (one.status === 'rejected') throw one.reason
      const next = await preparing
      if (next !== null) addRepeated(next, result.chargedKeys)
      await this.#finish(current, next)
      current = next
    }
    if (this.file.state === 'running') await this.#store({ state: this.#endState() })
  }

  /** Closes the file, which is read to its end only if no chunk fails. */
  async close(): Promise<void> {
    await this.#chunks.return(undefined)
  }

  /** `duplicates`: those of an interrupted chunk. Null at the end of the file. */
  async #prepare(duplicates: number[] | null): Promise<NextChunk | null> {
    const read = await this.#chunks.next()
    if (read.done === true) return null
    const { fileType } = this.#given
    const prepared = prepareChunk(read.value, mappingOf(this.#stores, this.file._id, fileType))
    if (duplicates !== null) return { ...prepared, duplicates, recorded: null }
    return { ...prepared, ...(await findDuplicates(this.#stores, prepared.charges)) }
  }

  /** Stores what has become of a chunk, and that the next one begins. */
  async #finish({ result, end, error }: NextChunk, next: NextChunk | null): Promise<void> {
    const { file } = this
    const counts = Object.fromEntries(
      Object.entries(result.counts).map(([name, count]) => [
        name,
        file[name as keyof IntakeCounts] + count,
      ]),
    ) as unknown as IntakeCounts
    const change = {
      ...counts,
      totals: addTotals(file.totals, result.totals),
      position: end,
      error: file.error || error,
      chunk: next === null ? null : chunkOf(next),
    }
    await this.#store(change, result.rejections)
  }

  #endState(): IntakeFileDocument['state'] {
    return this.file.error === '' ? 'done' : 'failed'
  }

  /** Only the process that owns the file writes, its rejected records included. */
  async #store(
    change: Partial<IntakeFileDocument>,
    rejections: readonly Rejection[] = [],
  ): Promise<void> {
    const { catalog, clock, patience } = this.#stores
    const { _id, owner, name } = this.file
    const now = new Date(clock.nowMs())
    const fields = { ...change, updated: now }
    const rejected = rejections.map((one) => upsertOf(rejectedDocument(this.file, one, now)))
    const write = async (session: ClientSession) => {
      const { matchedCount } = await catalog.intakefiles.updateOne(
        { _id, owner },
        { $set: fields },
        { session },
      )
      if (matchedCount === 0) throw new FileTakenOverError(`another process works on ${name}`)
      if (rejected.length === 0) return
      await catalog.intakerejected.bulkWrite(rejected, { ordered: false, session })
    }
    const isPassing = (error: unknown) =>
      isUnanswered(error) || error instanceof EntityConflictError
    await repeated(
      () => catalog.transaction('store the progress of a file', write),
      patience,
      isPassing,
    )
    this.file = { ...this.file, ...fields }
    this.#onProgress(this.file)
  }
}

/** A record that was rejected before keeps what has become of it. */
function upsertOf({ _id, ...fields }: IntakeRejectedDocument) {
  return { updateOne: { filter: { _id }, update: { $setOnInsert: fields }, upsert: true } }
}

/** Records of the next chunk that the one before it has charged are duplicates. */
function addRepeated(next: NextChunk, charged: ReadonlySet<string>): void {
  const known = new Set(next.duplicates)
  for (const { record, sessionKey } of next.charges) {
    if (charged.has(sessionKey) && !known.has(record.line)) next.duplicates.push(record.line)
  }
}

function chunkOf({ end, duplicates }: NextChunk): IntakeFileDocument['chunk'] {
  return { end: end.offset, duplicates }
}
