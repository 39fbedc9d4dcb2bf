/** Composes the intake on open stores: a worker in this process, and the stored file types. */
import type { Actor } from '../catalog/actor.ts'
import type { Catalog } from '../catalog/connection.ts'
import type { Patience } from '../catalog/patience.ts'
import { repeated } from '../catalog/patience.ts'
import type { IntakeFileDocument } from '../catalog/records/usage/intake-documents.ts'
import { readStoredConfig } from '../catalog/settings/stored-config.ts'
import type { Config } from '../config/schema.ts'
import { fileTypeDefaultsOf } from '../file-types/defaults.ts'
import { installedFileTypes } from '../file-types/installed.ts'
import type { RecordFileType } from '../file-types/records/record-files.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Clock } from '../runtime/clock.ts'
import { buildWorker } from '../workers/build.ts'
import { type ChargedText, chargeTexts } from './charge-texts.ts'
import { type Resubmission, resubmitRecord } from './rejected.ts'
import { type IntakeStores, type OnProgress, takeFile } from './take-file.ts'

/** The name is not that of an enabled file type of records. */
export class RecordFileTypeError extends Error {
  override name = 'RecordFileTypeError'
}

export interface Intake {
  /** Rejects with `RecordFileTypeError`. */
  fileType(name: string): Promise<RecordFileType>
  /** See `takeFile`. `name`: of the file, without its folder. */
  take(
    path: string,
    name: string,
    fileType: RecordFileType,
    onProgress: OnProgress,
  ): Promise<IntakeFileDocument>
  /** See `resubmitRecord`. Rejects with `RecordFileTypeError`. */
  resubmit(id: string, text: string | null, actor: Actor): Promise<Resubmission>
  /** See `chargeTexts`. Rejects with `RecordFileTypeError`. */
  charge(fileTypeName: string, texts: readonly string[]): Promise<ChargedText[]>
  /** Called when nothing is under way. */
  close(): Promise<void>
}

export interface IntakeOptions {
  readonly catalog: Catalog
  readonly ledger: Ledger
  readonly clock: Clock
  /** With resolved addresses of both stores. */
  readonly config: Config
  readonly patience: Patience
}

/** Records per update of the progress of a file. */
const CHUNK_RECORDS = 2_000
/** Not the first worker, which follows what only charging needs. */
const WORKER = 1

export async function openIntake(options: IntakeOptions): Promise<Intake> {
  const { catalog, ledger, clock, config, patience } = options
  // Subscribers of a file are loaded with its records; those of charging need not be here.
  const ledgerSettings = { ...config.ledger, ownersWarmedMax: 0 }
  const settings = { config: { ...config, ledger: ledgerSettings }, worker: WORKER }
  const worker = await buildWorker({ ...settings, ahead: clock.ahead }, () => undefined)
  const stores: IntakeStores = {
    ...{ catalog, ledger, clock, worker, patience },
    replayMs: config.ledger.replayMs,
    eventFutureMsMax: config.rating.eventFutureMsMax,
    chunkRecords: CHUNK_RECORDS,
  }
  const defaults = fileTypeDefaultsOf(config)
  const findFileType = async (name: string) => {
    const { file_types } = await repeated(() => readStoredConfig(catalog), patience)
    const installed = installedFileTypes(file_types, defaults)
    return recordFileType(
      installed.find((one) => one.name === name),
      name,
    )
  }
  return {
    fileType: findFileType,
    take: (path, name, fileType, onProgress) =>
      takeFile(stores, { path, name, fileType }, onProgress),
    resubmit: (id, text, actor) => resubmitRecord(stores, findFileType, id, text, actor),
    charge: (name, texts) => chargeTexts(stores, findFileType, name, texts),
    close: () => worker.close(),
  }
}

type Installed = ReturnType<typeof installedFileTypes>[number]

function recordFileType(installed: Installed | undefined, name: string): RecordFileType {
  if (installed === undefined) throw new RecordFileTypeError(`there is no file type ${name}`)
  const { fileType, problem } = installed
  if (fileType === null) {
    throw new RecordFileTypeError(`file type ${name}: ${problem.path} ${problem.reason}`)
  }
  if (fileType.type !== 'usage') {
    throw new RecordFileTypeError(`file type ${name} is for messages, not for files (type: usage)`)
  }
  if (!fileType.isEnabled) throw new RecordFileTypeError(`file type ${name} is disabled`)
  return fileType
}
