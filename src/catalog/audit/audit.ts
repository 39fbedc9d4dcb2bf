/** Creates audit records. */
import { createHash, randomUUID } from 'node:crypto'
import { BSON, type ClientSession } from 'mongodb'
import type { Fields } from '../../domain/fields.ts'
import type { Actor } from '../actor.ts'
import type { Catalog } from '../connection.ts'
import type { AuditDocument } from '../records/audit-document.ts'
import { appendDocuments, appendRecords } from './append.ts'
import { redactSecrets } from './secrets.ts'

/** A record holds two documents and must stay below 256 KiB. */
const DOCUMENT_BYTES_MAX = 120 * 1024
/** Length of the list of omitted field names. */
const NAMES_LENGTH_MAX = 1000
/** Marks truncated values. */
export const TRUNCATED = '(cut)'

/**
 * Returns the document itself if it is small enough, otherwise a copy without its largest fields.
 * The names of the omitted fields are listed under `(cut)`.
 */
export function truncateDocument(document: Fields): Fields {
  if (sizeOf(document) <= DOCUMENT_BYTES_MAX) return document
  const fields = Object.entries(document).map(([name, value]) => {
    return { name, value, bytes: sizeOf({ [name]: value }) }
  })
  const included = new Set<string>()
  let remaining = DOCUMENT_BYTES_MAX
  for (const { name, bytes } of fields.toSorted((a, b) => a.bytes - b.bytes)) {
    remaining -= bytes
    if (remaining < 0) break
    included.add(name)
  }
  const members = fields.filter(({ name }) => included.has(name))
  const names = fields.filter(({ name }) => !included.has(name)).map(({ name }) => name)
  return {
    ...Object.fromEntries(members.map(({ name, value }) => [name, value])),
    [TRUNCATED]: truncateText(names.join(', '), NAMES_LENGTH_MAX),
  }
}

/** Truncated strings end with the mark. */
function truncateText(text: string, lengthMax: number): string {
  return text.length <= lengthMax ? text : `${text.slice(0, lengthMax)}… ${TRUNCATED}`
}

function sizeOf(document: Fields): number {
  return BSON.calculateObjectSize(document, { ignoreUndefined: true })
}

/** The audited action; secrets in `old` and `new` are redacted. */
export interface AuditEntry {
  readonly collection: string
  readonly type: string
  readonly key: string
  readonly old?: unknown
  readonly new?: unknown
  readonly operationId?: string
}

/** Adds the records of what the session's transaction does; written with it, or not at all. */
export function appendAudit(
  session: ClientSession,
  actor: Actor,
  nowMs: number,
  ...entries: readonly AuditEntry[]
): void {
  const documents = entries.map((entry) => auditDocument(actor, nowMs, entry, randomUUID()))
  appendDocuments(session, documents)
}

/** Records of what is not part of a transaction. */
export interface Audit {
  /** Rejects with `CatalogUnavailableError`. */
  record(actor: Actor, nowMs: number, ...entries: readonly AuditEntry[]): Promise<void>
  /**
   * Adds counts to the aggregated record with this seed, or creates it; returns true if it was
   * created. Rejects with `CatalogUnavailableError`.
   */
  tally(actor: Actor, nowMs: number, entry: AuditEntry, tally: AuditTally): Promise<boolean>
}

/** Counts to add to an aggregated record. */
export interface AuditTally {
  /** Identifies the record. */
  readonly seed: string
  /** Counts by reason code. */
  readonly reasons: Readonly<Record<string, number>>
}

export function createAudit(catalog: Catalog): Audit {
  return {
    async record(actor, nowMs, ...entries) {
      const documents = entries.map((entry) => auditDocument(actor, nowMs, entry, randomUUID()))
      await appendRecords(catalog, documents)
    },
    async tally(actor, nowMs, entry, { seed, reasons }) {
      const document = auditDocument(actor, nowMs, entry, seed)
      const counts = Object.entries(reasons)
      const count = counts.reduce((sum, [, each]) => sum + each, 0)
      const inReasons = counts.map(([reason, each]) => [`reasons.${reason}`, each])
      const update = {
        $inc: { count, ...Object.fromEntries(inReasons) },
        $set: { last: new Date(nowMs) },
      }
      const add = () => catalog.audit.updateOne({ stamp: document.stamp }, update)
      if ((await add()).matchedCount > 0) return false
      await appendRecords(catalog, [document])
      await add()
      return true
    },
  }
}

/** Longer values are not valid names, and are too long for an index. */
const NAME_LENGTH_MAX = 256

/** `seed`: identifies the write; recording the same write again yields the same stamp. */
export function auditDocument(
  actor: Actor,
  nowMs: number,
  entry: AuditEntry,
  seed: string,
): AuditDocument {
  const { id, name, by, address } = actor
  const { collection, type, key, operationId } = entry
  const isApi = by === 'token' || by === 'signature'
  const user = { _id: shortened(id), name: shortened(name), api: isApi, by }
  const stamp = createHash('sha256').update(seed).digest('hex').slice(0, 32)
  return {
    source: 'audit',
    collection: shortened(collection),
    type: shortened(type),
    key: shortened(key),
    urt: new Date(nowMs),
    user,
    ip: shortened(address),
    old: auditedValue(collection, entry.old),
    new: auditedValue(collection, entry.new, entry.old),
    ...(operationId !== undefined && { operation_id: shortened(operationId) }),
    stamp,
  }
}

function shortened(text: string): string {
  return truncateText(text, NAME_LENGTH_MAX)
}

/** Top-level fields for internal use. */
const INTERNAL = ['rev', 'deleted', 'deleted_at'] as const

/** A value that is not a document is redacted as the field `value` of one. */
function auditedValue(collection: string, value: unknown, before?: unknown): unknown {
  if (value === undefined || value === null) return null
  const isDocument = typeof value === 'object' && !Array.isArray(value) && !(value instanceof Date)
  const document: Record<string, unknown> = isDocument ? { ...value } : { value }
  if (isDocument) for (const name of INTERNAL) delete document[name]
  const redacted = truncateDocument(
    redactSecrets(collection, document, isDocument ? before : undefined),
  )
  return isDocument || !('value' in redacted) ? redacted : redacted['value']
}
