/** Audit records of entity changes. */
import { randomUUID } from 'node:crypto'
import type { RawDocument } from '../compile/document.ts'
import type { AuditDocument, ChangeAudit } from '../records/audit-document.ts'
import { auditDocument } from './audit.ts'

/** `documents`: the written documents by id. */
export function auditRecordsOf(
  { actor, steps }: ChangeAudit,
  documents: ReadonlyMap<string, RawDocument>,
  nowMs: number,
): AuditDocument[] {
  return steps.flatMap(({ id, ...entry }) => {
    const document = documents.get(id.toHexString())
    if (document === undefined) return []
    const after = document['deleted'] === true ? null : document
    return [auditDocument(actor, nowMs, { ...entry, new: after }, randomUUID())]
  })
}
