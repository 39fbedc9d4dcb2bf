/**
 * Appends records to the hash chain of the installation. The unique index on the sequence number
 * serializes writers: if two processes insert the same number, one succeeds; the other reads the
 * new end of the chain and retries. Within a process, queued records are linked and written in
 * batches.
 */
import { randomInt } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { MongoBulkWriteError } from 'mongodb'
import { monotonicMs } from '../../runtime/clock.ts'
import type { Catalog } from '../connection.ts'
import { CatalogUnavailableError } from '../errors.ts'
import { isDuplicate } from '../revisions/revisions.ts'
import type { AuditDocument } from './audit-document.ts'
import { CHAIN_START, type ChainEnd, linkRecords } from './chain.ts'

/** Per write; a record is smaller than 256 KiB. */
const RECORDS_PER_WRITE = 100
/** Losing this many races is not normal load. */
const ATTEMPTS_MAX = 200
const PAUSE_MS_MAX = 20
/**
 * A cached end that is older than this is read again: later records may have been removed since.
 */
const CACHE_MS = 5_000

interface QueuedAppend {
  documents: readonly AuditDocument[]
  resolve(): void
  reject(error: unknown): void
}

interface Writer {
  queue: QueuedAppend[]
  isRunning: boolean
  end: ChainEnd | null
  endReadMs: number
}

/** By catalogue: the queued records, and the end of the chain as cached by this process. */
const writers = new WeakMap<Catalog, Writer>()

/** Writes the records whose stamps are not stored yet. Rejects with `CatalogUnavailableError`. */
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
  const writer: Writer = { queue: [], isRunning: false, end: null, endReadMs: 0 }
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
        writer,
        batch.flatMap(({ documents }) => documents),
      )
      for (const { resolve } of batch) resolve()
    } catch (error) {
      await appendEach(catalog, writer, batch, error)
    }
  }
  writer.isRunning = false
}

/** The first queued append, and as many further ones as fit into the same write. */
function takeBatch(writer: Writer): QueuedAppend[] {
  let records = 0
  const fits = writer.queue.findIndex(({ documents }, index) => {
    records += documents.length
    return index > 0 && records > RECORDS_PER_WRITE
  })
  return writer.queue.splice(0, fits === -1 ? writer.queue.length : fits)
}

/** A record that MongoDB rejects must not fail the other records of the batch. */
async function appendEach(
  catalog: Catalog,
  writer: Writer,
  batch: readonly QueuedAppend[],
  error: unknown,
): Promise<void> {
  if (batch.length === 1 || error instanceof CatalogUnavailableError) {
    for (const { reject } of batch) reject(error)
    return
  }
  for (const { documents, resolve, reject } of batch) {
    await append(catalog, writer, documents).then(resolve, reject)
  }
}

async function append(
  catalog: Catalog,
  writer: Writer,
  documents: readonly AuditDocument[],
): Promise<void> {
  for (let from = 0; from < documents.length; from += RECORDS_PER_WRITE) {
    await appendPart(catalog, writer, documents.slice(from, from + RECORDS_PER_WRITE))
  }
}

async function appendPart(
  catalog: Catalog,
  writer: Writer,
  documents: readonly AuditDocument[],
): Promise<void> {
  let remaining = documents
  for (let attempt = 0; attempt < ATTEMPTS_MAX && remaining.length > 0; attempt += 1) {
    const end = await currentEnd(catalog, writer)
    const records = linkRecords(remaining, end)
    // If the write fails, the end of the chain is unknown.
    writer.end = null
    if (await insertInOrder(catalog, records)) {
      const { seq, hash } = records.at(-1)?.chain ?? end
      writer.end = { seq, hash }
      writer.endReadMs = monotonicMs()
      // An outdated head is updated with the next record.
      await storeHead(catalog, writer.end).catch(() => undefined)
      return
    }
    remaining = await findUnwritten(catalog, remaining)
    if (remaining.length > 0) await pause(randomInt(1, PAUSE_MS_MAX))
  }
  if (remaining.length > 0) {
    throw new CatalogUnavailableError(
      'audit: too many concurrent writers, the record was not appended',
    )
  }
}

async function currentEnd(catalog: Catalog, writer: Writer): Promise<ChainEnd> {
  const isFresh = monotonicMs() - writer.endReadMs < CACHE_MS
  return writer.end !== null && isFresh ? writer.end : readEnd(catalog)
}

/**
 * The newest record, or the stored head if its number is higher. In that case records were removed
 * from the end; the verification of the chain reports them.
 */
async function readEnd(catalog: Catalog): Promise<ChainEnd> {
  return catalog.run('read the end of the audit chain', async () => {
    const [newest, head] = await Promise.all([
      catalog.audit
        .find({ 'chain.seq': { $gt: 0 } }, { projection: { chain: 1 } })
        .sort({ 'chain.seq': -1 })
        .limit(1)
        .toArray(),
      catalog.auditchain.findOne({ _id: 'head' }),
    ])
    const known = newest[0]?.chain ?? CHAIN_START
    return head !== null && head.seq > known.seq ? head : known
  })
}

/** Returns false if a number or stamp exists already; the records before it are written. */
function insertInOrder(catalog: Catalog, records: AuditDocument[]): Promise<boolean> {
  return catalog.run('write audit records', async () => {
    try {
      await catalog.audit.insertMany(records, { ordered: true })
      return true
    } catch (error) {
      if (isOnlyDuplicate(error)) return false
      throw error
    }
  })
}

function isOnlyDuplicate(error: unknown): boolean {
  if (!(error instanceof MongoBulkWriteError)) return isDuplicate(error)
  const failures = [error.writeErrors].flat()
  return failures.length > 0 && failures.every(({ code }) => code === 11_000)
}

/** The documents whose stamps are not stored. */
async function findUnwritten(
  catalog: Catalog,
  documents: readonly AuditDocument[],
): Promise<AuditDocument[]> {
  const stamps = documents.map(({ stamp }) => stamp)
  const found = await catalog.run('find audit records', () =>
    catalog.audit.find({ stamp: { $in: stamps } }, { projection: { stamp: 1 } }).toArray(),
  )
  const known = new Set(found.map(({ stamp }) => stamp))
  // Two documents of one call may have the same stamp.
  return documents.filter(({ stamp }) => {
    const isNew = !known.has(stamp)
    known.add(stamp)
    return isNew
  })
}

/** The sequence number of the head never decreases. */
async function storeHead(catalog: Catalog, { seq, hash }: ChainEnd): Promise<void> {
  await catalog.run('store the end of the audit chain', async () => {
    try {
      await catalog.auditchain.updateOne(
        { _id: 'head', seq: { $lt: seq } },
        { $set: { seq, hash } },
        { upsert: true },
      )
    } catch (error) {
      // Another process has stored a later head.
      if (!isDuplicate(error)) throw error
    }
  })
}
