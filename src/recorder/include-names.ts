/** Names of prepaid includes for readable records. */
import type { Catalog } from '../catalog/connection.ts'
import type { FlushRecords } from './coalesce.ts'

/** Names rarely change. */
const CACHED_MS = 60_000

export type NameOf = (externalId: number) => string

/**
 * Returns the names for a flush, reading those that are not cached; empty if the catalogue has
 * none. Rejects with `CatalogUnavailableError`.
 */
export function createIncludeNames(catalog: Catalog, elapsedMs: () => number) {
  let names = new Map<number, string>()
  let freshUntilMs = 0
  return async (flush: FlushRecords): Promise<NameOf> => {
    if (elapsedMs() >= freshUntilMs) {
      names = new Map()
      freshUntilMs = elapsedMs() + CACHED_MS
    }
    const missing = [...idsIn(flush)].filter((id) => !names.has(id))
    if (missing.length > 0) {
      const found = await catalog.prepaidincludes
        .find({ external_id: { $in: missing } })
        .sort({ from: 1 })
        .toArray()
      for (const id of missing) names.set(id, '')
      for (const { external_id, name } of found) names.set(external_id, name)
    }
    return (id) => names.get(id) ?? ''
  }
}

function idsIn({ operations, owners }: FlushRecords): Set<number> {
  const ids = new Set<number>()
  for (const operation of operations.values()) ids.add(operation.prepaidIncludeId)
  for (const owner of owners.values()) {
    for (const bucket of owner.buckets) ids.add(bucket.prepaidIncludeId)
  }
  return ids
}
