/** Texts that the store finds documents by: no index takes one of any length. */

import { ENTITIES, type EntityCollection } from '../../../catalog/collections.ts'
import type { Fields } from '../../../domain/fields.ts'
import type { CollectionDefinition } from '../definitions/definition.ts'
import { EntityRuleError } from '../errors.ts'

/** With what stands beside it in an index, far below what any store takes. */
export const INDEXED_BYTES_MAX = 1024

/** Throws `EntityRuleError` with the name of a field whose text is too long. */
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
