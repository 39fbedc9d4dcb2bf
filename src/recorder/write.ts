/** Writes a flush to MongoDB: each record only if it is newer than the stored one. */
import type { Catalog } from '../catalog/connection.ts'
import { eventDocument } from '../catalog/records/events/event-document.ts'
import {
  balanceDocument,
  debtBucket,
  projectedBuckets,
} from '../catalog/records/usage/balance-document.ts'
import { balanceObjectId } from '../catalog/records/usage/balance-id.ts'
import { balanceLineDocument, type LineDocument } from '../catalog/records/usage/documents.ts'
import { exportAgain } from '../catalog/records/usage/export-documents.ts'
import { lineDocument } from '../catalog/records/usage/line-document.ts'
import type { Bucket, OwnerState } from '../domain/bucket.ts'
import type { Line } from '../domain/line.ts'
import {
  type AnyDocument,
  type CountOperations,
  type RefusedRecords,
  type Upsert,
  writeAll,
} from './bulk.ts'
import { type FlushRecords, ownerKey } from './coalesce.ts'
import { type CycleEnds, NO_CYCLE_ENDS } from './cycle-ends.ts'
import type { NameOf } from './include-names.ts'
import { KnownRecords } from './known-records.ts'
import { writeLateLines } from './late-lines.ts'

export interface FlushOptions {
  known: KnownRecords
  /** Value of `known` when the entries were read. */
  tenure: number
  count: CountOperations
  cycles: CycleEnds
  /** Whether lines are written to files (export). */
  isExporting: boolean
  /** Whether lines are sent as a stream (export). */
  isStreaming: boolean
  /** Called between two commands. */
  rest: () => Promise<void>
}

/**
 * Writes the records of a flush that are not known to be stored. Lines and events are written
 * first: if the projection of an owner has a version, those of the same entries are stored too.
 * Rejects with `CatalogUnavailableError` after a possibly partial write; repeating the flush
 * completes it.
 */
export async function writeFlush(
  catalog: Catalog,
  flush: FlushRecords,
  nameOf: NameOf,
  {
    known = new KnownRecords(),
    tenure = 0,
    count = () => undefined,
    cycles = NO_CYCLE_ENDS,
    isExporting = false,
    isStreaming = false,
    rest = () => Promise.resolve(),
  }: Partial<FlushOptions> = {},
): Promise<RefusedRecords> {
  const refused: RefusedRecords = new Map()
  const outcome = { refused, count, rest }
  const { onTime, late } = splitLines(flush, known, cycles)
  await writeAll(catalog, 'lines', lineUpserts(onTime, flush, nameOf, known), outcome)
  if (late.length > 0) {
    await writeLateLines(catalog, late.map(lineDocument), cycles.nowMs(), outcome)
  }
  const lines = [...onTime, ...late]
  if (isExporting) await writeAll(catalog, 'exportwaiting', changed(lines, flush), outcome)
  if (isStreaming) await writeAll(catalog, 'exportstream', final(lines, flush, known), outcome)
  await writeAll(catalog, 'events', eventUpserts(flush), outcome)
  await writeAll(catalog, 'balances', balanceUpserts(flush, nameOf, known), outcome)
  if (refused.size === 0) known.add(flush, tenure)
  return refused
}

/** Lines that are not known to be stored; late ones are recorded when their cycle is over. */
function splitLines({ lines }: FlushRecords, known: KnownRecords, cycles: CycleEnds) {
  const onTime: Line[] = []
  const late: Line[] = []
  for (const line of lines.values()) {
    if (known.hasLine(line.stamp, line.version)) continue
    if (cycles.isOver(line.pricing.cycle)) late.push(line)
    else onTime.push(line)
  }
  return { onTime, late }
}

function* lineUpserts(
  lines: readonly Line[],
  { operations }: FlushRecords,
  nameOf: NameOf,
  known: KnownRecords,
): Iterable<Upsert> {
  for (const line of lines) yield lineUpsert(lineDocument(line))
  for (const operation of operations.values()) {
    if (known.hasLine(operation.stamp, 1)) continue
    yield lineUpsert(balanceLineDocument(operation, nameOf(operation.prepaidIncludeId)))
  }
}

function lineUpsert(document: LineDocument): Upsert {
  const { stamp, v } = document
  return upsertIfNewer(stamp, { stamp }, v, document, true)
}

/** Lines that may have been exported: as those of expired sessions, or with former prices. */
function* changed(lines: readonly Line[], { rerated }: FlushRecords): Iterable<Upsert> {
  for (const { stamp, state, counts } of lines) {
    if (!(counts.late || rerated.has(stamp)) || state === 'open') continue
    yield { key: stamp, operation: exportAgain(stamp) as Upsert['operation'] }
  }
}

/** Lines that wait for the stream, with their versions: those of open segments change yet. */
function* final(
  lines: readonly Line[],
  { operations }: FlushRecords,
  known: KnownRecords,
): Iterable<Upsert> {
  const waiting = (stamp: string, v: number) =>
    upsertIfNewer(stamp, { stamp }, v, { stamp, v }, true)
  for (const { stamp, version, state } of lines) {
    if (state !== 'open') yield waiting(stamp, version)
  }
  for (const { stamp } of operations.values()) {
    if (!known.hasLine(stamp, 1)) yield waiting(stamp, 1)
  }
}

/** An event that is stored already may have been delivered since: it stays as it is. */
function* eventUpserts({ events }: FlushRecords): Iterable<Upsert> {
  for (const event of events.values()) {
    const { stamp } = event
    const document = eventDocument(event) as unknown as AnyDocument
    const update = { $setOnInsert: document }
    yield { key: stamp, operation: { updateOne: { filter: { stamp }, update, upsert: true } } }
  }
}

/** An owner's buckets, and its current or former debt, which is recorded as a separate balance. */
function* balanceUpserts(
  { owners, refundable }: FlushRecords,
  nameOf: NameOf,
  known: KnownRecords,
): Iterable<Upsert> {
  for (const [key, owner] of owners) {
    if (known.hasOwner(owner)) continue
    for (const bucket of projectedBuckets(owner)) {
      if (known.hasBucket(owner, bucket)) continue
      yield balanceUpsert(owner, bucket, nameOf(bucket.prepaidIncludeId), true)
    }
    // A debt that was fully refunded is set to 0 if it was recorded, and not inserted otherwise.
    if (owner.owed === 0 && refundable.has(key)) {
      yield balanceUpsert(owner, debtBucket(owner), nameOf(0), false)
    }
  }
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
