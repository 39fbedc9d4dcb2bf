import { type Static, Type } from '@sinclair/typebox'
import type { EntityDefinition, StoredFields } from './entity.ts'
import { positiveInteger, REV_INDEX, REVISION_DATES, revisionFields, text } from './entity.ts'

/** Definition of a bucket. */
export const PrepaidIncludeSchema = Type.Object({
  name: text(),
  external_id: positiveInteger(),
  ...revisionFields,
  /** Buckets with a higher priority are charged first. */
  priority: Type.Integer({ expected: 'an integer' }),
  charging_by: Type.Union(
    [Type.Literal('usagev'), Type.Literal('cost'), Type.Literal('total_cost')],
    { expected: "'usagev', 'cost' or 'total_cost'" },
  ),
  charging_by_usaget: text(),
  shared: Type.Optional(Type.Boolean({ expected: 'true or false' })),
  unlimited: Type.Optional(Type.Boolean({ expected: 'true or false' })),
  /** Restrictions and extensions of the usage that it pays for, checked by compile/. */
  allowed_in: Type.Optional(Type.Unknown()),
  additional_charging_usaget: Type.Optional(Type.Unknown()),
})

export type PrepaidIncludeDocument = Static<typeof PrepaidIncludeSchema> & StoredFields

export const PrepaidIncludeEntity: EntityDefinition = {
  schema: PrepaidIncludeSchema,
  indexes: [
    { key: { external_id: 1, name: 1, from: 1, to: 1, deleted_at: 1 }, unique: true },
    { key: { name: 1, from: 1 } },
    REV_INDEX,
  ],
  identity: ['external_id'],
  dates: REVISION_DATES,
}
