/**
 * Audit records of entity changes. They are part of the write-ahead intent of the change, so that a
 * crash neither loses nor duplicates them.
 */
import { randomUUID } from 'node:crypto'
import { plainActor } from '../actor.ts'
import type { RawDocument } from '../compile/document.ts'
import { auditDocument } from './audit.ts'
import type { AuditDocument, AuditIntent, ChangeAudit } from './audit-document.ts'

export function auditIntent({ actor, steps }: ChangeAudit, nowMs: number): AuditIntent {
  return { actor: plainActor(actor), steps, seed: randomUUID(), at: new Date(nowMs) }
}

/**
 * `documents`: the written documents by id. Writes without a document were not applied and yield no
 * record.
 */
export function auditRecordsOf(
  { actor, steps, seed, at }: AuditIntent,
  documents: ReadonlyMap<string, RawDocument>,
): AuditDocument[] {
  return steps.flatMap(({ id, ...entry }) => {
    const hexId = id.toHexString()
    const document = documents.get(hexId)
    if (document === undefined) return []
    const after = document['deleted'] === true ? null : document
    return [auditDocument(actor, at.getTime(), { ...entry, new: after }, `${seed}/${hexId}`)]
  })
}
