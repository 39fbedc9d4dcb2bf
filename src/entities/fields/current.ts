/** Cache of the configured fields, refreshed at the catalogue poll interval. */
import { isDeepStrictEqual } from 'node:util'
import type { Catalog } from '../../catalog/connection.ts'
import { identifyingFields } from '../../catalog/settings/customers/identifying-fields.ts'
import {
  type FieldSettings,
  readCategory,
  readFieldSettings,
} from '../../catalog/settings/stored-config.ts'
import type { Config } from '../../config/schema.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { CollectionDefinition } from '../definitions/definition.ts'
import { hasTrait } from '../definitions/traits.ts'
import { fieldsOf } from './configured.ts'
import type { FieldDefinition } from './field-definition.ts'

export interface CurrentFields {
  /** Rejects with `FieldError` if a stored field is invalid, or if MongoDB is unavailable. */
  of(definition: CollectionDefinition): Promise<readonly FieldDefinition[]>
  /**
   * The stored values behind the fields: the same object until they change. Rejects if MongoDB is
   * unavailable.
   */
  stored(): Promise<object>
}

export function createCurrentFields(catalog: Catalog, clock: Clock, config: Config): CurrentFields {
  const { pollMs } = config.catalog
  const identifying = createIdentifyingFieldsCache(config)
  let known: { settings: FieldSettings; fileTypes: unknown } | undefined
  let readMs = 0
  const stored = async () => {
    const nowMs = clock.nowMs()
    if (known !== undefined && nowMs - readMs < pollMs) return known
    const [settings, { value: fileTypes }] = await Promise.all([
      readFieldSettings(catalog),
      readCategory(catalog, 'file_types'),
    ])
    const read = { settings, fileTypes }
    if (known === undefined || !isDeepStrictEqual(read, known)) known = read
    readMs = nowMs
    return known
  }
  return {
    stored,
    async of(definition) {
      if (definition.configuredFieldsPath === null) return []
      const { settings, fileTypes } = await stored()
      const fields = fieldsOf(definition, settings)
      const isIdentified = hasTrait(definition, 'isIdentified')
      return isIdentified ? withUnique(fields, identifying(fileTypes)) : fields
    },
  }
}

/** Compiles the file types only when they have changed. */
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

/** Fields that identify subscribers are unique, unless the operator overrides that. */
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
