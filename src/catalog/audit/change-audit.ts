/** Records of a change of entities: noted with it, so that none is lost or doubled by a crash. */
import { randomUUID } from 'node:crypto'
import { type Actor, plainActor } from '../actor.ts'
import type { ObjectId } from '../collections.ts'
import type { RawDocument } from '../compile/document.ts'
import { type AuditEntry, auditDocument } from './audit.ts'
import type { AuditDocument } from './audit-document.ts'

/** One write of a change: what its record says, but for the document after it. */
export interface AuditedStep extends Pick<AuditEntry, 'collection' | 'type' | 'key'> {
  /** Of the revision that is written. */
  readonly id: ObjectId
  readonly old: RawDocument | null
}

/** Who makes a change, and what is recorded of it. */
export interface ChangeAudit {
  readonly actor: Actor
  readonly steps: readonly AuditedStep[]
}

/** As it is noted: another `seed` with each change. */
export interface AuditIntent extends ChangeAudit {
  readonly seed: string
  readonly at: Date
}

export function auditIntent({ actor, steps }: ChangeAudit, nowMs: number): AuditIntent {
  return { actor: plainActor(actor), steps, seed: randomUUID(), at: new Date(nowMs) }
}

/** `documents`: as they were written, by id; one that is not there was not. */
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
