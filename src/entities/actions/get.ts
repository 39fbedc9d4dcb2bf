/** The action `get`: all matching revisions, one page at a time. */
import type { Catalog } from '../../catalog/connection.ts'
import { entitiesIn } from '../../catalog/entities/entity-table.ts'
import type { Fields } from '../../domain/fields.ts'
import { type CollectionDefinition, isRecord, type SortOrder } from '../definitions/definition.ts'
import type { ReadRequest, ReadResult } from '../requests/entity-request.ts'
import { NOT_DELETED, readsOf } from '../revisions.ts'

export async function get(catalog: Catalog, request: ReadRequest): Promise<ReadResult> {
  const { definition, page, size, sort, signal } = request
  const [first] = Object.keys(sort)
  const filter = filterOf(request, first === definition.keyField ? keyBounds(definition) : [])
  const found = await readsOf(catalog, definition)
    .find(filter as object, {
      ...projectionOf(request),
      sort: sortOf(request),
      skip: page * size,
      limit: size + 1,
      allowDiskUse: true,
      signal,
    })
    .toArray()
  return { rows: found.slice(0, size), hasMore: found.length > size }
}

/**
 * Documents that are never deleted have no `deleted` field, and a condition on it would prevent
 * index-only reads. The fixed fields are top-level conditions because partial indexes require that.
 * `more`: additional conditions.
 */
export function filterOf(
  { definition, filter }: ReadRequest,
  more: readonly Fields[] = [],
): Fields {
  const { fixed } = definition
  const present = isRecord(definition) ? [] : [NOT_DELETED]
  const parts = [filter, ...more, ...present].filter((part) => Object.keys(part).length > 0)
  if (parts.length === 0) return fixed
  const [only] = parts
  if (parts.length === 1 && Object.keys(fixed).length === 0) return only as Fields
  return { ...fixed, $and: parts }
}

/**
 * Other entities of the same store may have no such key, and an index on it lists them first, as
 * accounts in one on `sid`.
 */
export function keyBounds({ name, keyField, store }: CollectionDefinition): Fields[] {
  const lacksKey = entitiesIn(store).some(
    ({ api, schema }) => api.name !== name && !Object.hasOwn(schema.properties, keyField),
  )
  return lacksKey ? [{ [keyField]: { $gte: 0 } }] : []
}

/**
 * Adds a tie-breaker so that pages never overlap: `from` for revisions of one key, as in their
 * index, and `_id` otherwise.
 */
export function sortOf({ sort, definition }: ReadRequest): SortOrder {
  if (definition.indexOrder !== undefined) return definition.indexOrder(sort)
  const [[first, direction] = ['', 1] as const, second] = Object.entries(sort)
  if (first === definition.keyField && second === undefined) {
    return { [first]: direction, from: direction }
  }
  return '_id' in sort ? { ...sort } : { ...sort, _id: 1 }
}

/** Includes the fields that `revision_info` is computed from if it is requested. */
export function projectionOf({ project, definition }: ReadRequest): {
  projection?: Record<string, 0 | 1>
} {
  if (project === null || Object.keys(project).length === 0) return {}
  const { revision_info: wantsInfo, ...fields } = project
  const included = Object.entries(fields)
  const isListed = included.some(([name, on]) => on === 1 && name !== '_id')
  if (!isListed && wantsInfo === 1 && included.length === 0) return {}
  const needed = wantsInfo === 1 && isListed ? [definition.keyField, 'rev'] : []
  const more = needed.map((name) => [name, 1] as const)
  return { projection: Object.fromEntries([...included, ...more]) }
}
