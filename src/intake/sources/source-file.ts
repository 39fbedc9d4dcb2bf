/** Takes one file of a source: charges its records, writes its report, and moves it away. */
import { randomUUID } from 'node:crypto'
import { mkdir, rm } from 'node:fs/promises'
import { join, posix } from 'node:path'
import type { Catalog } from '../../catalog/connection.ts'
import type { IntakeFileDocument } from '../../catalog/records/usage/intake-documents.ts'
import type { RecordFileType } from '../../file-types/records/record-files.ts'
import { download, isUnchanged, type PlaceFile, type TransferPlace } from '../../transfer/place.ts'
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

export async function takeSourceFile(
  parts: SourceFileParts,
  fileType: RecordFileType,
  found: PlaceFile,
  onProgress: OnProgress,
): Promise<TakenFile> {
  const { place, spool } = parts
  const local = place.localPath(found.name)
  if (local !== null) return takeLocalFile(parts, fileType, found, local, onProgress)
  // Another process whose lease has ended may still read its own copy.
  const path = join(spool, randomUUID())
  try {
    await mkdir(spool, { recursive: true, mode: 0o700 })
    await download(place, found.name, path)
    return await takeLocalFile(parts, fileType, found, path, onProgress)
  } finally {
    for (const copy of [path, `${path}.part`]) await rm(copy, { force: true })
  }
}

/**
 * Each step may be repeated: a file whose records are charged is not charged again, and has its
 * report before it is moved. `path`: the file, or a copy.
 */
async function takeLocalFile(
  parts: SourceFileParts,
  fileType: RecordFileType,
  found: PlaceFile,
  path: string,
  onProgress: OnProgress,
): Promise<TakenFile> {
  const { place, settings, take } = parts
  const { name } = found
  const base = posix.basename(name)
  const marker = settings.marker === null ? null : await place.stat(`${name}${settings.marker}`)
  let begun: IntakeFileDocument['state'] | null = null
  const file = await take(path, base, fileType, (progress) => {
    begun ??= progress.state
    onProgress(progress)
  })
  const isRepeated = begun !== 'running'
  const changed = new FileChangedError(`${base} has changed while it was read`)
  const isSame = file.size === found.sizeBytes && isUnchanged(found, await place.stat(name))
  if (!isSame) throw changed
  const target = await targetOf(parts, file)
  const report = `${target}.report.json`
  const text = `${JSON.stringify(await reportOf(parts, file, isRepeated), null, 2)}\n`
  await place.write(report, { bytes: Buffer.from(text) })
  // The report takes time, in which another file of this name may come.
  if (!(await place.move(found, target))) {
    await place.remove(report)
    throw changed
  }
  // The next file of this name may have its own one already.
  if (marker !== null && isUnchanged(marker, await place.stat(marker.name))) {
    await place.remove(marker.name)
  }
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
