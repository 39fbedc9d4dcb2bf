import { type Static, Type } from '@sinclair/typebox'
import { chargeFields, checkChargeTerms } from './charge-terms.ts'
import type { EntityDefinition, StoredFields } from './entity.ts'
import { REV_INDEX, REVISION_DATES } from './entity.ts'

/** A revision of a discount. */
export const DiscountSchema = Type.Object({
  ...chargeFields,
  prorated_start: Type.Optional(Type.Unknown()),
  prorated_end: Type.Optional(Type.Unknown()),
})

export type DiscountDocument = Static<typeof DiscountSchema> & StoredFields

export const DiscountEntity: EntityDefinition = {
  schema: DiscountSchema,
  indexes: [{ key: { key: 1, from: 1, deleted_at: 1 }, unique: true }, REV_INDEX],
  identity: ['key'],
  dates: REVISION_DATES,
  check: checkChargeTerms,
}
