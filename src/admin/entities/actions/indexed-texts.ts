/** Limit on the length of indexed texts: indexes do not accept texts of any length. */
import { ENTITIES, type EntityCollection } from '../../../catalog/entities/entity-table.ts'
import type { Fields } from '../../../domain/fields.ts'
import type { CollectionDefinition } from '../definitions/definition.ts'
import { EntityRuleError } from '../errors.ts'

/**
 * Well below the index key limit of every store, even together with the other fields of the index.
 */
export const INDEXED_BYTES_MAX = 1024

/** Throws `EntityRuleError` with the name of the first field whose text is too long. */
export function checkIndexedTexts({ store }: CollectionDefinition, document: Fields): void {
  const definitions = ENTITIES[store as EntityCollection]
  const indexes = definitions.flatMap((definition) => definition.indexes)
  for (const field of new Set(indexes.flatMap(({ key }) => Object.keys(key)))) {
    const isTooLong = [document[field]].flat().some(isLong)
    if (isTooLong)
      throw new EntityRuleError(`${field} must have at most ${INDEXED_BYTES_MAX} bytes`)
  }
}

function isLong(value: unknown): boolean {
  return typeof value === 'string' && Buffer.byteLength(value) > INDEXED_BYTES_MAX
}
