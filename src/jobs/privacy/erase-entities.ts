/** Removes personal fields from all revisions of an entity. */
import type { ClientSession } from '../../catalog/collections.ts'
import type { RawDocument } from '../../catalog/compile/document.ts'
import { writeDecision } from '../../catalog/revisions/entity-changes.ts'
import type { EntityStores } from '../../entities/requests/entity-request.ts'
import { withoutPaths } from './personal.ts'
import { type ErasedEntity, erasureScopeOf } from './subject.ts'

/** Returns the number of revisions that the transaction changes. Throws errors of the stores. */
export async function eraseEntity(
  stores: EntityStores,
  session: ClientSession,
  { collection, key }: ErasedEntity,
  paths: readonly string[],
): Promise<number> {
  const { catalog, clock } = stores
  const { entities } = await erasureScopeOf(catalog, { collection, key })
  const found = entities.find((one) => one.collection === collection && one.key === key)
  const before = (found?.revisions ?? []).filter((one) => withoutPaths(one, paths) !== null)
  const erased_at = new Date(clock.nowMs())
  const steps = before.map((revision) => {
    const document: RawDocument = { ...(withoutPaths(revision, paths) as RawDocument), erased_at }
    return { mode: 'replace' as const, document }
  })
  const decision = { collection: 'subscribers', steps, before, result: null } as const
  const { stored } = await writeDecision(stores, session, decision)
  return stored.size
}
