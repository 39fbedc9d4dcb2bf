import { type Static, Type } from '@sinclair/typebox'
import { CHARGE_ACTIONS, chargeFields } from './charge-terms.ts'
import { defineEntity, REV_INDEX, type StoredFields } from './entity.ts'

/** A revision of a conditional charge. */
export const ChargeSchema = Type.Object(chargeFields)

export type ChargeDocument = Static<typeof ChargeSchema> & StoredFields

export const ChargeEntity = defineEntity({
  schema: ChargeSchema,
  indexes: [{ key: { key: 1, from: 1, deleted_at: 1 }, unique: true }, REV_INDEX],
  identity: ['key'],
  api: {
    name: 'charges',
    about: 'Conditional charges',
    keyField: 'key',
    configuredFieldsPath: ['charges', 'fields'],
    actions: CHARGE_ACTIONS,
  },
})
