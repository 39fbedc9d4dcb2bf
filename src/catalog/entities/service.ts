import { type Static, Type } from '@sinclair/typebox'
import type { EntityDefinition, Stored } from './entity.ts'
import { entityKey, REV_INDEX, REVISION_DATES, revisionFields } from './entity.ts'

/** A service revision (spec/entity-api.md 4.4): the fields that charging reads. */
export const ServiceSchema = Type.Object({
  name: entityKey(),
  ...revisionFields,
  /** Checked by compile/: period, price overrides and inclusive units. */
  balance_period: Type.Optional(Type.Unknown()),
  rates: Type.Optional(Type.Unknown()),
  include: Type.Optional(Type.Unknown()),
  quantitative: Type.Optional(Type.Boolean({ description: 'true or false' })),
})

export type ServiceDocument = Static<typeof ServiceSchema> & Stored

export const ServiceEntity: EntityDefinition = {
  schema: ServiceSchema,
  indexes: [{ key: { name: 1, from: 1, to: 1 }, unique: true }, REV_INDEX],
  identity: ['name'],
  dates: REVISION_DATES,
}
