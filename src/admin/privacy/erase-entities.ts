/** Removes personal fields from all revisions of an entity. */
import type { RawDocument } from '../../catalog/compile/document.ts'
import { changeEntities } from '../../catalog/revisions/entity-changes.ts'
import { entityLockName } from '../entities/actions/revisions.ts'
import type { EntityStores } from '../entities/requests/entity-request.ts'
import { withoutPaths } from './personal.ts'
import { type ErasedEntity, erasureScopeOf } from './subject.ts'

/**
 * Holds the entity lock, so that changes in progress are completed first, with their audit entries.
 * Returns the number of changed revisions. Throws errors of the stores.
 */
export async function eraseEntity(
  stores: EntityStores,
  { collection, key }: ErasedEntity,
  paths: readonly string[],
): Promise<number> {
  const { catalog, clock } = stores
  const lockNames = [entityLockName({ name: collection }, key)]
  const { stored } = await changeEntities(stores, lockNames, async () => {
    const { entities } = await erasureScopeOf(catalog, { collection, key })
    const found = entities.find((one) => one.collection === collection && one.key === key)
    const before = (found?.revisions ?? []).filter((one) => withoutPaths(one, paths) !== null)
    const erased_at = new Date(clock.nowMs())
    const steps = before.map((revision) => {
      const document: RawDocument = { ...(withoutPaths(revision, paths) as RawDocument), erased_at }
      return { mode: 'replace' as const, document, expectedRev: revision.rev ?? 0 }
    })
    return { collection: 'subscribers', steps, before, result: null }
  })
  return stored.size
}
