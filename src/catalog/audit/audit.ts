/** Writes down who did what. */
import { randomUUID } from 'node:crypto'
import type { Actor } from '../actor.ts'
import type { Catalog } from '../connection.ts'
import type { AuditDocument } from './audit-document.ts'

/** What was done; `old` and `new` without secrets. */
export interface AuditEntry {
  readonly collection: string
  readonly type: string
  readonly key: string
  readonly old?: unknown
  readonly new?: unknown
}

export interface Audit {
  /** Rejects with `CatalogUnavailableError`. */
  record(actor: Actor, nowMs: number, ...entries: readonly AuditEntry[]): Promise<void>
}

export function createAudit(catalog: Catalog): Audit {
  return {
    async record(actor, nowMs, ...entries) {
      if (entries.length === 0) return
      const documents = entries.map((entry) => auditDocument(actor, nowMs, entry, randomUUID()))
      await catalog.run('write the audit', () => catalog.audit.insertMany(documents))
    },
  }
}

export function auditDocument(
  actor: Actor,
  nowMs: number,
  entry: AuditEntry,
  stamp: string,
): AuditDocument {
  const { id, name, by, address } = actor
  const { collection, type, key, old = null } = entry
  const user = { _id: id, name, api: by === 'token' || by === 'signature', by }
  const what = { collection, type, key, urt: new Date(nowMs), user, ip: address }
  return { source: 'audit', ...what, old, new: entry.new ?? null, stamp }
}
