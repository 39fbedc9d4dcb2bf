/** Writes to users outside the entity API. */
import type { Actor } from '../catalog/actor.ts'
import { type AuditEntry, appendAudit } from '../catalog/audit/audit.ts'
import { type ClientSession, ObjectId } from '../catalog/collections.ts'
import type { RawDocument } from '../catalog/compile/document.ts'
import { EntityConflictError } from '../catalog/errors.ts'
import { checkedEntity } from '../catalog/revisions/check.ts'
import type { ChangeStores } from '../catalog/revisions/entity-changes.ts'
import { writeRevisions } from '../catalog/revisions/store-revisions.ts'
import { NOT_DELETED } from '../catalog/revisions/validity.ts'

export interface RecordedBy {
  actor: Actor
  entry: AuditEntry
}

/**
 * Changes the stored revision of a user and records it. `change` may be called repeatedly; its
 * errors are passed on. Rejects with `EntityConflictError` if the user was deleted, with
 * `FieldError`, or as `Catalog.transaction`.
 */
export function changeUser(
  stores: ChangeStores,
  id: string,
  change: (document: RawDocument) => RawDocument | Promise<RawDocument>,
  by: RecordedBy,
): Promise<RawDocument> {
  const { catalog } = stores
  const filter = { _id: new ObjectId(id), ...NOT_DELETED }
  return catalog.transaction('change a user', async (session) => {
    const found = await catalog.users.findOne(filter)
    if (found === null) throw new EntityConflictError('the user was deleted meanwhile')
    const changed = await change(found as unknown as RawDocument)
    return writeUser(stores, session, 'replace', changed, by)
  })
}

/** Writes a user within a transaction. Rejects as `changeUser`, or with `DuplicateEntityError`. */
export async function writeUser(
  { catalog, clock }: ChangeStores,
  session: ClientSession,
  mode: 'insert' | 'replace',
  user: Readonly<Record<string, unknown>>,
  { actor, entry }: RecordedBy,
): Promise<RawDocument> {
  const document = await checkedEntity(catalog, 'users', user, { mode, timeZone: 'UTC' })
  const [stored = document] = await writeRevisions(catalog, session, 'users', [{ mode, document }])
  appendAudit(session, actor, clock.nowMs(), entry)
  return stored
}
