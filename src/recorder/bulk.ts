/** Writes many records to MongoDB in few commands. */
import type { AnyBulkWriteOperation, BulkWriteResult, Collection } from '../catalog/collections.ts'
import type { Catalog } from '../catalog/connection.ts'
import { CatalogUnavailableError } from '../catalog/errors.ts'

/** Keeps one command well within the operation time limit. */
const OPERATIONS_MAX = 1_000
/**
 * Commands are prepared and sent while the store works on another one. No two write the same
 * record.
 */
const COMMANDS_AT_ONCE = 4
/** For an upsert "if newer": the stored version is the same or newer. */
const DUPLICATE_KEY = 11_000
/** Treated as an outage of the store, although it is reported per operation. */
const OUT_OF_DISK_SPACE = 14_031

/** The reason contains no personal data; the error may quote the document. */
export interface RecordRefusal {
  reason: string
  error: unknown
}

/** Records refused by MongoDB, by key. */
export type RefusedRecords = Map<string, RecordRefusal>

export type AnyDocument = Record<string, unknown>

export interface Upsert {
  key: string
  operation: AnyBulkWriteOperation<AnyDocument>
}

/**
 * Counts upserts of records; `duplicates` of them wrote nothing, because the stored record was not
 * older.
 */
export type CountOperations = (operations: number, duplicates: number) => void

export interface BulkOutcome {
  readonly refused: RefusedRecords
  readonly count: CountOperations
  /** Called between two commands. */
  readonly rest: () => Promise<void>
}

/**
 * Records that MongoDB refuses are added to `refused`. Rejects with `CatalogUnavailableError` after
 * a possibly partial write.
 */
export async function writeAll(
  catalog: Catalog,
  name: 'lines' | 'exportwaiting' | 'exportstream' | 'events' | 'balances',
  upserts: Iterable<Upsert>,
  { refused, count, rest }: BulkOutcome,
): Promise<void> {
  const collection = catalog[name] as unknown as Collection<AnyDocument>
  const write = async (part: readonly Upsert[]) => {
    const operations = part.map(({ operation }) => operation)
    try {
      await collection.bulkWrite(operations, { ordered: false })
      count(part.length, 0)
    } catch (error) {
      const { refusals, duplicates } = failuresIn(error)
      count(part.length, duplicates)
      for (const { index, ...refusal } of refusals) {
        const upsert = part[index]
        if (upsert !== undefined) refused.set(upsert.key, refusal)
      }
    }
  }
  const pending: Promise<void>[] = []
  try {
    for (const part of partsOf(upserts)) {
      if (pending.length === COMMANDS_AT_ONCE) await pending.shift()
      const writing = write(part)
      writing.catch(() => undefined)
      pending.push(writing)
      await rest()
    }
    await Promise.all(pending)
  } finally {
    // A repetition must not overlap with them.
    await Promise.allSettled(pending)
  }
}

/** Documents are made as they are sent: those of a round would live long enough to be copied. */
function* partsOf(upserts: Iterable<Upsert>): Generator<Upsert[]> {
  let part: Upsert[] = []
  for (const upsert of upserts) {
    part.push(upsert)
    if (part.length < OPERATIONS_MAX) continue
    yield part
    part = []
  }
  if (part.length > 0) yield part
}

interface BulkError extends Error {
  code?: number | string
  writeErrors: readonly { index: number; code: number; errmsg?: string }[]
  result?: BulkWriteResult
}

/** Operations that met a record that is not older, and those that failed for another reason. */
function failuresIn(error: unknown): {
  refusals: (RecordRefusal & { index: number })[]
  duplicates: number
} {
  if (!isBulkError(error)) throw error
  const notDurable = error.result?.getWriteConcernError()
  if (notDurable) {
    throw new CatalogUnavailableError(`MongoDB: write is not durable: ${notDurable.errmsg}`)
  }
  // The driver reports a lost connection as the same error; what was written is unknown.
  if (error.writeErrors.length === 0) throw error.code === undefined ? lost(error) : error
  if (error.writeErrors.some(({ code }) => code === OUT_OF_DISK_SPACE)) {
    throw new CatalogUnavailableError('MongoDB: disk is full')
  }
  const refusals = error.writeErrors
    .filter(({ code }) => code !== DUPLICATE_KEY)
    .map(({ index, code, errmsg = '' }) => ({
      index,
      reason: `MongoDB refused it with code ${code}`,
      error: new Error(errmsg),
    }))
  return { refusals, duplicates: error.writeErrors.length - refusals.length }
}

function lost(error: BulkError): CatalogUnavailableError {
  return new CatalogUnavailableError(`MongoDB: ${error.message}`, { cause: error })
}

function isBulkError(error: unknown): error is BulkError {
  return error instanceof Error && 'writeErrors' in error && Array.isArray(error.writeErrors)
}
