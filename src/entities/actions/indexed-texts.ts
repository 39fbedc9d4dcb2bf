/** Limit on the length of indexed texts: indexes do not accept texts of any length. */
import { ENTITIES, type EntityCollection } from '../../catalog/entities/entity-table.ts'
import type { Fields } from '../../domain/fields.ts'
import { throwRules } from '../../requests/errors.ts'
import type { CollectionDefinition } from '../definitions/definition.ts'

/**
 * Well below the index key limit of every store, even together with the other fields of the index.
 */
export const INDEXED_BYTES_MAX = 1024

/** Throws `EntityRuleError` for the fields whose texts are too long. */
export function checkIndexedTexts({ store }: CollectionDefinition, document: Fields): void {
  const definitions = ENTITIES[store as EntityCollection]
  const indexes = definitions.flatMap((definition) => definition.indexes)
  const fields = [...new Set(indexes.flatMap(({ key }) => Object.keys(key)))]
  const tooLong = fields.filter((field) => [document[field]].flat().some(isLong))
  const reason = `must have at most ${INDEXED_BYTES_MAX} bytes`
  throwRules(tooLong.map((path) => ({ path, reason })))
}

function isLong(value: unknown): boolean {
  return typeof value === 'string' && Buffer.byteLength(value) > INDEXED_BYTES_MAX
}
