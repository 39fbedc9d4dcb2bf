import { type Static, Type } from '@sinclair/typebox'
import type { EntityDefinition, StoredFields } from './entity.ts'
import { entityKey, flag, REV_INDEX, REVISION_DATES, revisionFields } from './entity.ts'
import { recurringFields } from './recurring.ts'

/** A revision of a service. Further fields are stored unchanged. */
export const ServiceSchema = Type.Object({
  name: entityKey(),
  ...revisionFields,
  /** Period, price overrides and included units, checked by compile/. */
  balance_period: Type.Optional(Type.Unknown()),
  rates: Type.Optional(Type.Unknown()),
  include: Type.Optional(Type.Unknown()),
  quantitative: flag(),
  ...recurringFields,
  prorated: flag(),
  vatable: flag(),
  /** Number of cycles after which the service ends. */
  limit_cycles: Type.Optional(Type.Unknown()),
})

export type ServiceDocument = Static<typeof ServiceSchema> & StoredFields

export const ServiceEntity: EntityDefinition = {
  schema: ServiceSchema,
  indexes: [{ key: { name: 1, from: 1, to: 1, deleted_at: 1 }, unique: true }, REV_INDEX],
  identity: ['name'],
  dates: REVISION_DATES,
}
