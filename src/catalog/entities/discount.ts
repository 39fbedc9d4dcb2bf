import { type Static, Type } from '@sinclair/typebox'
import { field } from './api.ts'
import { CHARGE_ACTIONS, chargeFields, checkChargeTerms } from './charge-terms.ts'
import { defineEntity, REV_INDEX, type StoredFields, unchecked } from './entity.ts'

/** A revision of a discount. */
export const DiscountSchema = Type.Object({
  ...chargeFields,
  prorated_start: field(unchecked(), 'Whether the first cycle is prorated.', { type: 'string' }),
  prorated_end: field(unchecked(), 'Whether the last cycle is prorated.', { type: 'string' }),
})

export type DiscountDocument = Static<typeof DiscountSchema> & StoredFields

export const DiscountEntity = defineEntity({
  schema: DiscountSchema,
  indexes: [{ key: { key: 1, from: 1, deleted_at: 1 }, unique: true }, REV_INDEX],
  identity: ['key'],
  check: checkChargeTerms,
  api: {
    name: 'discounts',
    about: 'Discounts on plans, services and fees',
    keyField: 'key',
    configuredFieldsPath: ['discounts', 'fields'],
    actions: [...CHARGE_ACTIONS, 'permanentchange', 'import'],
  },
})
