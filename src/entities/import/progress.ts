/** Progress of an import, stored in MongoDB, so that it can be resumed after the last batch. */
import { randomUUID } from 'node:crypto'
import { appendDocuments, unwrittenRecords } from '../../catalog/audit/append.ts'
import type { ClientSession } from '../../catalog/collections.ts'
import type { Catalog } from '../../catalog/connection.ts'
import { isAway, repeated } from '../../catalog/patience.ts'
import type { AuditDocument } from '../../catalog/records/audit-document.ts'
import type {
  ImportFailuresDocument,
  ImportProgressDocument,
} from '../../catalog/records/import-document.ts'
import type { Fields } from '../../domain/fields.ts'
import { ExecutionError } from '../../requests/errors.ts'
import { type Clock, realTimeOf } from '../../runtime/clock.ts'
import { hasEnded, processIdentity } from '../../runtime/process-identity.ts'

/** A batch takes less than a second, or somewhat longer while a store is unavailable. */
const LEASE_MS = 60_000

/** Number of failed rows that are stored and reported; further ones are only counted. */
export const FAILURES_MAX = 10_000

export interface Failure {
  row: string
  text: string
}

export interface ImportStart {
  importId: string
  collection: string
  operation: string
  checksum: string
  fileName: string
  rowsTotal: number
}

/** The progress of an import in the process that executes it. */
export interface ImportProgress {
  readonly unitsDone: number
  readonly rowsDone: number
  readonly rowsFailed: number
  /** True if the import has been completed before. */
  readonly isDone: boolean
  /** Failed rows of earlier attempts, at most `FAILURES_MAX`. */
  readonly failures: readonly Failure[]
  /** Called after all writes of a batch; the failed rows and the progress are one transaction. */
  recordBatch(batch: { units: number; rows: number; failures: readonly Failure[] }): Promise<void>
  /** Completes the import together with its audit record. */
  complete(record: AuditDocument): Promise<void>
  /** The import can be resumed. */
  stop(): Promise<void>
}

interface Stores {
  catalog: Catalog
  clock: Clock
}

/**
 * Starts or resumes an import. Throws `ExecutionError` if the id belongs to a different import, or
 * if another process is executing it.
 */
export function beginProgress(stores: Stores, start: ImportStart): Promise<ImportProgress> {
  // An attempt without an answer may have stored it.
  const token = randomUUID()
  return repeated(() => begin(stores, start, token), stores.catalog.patience, isAway)
}

async function begin(stores: Stores, start: ImportStart, token: string): Promise<ImportProgress> {
  const { catalog, clock } = stores
  await insertNew(stores, start, token)
  const found = await read(catalog, start.importId)
  if (found === null) throw new ExecutionError(`import ${start.importId} was deleted`, 'refused')
  checkSame(found, start)
  if (found.token !== token && found.state !== 'done') await takeOver(stores, found, token)
  const failures = await failuresOf(catalog, found)
  return new StoredProgress({ catalog, clock }, { ...found, token }, failures)
}

async function insertNew(
  { catalog, clock }: Stores,
  { importId, collection, operation, checksum, fileName, rowsTotal }: ImportStart,
  token: string,
): Promise<void> {
  const now = new Date(clock.nowMs())
  const document: Omit<ImportProgressDocument, '_id'> = {
    kind: 'progress',
    collection,
    operation,
    checksum,
    file_name: fileName,
    rows_total: rowsTotal,
    state: 'running',
    units_done: 0,
    rows_done: 0,
    rows_failed: 0,
    token,
    holder: processIdentity(),
    expires: leaseFrom(clock),
    started: now,
    changed: now,
  }
  await catalog.imports.updateOne({ _id: importId }, { $setOnInsert: document }, { upsert: true })
}

function checkSame(found: ImportProgressDocument, start: ImportStart): void {
  const { importId, checksum, collection } = start
  if (found.checksum === checksum && found.collection === collection) return
  throw new ExecutionError(
    `import ${importId} was of ${found.collection} from ${found.file_name || 'a file'}, ` +
      'with another content or other settings: use another import_id',
    'refused',
  )
}

function isLeased({ state, expires, holder }: ImportProgressDocument, clock: Clock): boolean {
  const nowMs = realTimeOf(clock).nowMs()
  return state === 'running' && expires.getTime() > nowMs && !hasEnded(holder)
}

async function takeOver(
  { catalog, clock }: Stores,
  found: ImportProgressDocument,
  token: string,
): Promise<void> {
  const running = new ExecutionError(
    `import ${found._id} is being done by another process`,
    'refused',
  )
  if (isLeased(found, clock)) throw running
  const lease = { token, holder: processIdentity(), state: 'running', expires: leaseFrom(clock) }
  const { matchedCount } = await catalog.imports.updateOne(
    { _id: found._id, token: found.token },
    { $set: lease as object },
  )
  if (matchedCount === 0) throw running
}

function leaseFrom(clock: Clock): Date {
  return new Date(realTimeOf(clock).nowMs() + LEASE_MS)
}

class StoredProgress implements ImportProgress {
  unitsDone: number
  rowsDone: number
  rowsFailed: number
  readonly isDone: boolean
  readonly failures: readonly Failure[]
  readonly #stores: Stores
  readonly #document: ImportProgressDocument
  #failuresStored: number

  constructor(stores: Stores, document: ImportProgressDocument, failures: readonly Failure[]) {
    this.#stores = stores
    this.#document = document
    this.unitsDone = document.units_done
    this.rowsDone = document.rows_done
    this.rowsFailed = document.rows_failed
    this.isDone = document.state === 'done'
    this.failures = failures
    this.#failuresStored = failures.length
  }

  async recordBatch({
    units,
    rows,
    failures,
  }: Parameters<ImportProgress['recordBatch']>[0]): Promise<void> {
    const { catalog, clock } = this.#stores
    const kept = failures.slice(0, Math.max(0, FAILURES_MAX - this.#failuresStored))
    await catalog.transaction('note the progress of an import', async (session) => {
      await this.#storeFailures(session, kept)
      await this.#set(
        {
          units_done: this.unitsDone + units,
          rows_done: this.rowsDone + rows,
          rows_failed: this.rowsFailed + failures.length,
          expires: leaseFrom(clock),
        },
        session,
      )
    })
    this.#failuresStored += kept.length
    this.unitsDone += units
    this.rowsDone += rows
    this.rowsFailed += failures.length
  }

  complete(record: AuditDocument): Promise<void> {
    const { catalog } = this.#stores
    return catalog.transaction('complete an import', async (session) => {
      await this.#set({ state: 'done' }, session)
      appendDocuments(session, await unwrittenRecords(catalog, [record]))
    })
  }

  stop(): Promise<void> {
    return this.#set({ state: 'stopped' })
  }

  async #storeFailures(session: ClientSession, failures: readonly Failure[]): Promise<void> {
    if (failures.length === 0) return
    const { catalog } = this.#stores
    const _id = failuresId(this.#document._id, this.unitsDone)
    const document = { _id, kind: 'failures' as const, failures: [...failures] }
    // A repeated batch may have been recorded before.
    await catalog.imports.replaceOne({ _id }, document, { session, upsert: true })
  }

  async #set(fields: Fields, session?: ClientSession): Promise<void> {
    const { catalog, clock } = this.#stores
    const { _id, token } = this.#document
    const changed = new Date(clock.nowMs())
    const { matchedCount } = await catalog.imports.updateOne(
      { _id, token },
      { $set: { ...fields, changed } as object },
      session === undefined ? {} : { session },
    )
    if (matchedCount === 1) return
    throw new ExecutionError(`import ${_id} was taken over by another process`, 'refused')
  }
}

const UNIT_DIGITS = 12

function failuresId(importId: string, unit: number): string {
  return `${importId}/${String(unit).padStart(UNIT_DIGITS, '0')}`
}

async function read(catalog: Catalog, importId: string): Promise<ImportProgressDocument | null> {
  const found = await catalog.imports.findOne({ _id: importId })
  return found as ImportProgressDocument | null
}

async function failuresOf(
  catalog: Catalog,
  { _id: importId }: ImportProgressDocument,
): Promise<Failure[]> {
  // '0' is the character after '/'.
  const ids = { $gte: `${importId}/`, $lt: `${importId}0` }
  const found = await catalog.imports.find({ _id: ids }).sort({ _id: 1 }).toArray()
  return (found as ImportFailuresDocument[]).flatMap(({ failures }) => failures)
}

/**
 * The progress in the format of the response, with the failures. Throws `ExecutionError` if the
 * import does not exist.
 */
export async function readProgress({ catalog, clock }: Stores, importId: string): Promise<Fields> {
  const found = await read(catalog, importId)
  if (found === null)
    throw new ExecutionError(`there is no import ${importId.slice(0, 64)}`, 'refused')
  const { collection, operation, file_name: fileName, state, started, changed } = found
  const isCutOff = state === 'running' && !isLeased(found, clock)
  const failures = await failuresOf(catalog, found)
  return {
    import_id: importId,
    collection,
    operation,
    file_name: fileName,
    state: isCutOff ? 'stopped' : state,
    total: found.rows_total,
    done: found.rows_done,
    failed: found.rows_failed,
    failures: Object.fromEntries(failures.map(({ row, text }) => [row, text])),
    started,
    changed,
  }
}
