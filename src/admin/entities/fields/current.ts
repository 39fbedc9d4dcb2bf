/** The configured fields as they are now, read again when they are older than a poll. */
import { isDeepStrictEqual } from 'node:util'
import type { Catalog } from '../../../catalog/connection.ts'
import { identifyingFields } from '../../../catalog/settings/identifying-fields.ts'
import {
  type FieldSettings,
  readCategory,
  readFieldSettings,
} from '../../../catalog/settings/stored-config.ts'
import type { Config } from '../../../config/schema.ts'
import type { Clock } from '../../../runtime/clock.ts'
import type { CollectionDefinition } from '../definitions/definition.ts'
import { fieldsOf } from './configured.ts'
import type { FieldDefinition } from './field-definition.ts'

export interface CurrentFields {
  /** Rejects with `FieldError` for stored ones that cannot be used, or if MongoDB is away. */
  of(definition: CollectionDefinition): Promise<readonly FieldDefinition[]>
}

export function createCurrentFields(catalog: Catalog, clock: Clock, config: Config): CurrentFields {
  const { pollMs } = config.catalog
  const identifying = createIdentifyingFieldsCache(config)
  let settings: FieldSettings | undefined
  let fileTypes: unknown
  let readMs = 0
  return {
    async of(definition) {
      if (definition.configuredFieldsPath === null) return []
      const nowMs = clock.nowMs()
      if (settings === undefined || nowMs - readMs >= pollMs) {
        const [read, stored] = await Promise.all([
          readFieldSettings(catalog),
          readCategory(catalog, 'file_types'),
        ])
        settings = read
        fileTypes = stored.value
        readMs = nowMs
      }
      const fields = fieldsOf(definition, settings)
      return definition.name === 'subscribers' ? withUnique(fields, identifying(fileTypes)) : fields
    },
  }
}

/** File types are compiled only when they have changed. */
function createIdentifyingFieldsCache(
  config: Config,
): (storedFileTypes: unknown) => readonly string[] {
  let known: { stored: unknown; fields: readonly string[] } | undefined
  return (stored) => {
    if (known === undefined || !isDeepStrictEqual(known.stored, stored)) {
      known = { stored, fields: identifyingFields(stored, config) }
    }
    return known.fields
  }
}

/** By whose value a subscriber is found: unique, unless an operator says that it is not. */
export function withUnique(
  fields: readonly FieldDefinition[],
  identifying: readonly string[],
): readonly FieldDefinition[] {
  return fields.map((field) =>
    field.unique === undefined && identifying.includes(field.field_name)
      ? { ...field, unique: true }
      : field,
  )
}
