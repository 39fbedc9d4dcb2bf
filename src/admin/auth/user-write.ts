/** Writes to users outside the entity API. */
import { ObjectId } from '../../catalog/collections.ts'
import type { RawDocument } from '../../catalog/compile/document.ts'
import type { Catalog } from '../../catalog/connection.ts'
import { EntityConflictError } from '../../catalog/errors.ts'
import { writeEntity } from '../../catalog/revisions/write.ts'
import { NOT_DELETED } from '../entities/rules/lookups.ts'

/** Maximum number of lost races before the conflict is reported. */
const ATTEMPTS_MAX = 4

/**
 * Changes the stored revision of a user without losing concurrent changes. `change` may be called
 * repeatedly; its errors are passed on. Rejects with `EntityConflictError` if the user was deleted,
 * or like `writeEntity`.
 */
export async function changeUser(
  catalog: Catalog,
  id: string,
  change: (document: RawDocument) => RawDocument,
): Promise<RawDocument> {
  const filter = { _id: new ObjectId(id), ...NOT_DELETED }
  for (let attempt = 1; ; attempt += 1) {
    const found = await catalog.run('read a user', () => catalog.users.findOne(filter))
    if (found === null) throw new EntityConflictError('the user was deleted meanwhile')
    const changed = change(found as unknown as RawDocument)
    try {
      return await writeEntity(catalog, 'users', changed, { mode: 'replace', timeZone: 'UTC' })
    } catch (error) {
      if (!(error instanceof EntityConflictError) || attempt === ATTEMPTS_MAX) throw error
    }
  }
}
