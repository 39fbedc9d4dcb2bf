/** Appends records to the hash chain of the installation, as part of a transaction. */
import type { ClientSession } from 'mongodb'
import type { Catalog } from '../connection.ts'
import { CatalogUnavailableError } from '../errors.ts'
import type { AuditDocument } from '../records/audit-document.ts'
import { stateOf } from '../transactions/state.ts'

/**
 * Adds records to the session's transaction, which links them to the chain before it commits. None
 * of their stamps may be stored yet (`unwrittenRecords`).
 */
export function appendDocuments(session: ClientSession, documents: readonly AuditDocument[]): void {
  stateOf(session).audit.push(...documents)
}

/** The documents whose stamps are not stored. Rejects with `CatalogUnavailableError`. */
export async function unwrittenRecords(
  catalog: Catalog,
  documents: readonly AuditDocument[],
): Promise<AuditDocument[]> {
  const stamps = documents.map(({ stamp }) => stamp)
  const found = await catalog.audit
    .find({ stamp: { $in: stamps } }, { projection: { stamp: 1 } })
    .toArray()
  const known = new Set(found.map(({ stamp }) => stamp))
  // Two documents of one call may have the same stamp.
  return documents.filter(({ stamp }) => {
    const isNew = !known.has(stamp)
    known.add(stamp)
    return isNew
  })
}

/** Per transaction; a record is smaller than 256 KiB. */
const RECORDS_MAX = 100

interface QueuedAppend {
  documents: readonly AuditDocument[]
  resolve(): void
  reject(error: unknown): void
}

interface Writer {
  queue: QueuedAppend[]
  isRunning: boolean
}

/** By catalogue: the calls that wait for the transaction before. */
const writers = new WeakMap<Catalog, Writer>()

/**
 * Writes the records whose stamps are not stored yet, in a transaction of their own; the calls that
 * wait for the one before share it. Rejects with `CatalogUnavailableError`.
 */
export function appendRecords(
  catalog: Catalog,
  documents: readonly AuditDocument[],
): Promise<void> {
  if (documents.length === 0) return Promise.resolve()
  const writer = writerOf(catalog)
  return new Promise((resolve, reject) => {
    writer.queue.push({ documents, resolve, reject })
    if (!writer.isRunning) void drainQueue(catalog, writer)
  })
}

function writerOf(catalog: Catalog): Writer {
  const known = writers.get(catalog)
  if (known !== undefined) return known
  const writer: Writer = { queue: [], isRunning: false }
  writers.set(catalog, writer)
  return writer
}

async function drainQueue(catalog: Catalog, writer: Writer): Promise<void> {
  writer.isRunning = true
  while (writer.queue.length > 0) {
    const batch = takeBatch(writer)
    try {
      await append(
        catalog,
        batch.flatMap(({ documents }) => documents),
      )
      for (const { resolve } of batch) resolve()
    } catch (error) {
      await appendEach(catalog, batch, error)
    }
  }
  writer.isRunning = false
}

/** The first queued append, and as many further ones as fit into the same transaction. */
function takeBatch(writer: Writer): QueuedAppend[] {
  let records = 0
  const fits = writer.queue.findIndex(({ documents }, index) => {
    records += documents.length
    return index > 0 && records > RECORDS_MAX
  })
  return writer.queue.splice(0, fits === -1 ? writer.queue.length : fits)
}

/** A record that MongoDB rejects must not fail the other records of the batch. */
async function appendEach(
  catalog: Catalog,
  batch: readonly QueuedAppend[],
  error: unknown,
): Promise<void> {
  if (batch.length === 1 || error instanceof CatalogUnavailableError) {
    for (const { reject } of batch) reject(error)
    return
  }
  for (const { documents, resolve, reject } of batch) {
    await append(catalog, documents).then(resolve, reject)
  }
}

async function append(catalog: Catalog, documents: readonly AuditDocument[]): Promise<void> {
  await catalog.transaction('write audit records', async (session) => {
    appendDocuments(session, await unwrittenRecords(catalog, documents))
  })
}
