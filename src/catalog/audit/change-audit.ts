/**
 * Audit records of entity changes. They are part of the write-ahead intent of the change, so that a
 * crash neither loses nor duplicates them.
 */
import { randomUUID } from 'node:crypto'
import { type Actor, plainActor } from '../actor.ts'
import type { ObjectId } from '../collections.ts'
import type { RawDocument } from '../compile/document.ts'
import { type AuditEntry, auditDocument } from './audit.ts'
import type { AuditDocument } from './audit-document.ts'

/** One write of a change: the content of its audit record, except the document after the write. */
export interface AuditedStep extends Pick<AuditEntry, 'collection' | 'type' | 'key'> {
  /** Id of the revision. */
  readonly id: ObjectId
  readonly old: RawDocument | null
}

/** The author of a change, and its audit records. */
export interface ChangeAudit {
  readonly actor: Actor
  readonly steps: readonly AuditedStep[]
}

/** The persisted form; `seed` is unique per change. */
export interface AuditIntent extends ChangeAudit {
  readonly seed: string
  readonly at: Date
}

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
