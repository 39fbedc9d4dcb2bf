import { type Static, Type } from '@sinclair/typebox'
import type { EntityDefinition, StoredFields } from './entity.ts'
import { entityKey, flag, REV_INDEX, REVISION_DATES, revisionFields, text } from './entity.ts'
import { recurringFields } from './recurring.ts'

/** A revision of a plan. Further fields are stored unchanged. */
export const PlanSchema = Type.Object({
  name: entityKey(),
  ...revisionFields,
  connection_type: Type.Union([Type.Literal('prepaid'), Type.Literal('postpaid')], {
    expected: "'prepaid' or 'postpaid'",
  }),
  disallowed_rates: Type.Optional(Type.Array(text(), { expected: 'a list of rate keys' })),
  /** Price overrides and included units, checked by compile/. */
  rates: Type.Optional(Type.Unknown()),
  include: Type.Optional(Type.Unknown()),
  ...recurringFields,
  upfront: flag(),
  prorated_start: flag(),
  prorated_end: flag(),
  prorated_termination: flag(),
  /**
   * Credit thresholds by `external_id` of a bucket, and recipients of notifications; not validated
   * yet.
   */
  pp_threshold: Type.Optional(Type.Unknown()),
  notifications_threshold: Type.Optional(Type.Unknown()),
})

export type PlanDocument = Static<typeof PlanSchema> & StoredFields

export const PlanEntity: EntityDefinition = {
  schema: PlanSchema,
  indexes: [{ key: { name: 1, from: 1 } }, REV_INDEX],
  identity: ['name'],
  dates: REVISION_DATES,
}
