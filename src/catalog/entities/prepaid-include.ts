import { type Static, Type } from '@sinclair/typebox'
import { field, KEY_API, LIFE_CYCLE, READS } from './api.ts'
import {
  choice,
  defineEntity,
  flag,
  positiveInteger,
  REV_INDEX,
  revisionFields,
  type StoredFields,
  text,
  unchecked,
} from './entity.ts'
import { listOf, mapOf, text as textSchema } from './json-schema.ts'

/** Definition of a bucket. */
export const PrepaidIncludeSchema = Type.Object({
  name: field(text(), 'Name.', { ...KEY_API, query: READS }),
  external_id: field(
    positiveInteger(),
    'Number by which other entities refer to it; never changes.',
    { ...KEY_API, query: READS },
  ),
  ...revisionFields,
  priority: field(Type.Integer({ expected: 'an integer' }), 'Higher priorities are used first.', {
    mandatory: true,
    query: ['uniqueget'],
  }),
  description: field(unchecked(), 'Description.', { type: 'string', query: ['get'] }),
  charging_by: field(
    choice('usagev', 'cost', 'total_cost'),
    'Units of one usage type, money for one usage type, or money for all.',
    { mandatory: true },
  ),
  charging_by_usaget: field(text(), 'The usage type; `total_cost` for money for all.', {
    mandatory: true,
  }),
  charging_by_usaget_unit: field(unchecked(), 'Unit for display.', { type: 'string' }),
  shared: field(flag(), 'Whether its balances belong to the account.'),
  unlimited: field(flag(), 'Whether its balances have no end.'),
  /** Restrictions and extensions of the usage that it pays for, checked by compile/. */
  allowed_in: field(
    unchecked(),
    mapOf(
      listOf(textSchema('Key of a rate.'), 'Rates that it can be used for.'),
      'Rates that it can be used for, by plan; `BASE` applies to all other plans.',
    ),
  ),
  additional_charging_usaget: field(
    unchecked(),
    listOf(textSchema('A usage type.'), 'Further usage types that it can be used for.'),
  ),
})

export type PrepaidIncludeDocument = Static<typeof PrepaidIncludeSchema> & StoredFields

export const PrepaidIncludeEntity = defineEntity({
  schema: PrepaidIncludeSchema,
  indexes: [
    { key: { external_id: 1, name: 1, from: 1, to: 1, deleted_at: 1 }, unique: true },
    { key: { name: 1, from: 1 } },
    REV_INDEX,
  ],
  identity: ['external_id'],
  api: {
    name: 'prepaidincludes',
    about: 'Definitions of buckets',
    keyField: 'name',
    // Each of them identifies an entity.
    duplicate: { fields: ['name', 'external_id'], by: 'any' },
    actions: LIFE_CYCLE,
  },
})
