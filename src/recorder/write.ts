/** Writes a flush to MongoDB: each record only if it is newer than the stored one. */
import type { AnyBulkWriteOperation, BulkWriteResult, Collection } from '../catalog/collections.ts'
import type { Catalog } from '../catalog/connection.ts'
import { CatalogUnavailableError } from '../catalog/errors.ts'
import {
  balanceDocument,
  debtBucket,
  projectedBuckets,
} from '../catalog/records/balance-document.ts'
import { balanceObjectId } from '../catalog/records/balance-id.ts'
import { balanceLineDocument, type LineDocument } from '../catalog/records/documents.ts'
import { lineDocument } from '../catalog/records/line-document.ts'
import type { Bucket, OwnerState } from '../domain/bucket.ts'
import { type FlushRecords, ownerKey } from './coalesce.ts'
import type { NameOf } from './include-names.ts'
import { KnownRecords } from './known-records.ts'

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

type AnyDocument = Record<string, unknown>

interface Upsert {
  key: string
  operation: AnyBulkWriteOperation<AnyDocument>
}

/**
 * Counts upserts of records; `duplicates` of them wrote nothing, because the stored record was not
 * older.
 */
export type CountOperations = (operations: number, duplicates: number) => void

export interface FlushOptions {
  known: KnownRecords
  /** That of `known` when the entries were read. */
  tenure: number
  count: CountOperations
}

/**
 * Writes the records of a flush that are not known to be stored. Lines are written first: if the
 * projection of an owner has a version, the lines of the same entries are stored too. Rejects with
 * `CatalogUnavailableError` after a possibly partial write; repeating the flush completes it.
 */
export async function writeFlush(
  catalog: Catalog,
  flush: FlushRecords,
  nameOf: NameOf,
  { known = new KnownRecords(), tenure = 0, count = () => undefined }: Partial<FlushOptions> = {},
): Promise<RefusedRecords> {
  const refused: RefusedRecords = new Map()
  const write = (name: 'lines' | 'balances', upserts: readonly Upsert[]) =>
    writeAll(catalog, name, upserts, { refused, count })
  await write('lines', lineUpserts(flush, nameOf, known))
  await write('balances', balanceUpserts(flush, nameOf, known))
  if (refused.size === 0) known.add(flush, tenure)
  return refused
}

function lineUpserts(
  { lines, operations }: FlushRecords,
  nameOf: NameOf,
  known: KnownRecords,
): Upsert[] {
  const documents: LineDocument[] = []
  for (const line of lines.values()) {
    if (!known.hasLine(line.stamp, line.version)) documents.push(lineDocument(line))
  }
  for (const operation of operations.values()) {
    if (known.hasLine(operation.stamp, 1)) continue
    documents.push(balanceLineDocument(operation, nameOf(operation.prepaidIncludeId)))
  }
  return documents.map((document) => {
    const { stamp, v } = document
    return upsertIfNewer(stamp, { stamp }, v, document, true)
  })
}

/** An owner's buckets, and its current or former debt, which is recorded as a separate balance. */
function balanceUpserts(
  { owners, refundable }: FlushRecords,
  nameOf: NameOf,
  known: KnownRecords,
): Upsert[] {
  const upserts: Upsert[] = []
  for (const [key, owner] of owners) {
    if (known.hasOwner(owner)) continue
    for (const bucket of projectedBuckets(owner)) {
      if (known.hasBucket(owner, bucket)) continue
      upserts.push(balanceUpsert(owner, bucket, nameOf(bucket.prepaidIncludeId), true))
    }
    // A debt that was fully refunded is set to 0 if it was recorded, and not inserted otherwise.
    if (owner.owed === 0 && refundable.has(key)) {
      upserts.push(balanceUpsert(owner, debtBucket(owner), nameOf(0), false))
    }
  }
  return upserts
}

function balanceUpsert(
  owner: OwnerState,
  bucket: Bucket,
  name: string,
  isInserted: boolean,
): Upsert {
  const { aid, sid, version } = owner
  const _id = balanceObjectId({ aid, sid, bucketId: bucket.id })
  const document = { _id, ...balanceDocument(owner, bucket, name) }
  const identity = { aid, sid, bucket_id: bucket.id }
  return upsertIfNewer(ownerKey(owner), identity, version, document, isInserted)
}

/** A document replaces the stored one with a lower version. */
function upsertIfNewer(
  key: string,
  identity: AnyDocument,
  version: number,
  replacement: object,
  upsert: boolean,
): Upsert {
  const filter = { ...identity, v: { $lt: version } }
  return {
    key,
    operation: { replaceOne: { filter, replacement: replacement as AnyDocument, upsert } },
  }
}

async function writeAll(
  catalog: Catalog,
  name: 'lines' | 'balances',
  upserts: readonly Upsert[],
  { refused, count }: { refused: RefusedRecords; count: CountOperations },
): Promise<void> {
  const collection = catalog[name] as unknown as Collection<AnyDocument>
  const write = async (part: readonly Upsert[]) => {
    const operations = part.map(({ operation }) => operation)
    try {
      await catalog.run(`record ${name}`, () =>
        collection.bulkWrite(operations, { ordered: false }),
      )
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
  const step = OPERATIONS_MAX * COMMANDS_AT_ONCE
  for (let from = 0; from < upserts.length; from += step) {
    const parts: Promise<void>[] = []
    for (let at = from; at < Math.min(from + step, upserts.length); at += OPERATIONS_MAX) {
      parts.push(write(upserts.slice(at, at + OPERATIONS_MAX)))
    }
    // Waits for all commands before reporting a failure, so that a repetition does not overlap with
    // them.
    const failed = (await Promise.allSettled(parts)).find(({ status }) => status === 'rejected')
    if (failed?.status === 'rejected') throw failed.reason
  }
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
