import { type Static, Type } from '@sinclair/typebox'
import { chargeFields, checkChargeTerms } from './charge-terms.ts'
import type { EntityDefinition, StoredFields } from './entity.ts'
import { REV_INDEX, REVISION_DATES } from './entity.ts'

/** A revision of a conditional charge. */
export const ChargeSchema = Type.Object(chargeFields)

export type ChargeDocument = Static<typeof ChargeSchema> & StoredFields

export const ChargeEntity: EntityDefinition = {
  schema: ChargeSchema,
  indexes: [{ key: { key: 1, from: 1, deleted_at: 1 }, unique: true }, REV_INDEX],
  identity: ['key'],
  dates: REVISION_DATES,
  check: checkChargeTerms,
}
