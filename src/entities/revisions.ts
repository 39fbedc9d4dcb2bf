/** Reads of revisions as they are stored. */
import type {
  Collection,
  CollectionReads,
  ObjectId,
  UnguardedCollection,
} from '../catalog/collections.ts'
import type { RawDocument } from '../catalog/compile/document.ts'
import type { Catalog } from '../catalog/connection.ts'
import type { Fields } from '../domain/fields.ts'
import type { CollectionDefinition } from './definitions/definition.ts'

export const NOT_DELETED = { deleted: { $ne: true } } as const

/** Limit on the revisions of one entity, far above what operators create. */
const REVISIONS_MAX = 5000

export function documentsOf(
  catalog: Catalog,
  { store }: Pick<CollectionDefinition, 'store'>,
): Collection<RawDocument> {
  return catalog[store] as unknown as Collection<RawDocument>
}

export function readsOf(
  catalog: Catalog,
  { store }: Pick<CollectionDefinition, 'store'>,
): CollectionReads<RawDocument> {
  return catalog.reads[store] as unknown as CollectionReads<RawDocument>
}

export function unguardedOf(
  catalog: Catalog,
  { store }: Pick<CollectionDefinition, 'store'>,
): UnguardedCollection<RawDocument> {
  return catalog.unguarded[store] as unknown as UnguardedCollection<RawDocument>
}

/** All revisions of one entity, unordered. */
export function revisionsOf(
  catalog: Catalog,
  definition: CollectionDefinition,
  key: unknown,
): Promise<RawDocument[]> {
  const filter = { ...definition.fixed, [definition.keyField]: key, ...NOT_DELETED }
  return findDocuments(catalog, definition, filter, REVISIONS_MAX)
}

export function findDocuments(
  catalog: Catalog,
  definition: CollectionDefinition,
  filter: Fields,
  limit: number,
): Promise<RawDocument[]> {
  return documentsOf(catalog, definition)
    .find(filter as object)
    .limit(limit)
    .toArray() as Promise<RawDocument[]>
}

export async function findRevision(
  catalog: Catalog,
  definition: CollectionDefinition,
  id: ObjectId,
): Promise<RawDocument | null> {
  const filter = { _id: id, ...definition.fixed, ...NOT_DELETED }
  const [found = null] = await findDocuments(catalog, definition, filter, 1)
  return found
}
