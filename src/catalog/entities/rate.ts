import { type Static, Type } from '@sinclair/typebox'
import type { EntityDefinition, StoredFields } from './entity.ts'
import { entityKey, REV_INDEX, REVISION_DATES, revisionFields, text } from './entity.ts'

/** A number, or the same as decimal text where a JSON number would not be exact. */
export type Amount = number | string

/** One price step of a rate (spec/entity-api.md 4.5). */
export interface TierDocument {
  /** Absent: where the tier before ends. */
  from?: Amount
  to: Amount | 'UNLIMITED'
  interval: Amount
  price: Amount
  /** Absent or true: a begun interval is charged whole. */
  ceil?: boolean
  /** How a person entered it; means nothing here. */
  uom_display?: object
}

/** The price of a usage type, for everybody (`BASE`) or for one plan. */
export interface PriceDocument {
  access?: Amount
  minimum_charge?: Amount
  rate: TierDocument[]
  /** Prices by time: compile/price.ts. */
  bands?: object[]
}

/** Prices by usage type, then by `BASE` or plan name. */
export type PricesDocument = Record<string, Record<string, PriceDocument>>

/**
 * A rate revision. `rates` is checked by compile/, whose words for what is wrong in a price are
 * better than a schema's.
 */
export const RateSchema = Type.Object({
  key: entityKey(),
  ...revisionFields,
  rates: Type.Unsafe<PricesDocument>(Type.Object({}, { description: 'an object of usage types' })),
  pricing_method: Type.Optional(
    Type.Union([Type.Literal('tiered'), Type.Literal('volume')], {
      description: "'tiered' or 'volume'",
    }),
  ),
  tariff_category: Type.Optional(text()),
  /** A category other than retail: whether the customer pays it too. */
  add_to_retail: Type.Optional(Type.Boolean({ description: 'true or false' })),
  play: Type.Optional(Type.String({ description: 'a text' })),
  tax: Type.Optional(Type.Unknown()),
  rounding_rules: Type.Optional(Type.Unknown()),
})

export type RateDocument = Static<typeof RateSchema> & StoredFields

export const RateEntity: EntityDefinition = {
  schema: RateSchema,
  indexes: [{ key: { key: 1, from: 1, to: 1, deleted_at: 1 }, unique: true }, REV_INDEX],
  identity: ['key'],
  dates: REVISION_DATES,
}
