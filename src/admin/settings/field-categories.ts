/** Categories of configured fields: one per collection; `subscribers` has two collections. */
import { isDeepStrictEqual } from 'node:util'
import {
  FIELD_CATEGORIES,
  type FieldCategory,
  type FieldSettings,
} from '../../catalog/settings/stored-config.ts'
import { entriesAt, FieldError } from '../../domain/fields.ts'
import { DEFINITIONS } from '../../entities/definitions/collections.ts'
import type { CollectionDefinition } from '../../entities/definitions/definition.ts'
import { fieldsOf } from '../../entities/fields/configured.ts'
import type { Category } from './category.ts'
import { valueAt, withValueAt } from './paths.ts'

export function fieldCategories(): Category[] {
  return FIELD_CATEGORIES.map((name) => {
    const definitions = [...DEFINITIONS.values()].filter(
      ({ configuredFieldsPath }) => configuredFieldsPath?.[0] === name,
    )
    const collections = definitions.map((definition) => definition.name).join(' and ')
    return {
      name,
      about: `Configured fields of ${collections}.`,
      readRole: 'read',
      check(value, stored) {
        checkKeys(value, stored, definitions, name)
        for (const definition of definitions) fieldsIn(definition, name, value)
      },
      effective: (stored) =>
        definitions.reduce((whole, definition) => {
          const steps = (definition.configuredFieldsPath ?? []).slice(1)
          return withValueAt(whole, steps, fieldsIn(definition, name, stored), name)
        }, stored),
    }
  })
}

function fieldsIn(definition: CollectionDefinition, category: FieldCategory, value: unknown) {
  return fieldsOf(definition, { [category]: value } as unknown as FieldSettings)
}

/** Refuses unknown keys, unless they are already stored by others. */
function checkKeys(
  value: unknown,
  stored: unknown,
  definitions: readonly CollectionDefinition[],
  category: string,
): void {
  const known = definitions.map(({ configuredFieldsPath }) => (configuredFieldsPath ?? []).slice(1))
  const walk = (part: unknown, at: readonly string[]): void => {
    if (known.some((path) => path.join('.') === at.join('.'))) return
    for (const [key, inside] of entriesAt(part, [category, ...at].join('.'))) {
      const path = [...at, key]
      if (known.some((each) => path.every((step, index) => each[index] === step))) {
        walk(inside, path)
      } else if (!isDeepStrictEqual(valueAt(stored, path)?.value, inside)) {
        throw new FieldError([category, ...path].join('.'), 'is not known', 'unknown')
      }
    }
  }
  walk(value, [])
}
