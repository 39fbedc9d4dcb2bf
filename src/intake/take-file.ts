/** Charges the records of a file: each once, and from where an earlier process has stopped. */
import { createHash, randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import type { Catalog } from '../catalog/connection.ts'
import { repeated } from '../catalog/patience.ts'
import type { IntakeCounts, IntakeFileDocument } from '../catalog/records/usage/intake-documents.ts'
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

/** A file that is done is not read again. Rejects with `FileTakenOverError`. */
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
  await run.run()
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
      // A failed chunk ends the file; the error of the other one is not lost.
      const [next] = await Promise.all([this.#prepare(null), charging])
      if (next !== null) addRepeated(next, result.chargedKeys)
      await this.#finish(current, next)
      current = next
    }
    if (this.file.state === 'running') await this.#store({ state: this.#endState() })
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
    const { catalog, clock, patience } = this.#stores
    const { file } = this
    const now = new Date(clock.nowMs())
    const rejected = result.rejections.map((one) => rejectedDocument(file, one, now))
    if (rejected.length > 0) {
      await repeated(
        () =>
          catalog.intakerejected.bulkWrite(
            rejected.map(({ _id, ...fields }) => ({
              updateOne: { filter: { _id }, update: { $setOnInsert: fields }, upsert: true },
            })),
            { ordered: false },
          ),
        patience,
      )
    }
    const counts = Object.fromEntries(
      Object.entries(result.counts).map(([name, count]) => [
        name,
        file[name as keyof IntakeCounts] + count,
      ]),
    ) as unknown as IntakeCounts
    await this.#store({
      ...counts,
      totals: addTotals(file.totals, result.totals),
      position: end,
      error: file.error || error,
      chunk: next === null ? null : chunkOf(next),
    })
  }

  #endState(): IntakeFileDocument['state'] {
    return this.file.error === '' ? 'done' : 'failed'
  }

  async #store(change: Partial<IntakeFileDocument>): Promise<void> {
    const { catalog, clock, patience } = this.#stores
    const { _id, owner } = this.file
    const fields = { ...change, updated: new Date(clock.nowMs()) }
    const { matchedCount } = await repeated(
      () => catalog.intakefiles.updateOne({ _id, owner }, { $set: fields }),
      patience,
    )
    if (matchedCount === 0) {
      throw new FileTakenOverError(`another process works on ${this.file.name}`)
    }
    this.file = { ...this.file, ...fields }
    this.#onProgress(this.file)
  }
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
