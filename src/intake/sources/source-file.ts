/** Takes one file of a source: charges its records, writes its report, and moves it away. */
import { mkdir, rm } from 'node:fs/promises'
import { join, posix } from 'node:path'
import type { Catalog } from '../../catalog/connection.ts'
import type { IntakeFileDocument } from '../../catalog/records/usage/intake-documents.ts'
import type { RecordFileType } from '../../file-types/records/record-files.ts'
import { download, type PlaceFile, type TransferPlace } from '../../transfer/place.ts'
import type { OnProgress } from '../take-file.ts'
import type { SourceSettings } from './settings.ts'

export interface SourceFileParts {
  readonly place: TransferPlace
  readonly settings: SourceSettings
  readonly catalog: Pick<Catalog, 'intakerejected'>
  /** Where files are copied that are not on this machine. */
  readonly spool: string
  take(
    path: string,
    name: string,
    fileType: RecordFileType,
    onProgress: OnProgress,
  ): Promise<IntakeFileDocument>
}

export interface TakenFile {
  readonly file: IntakeFileDocument
  /** It was taken before, under the same name and with the same content. */
  readonly isRepeated: boolean
}

/** It has changed while it was taken: it is not complete. */
class FileChangedError extends Error {
  override name = 'FileChangedError'
}

/** A report lists so many rejected records. */
const REJECTED_MAX = 1_000

/**
 * Each step may be repeated: a file whose records are charged is not charged again, and has its
 * report before it is moved.
 */
export async function takeSourceFile(
  parts: SourceFileParts,
  fileType: RecordFileType,
  found: PlaceFile,
  onProgress: OnProgress,
): Promise<TakenFile> {
  const { place, settings, take } = parts
  const { name } = found
  const base = posix.basename(name)
  const local = place.localPath(name)
  const path = local ?? join(parts.spool, base)
  if (local === null) {
    await mkdir(parts.spool, { recursive: true, mode: 0o700 })
    await download(place, name, path)
  }
  let begun: IntakeFileDocument['state'] | null = null
  const file = await take(path, base, fileType, (progress) => {
    begun ??= progress.state
    onProgress(progress)
  })
  const isRepeated = begun !== 'running'
  const now = await place.stat(name)
  const isSame = now?.sizeBytes === found.sizeBytes && now.modifiedMs === found.modifiedMs
  if (!isSame || file.size !== found.sizeBytes) {
    throw new FileChangedError(`${base} has changed while it was read`)
  }
  const target = await targetOf(parts, file)
  const report = `${JSON.stringify(await reportOf(parts, file, isRepeated), null, 2)}\n`
  await place.write(`${target}.report.json`, { bytes: Buffer.from(report) })
  await place.rename(name, target)
  if (settings.marker !== null) await place.remove(`${name}${settings.marker}`)
  if (local === null) await rm(path, { force: true })
  return { file, isRepeated }
}

/** A file that is there under the same name is kept. */
async function targetOf(
  { place, settings }: SourceFileParts,
  { _id, name, state }: IntakeFileDocument,
): Promise<string> {
  const folder = state === 'done' ? 'done' : 'failed'
  const target = `${settings.folder === '' ? '' : `${settings.folder}/`}${folder}/${name}`
  return (await place.stat(target)) === null ? target : `${target}.${_id}`
}

async function reportOf(
  { catalog, settings }: SourceFileParts,
  file: IntakeFileDocument,
  isRepeated: boolean,
): Promise<Record<string, unknown>> {
  const { _id, owner: _, chunk: __, position: ___, ...shown } = file
  const rejected = await catalog.intakerejected
    .find({ file: _id }, { projection: { _id: 0, line: 1, field: 1, reason: 1, state: 1 } })
    .sort({ line: 1 })
    .limit(REJECTED_MAX)
    .toArray()
  return {
    ...{ file: _id, source: settings.name, repeated: isRepeated },
    ...shown,
    rejected_records: rejected,
  }
}
