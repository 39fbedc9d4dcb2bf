import { type Static, Type } from '@sinclair/typebox'
import { field } from './api.ts'
import { CHARGE_ACTIONS, chargeFields } from './charge-terms.ts'
import { defineEntity, REV_INDEX, type StoredFields, unchecked } from './entity.ts'

/** A revision of a discount. */
export const DiscountSchema = Type.Object({
  ...chargeFields,
  prorated_start: field(unchecked(), 'With proration `yes`: at the start; true by default.', {
    type: 'string',
  }),
  prorated_end: field(unchecked(), 'With proration `yes`: at the end; true by default.', {
    type: 'string',
  }),
})

export type DiscountDocument = Static<typeof DiscountSchema> & StoredFields

export const DiscountEntity = defineEntity({
  schema: DiscountSchema,
  indexes: [{ key: { key: 1, from: 1, deleted_at: 1 }, unique: true }, REV_INDEX],
  identity: ['key'],
  api: {
    name: 'discounts',
    about: 'Discounts on plans, services and fees',
    keyField: 'key',
    configuredFieldsPath: ['discounts', 'fields'],
    actions: [...CHARGE_ACTIONS, 'permanentchange', 'import'],
  },
})
