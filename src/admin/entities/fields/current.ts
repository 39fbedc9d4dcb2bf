/** The configured fields as they are now, read again when they are older than a poll. */
import type { Catalog } from '../../../catalog/connection.ts'
import { type FieldSettings, readFieldSettings } from '../../../catalog/stored-config.ts'
import type { Clock } from '../../../runtime/clock.ts'
import type { CollectionDefinition } from '../definition.ts'
import type { FieldDefinition } from '../field-definition.ts'
import { fieldsOf } from './configured.ts'

export interface CurrentFields {
  /** Rejects with `CompileError` for stored ones that cannot be used, or if MongoDB is away. */
  of(definition: CollectionDefinition): Promise<readonly FieldDefinition[]>
}

export function createCurrentFields(catalog: Catalog, clock: Clock, pollMs: number): CurrentFields {
  let settings: FieldSettings | undefined
  let readMs = 0
  return {
    async of(definition) {
      if (definition.fieldsAt === null) return []
      const nowMs = clock.nowMs()
      if (settings === undefined || nowMs - readMs >= pollMs) {
        settings = await readFieldSettings(catalog)
        readMs = nowMs
      }
      return fieldsOf(definition, settings)
    },
  }
}
