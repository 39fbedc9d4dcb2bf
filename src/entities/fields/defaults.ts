/** Built-in configured fields, derived from the annotations of the entities. */
import { apiOf } from '../../catalog/entities/api.ts'
import type { EntityDefinition } from '../../catalog/entities/entity.ts'
import { ENTITIES } from '../../catalog/entities/entity-table.ts'
import type { FieldDefinition } from './field-definition.ts'

/** By the name of the collection. */
export const DEFAULT_FIELDS: Readonly<Record<string, readonly FieldDefinition[]>> =
  Object.fromEntries(
    Object.values(ENTITIES)
      .flat()
      .filter(({ api }) => api.configuredFieldsPath !== undefined)
      .map((entity) => [entity.api.name, builtInFields(entity)]),
  )

/** The fields of the schema that are built-in configured ones. */
export function builtInFields({
  schema,
}: Pick<EntityDefinition, 'schema'>): readonly FieldDefinition[] {
  return Object.entries(schema.properties).flatMap(([name, stored]) => {
    const configured = apiOf(stored)?.configured
    if (configured === undefined) return []
    const { type, ...settings } = configured
    return [{ field_name: name, ...(type !== undefined && { type }), system: true, ...settings }]
  })
}
