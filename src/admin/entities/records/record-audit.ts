/** Audit entries of writes of records, which have no revisions. */
import { randomUUID } from 'node:crypto'
import { type Actor, plainActor } from '../../../catalog/actor.ts'
import { appendRecords } from '../../../catalog/audit/append.ts'
import { auditDocument } from '../../../catalog/audit/audit.ts'
import type { Collection, ObjectId } from '../../../catalog/collections.ts'
import type { RawDocument } from '../../../catalog/compile/document.ts'
import type { Catalog } from '../../../catalog/connection.ts'
import { type ChangeStores, withIntent } from '../../../catalog/revisions/entity-changes.ts'
import type { Fields } from '../../../domain/fields.ts'
import { isEqual, valueAt } from '../timeline/set-fields.ts'

/**
 * Write-ahead intent of a change of a record: recovery adds the audit entry if the write was done.
 */
export interface RecordAuditIntent {
  readonly actor: Actor
  readonly atMs: number
  readonly store: 'bills' | 'lines'
  readonly type: string
  readonly key: string
  readonly id: ObjectId
  readonly old: Fields
  /** Values that an update sets, by dotted name; null for a delete. */
  readonly set: Fields | null
  /** Unique for each write. */
  readonly seed: string
}

/** The intent as it is stored with the lock of the record. */
export interface RecordFollowUp {
  kind: 'record'
  trail: RecordAuditIntent
}

/**
 * Executes a write of a record and adds its audit entry, also if the process dies in between.
 * Rejects as `act` does.
 */
export async function withRecordAudit<T>(
  stores: ChangeStores,
  written: Omit<RecordAuditIntent, 'atMs' | 'seed'>,
  act: () => Promise<T>,
): Promise<T> {
  const actor = plainActor(written.actor)
  const trail = { ...written, actor, atMs: stores.clock.nowMs(), seed: randomUUID() }
  const followUp: RecordFollowUp = { kind: 'record', trail }
  const lock = `${trail.store}/${trail.id.toHexString()}`
  return withIntent(stores, lock, followUp, async () => {
    const done = await act()
    await auditRecordIfWritten(stores.catalog, trail)
    return done
  })
}

/** Adds the audit entry if the write was done. Rejects with `CatalogUnavailableError`. */
export async function auditRecordIfWritten(
  catalog: Catalog,
  trail: RecordAuditIntent,
): Promise<void> {
  const { actor, atMs, store, type, key, id, old, set, seed } = trail
  const documents = catalog[store] as unknown as Collection<RawDocument>
  const found = await catalog.run(`read ${store}`, () => documents.findOne({ _id: id }))
  const isSet = ([name, value]: [string, unknown]) =>
    found !== null && isEqual(valueAt(found, name.split('.')), value)
  const isDone = set === null ? found === null : Object.entries(set).every(isSet)
  if (!isDone) return
  const entry = { collection: store, type, key, old, new: found }
  await appendRecords(catalog, [auditDocument(actor, atMs, entry, seed)])
}
