import { type Static, Type } from '@sinclair/typebox'
import type { EntityDefinition, StoredFields } from './entity.ts'
import { entityKey, REV_INDEX, REVISION_DATES, revisionFields, text } from './entity.ts'

/** A number, or decimal text if a JSON number would not be exact. */
export type Amount = number | string

/** One tier of a price. */
export interface TierDocument {
  /** If absent, the end of the previous tier. */
  from?: Amount
  to: Amount | 'UNLIMITED'
  interval: Amount
  price: Amount
  /** If true or absent, a started interval is charged completely. */
  ceil?: boolean
  /** Unit in which it was entered; not used for charging. */
  uom_display?: object
}

/** The price of a usage type, for all plans (`BASE`) or for one plan. */
export interface PriceDocument {
  access?: Amount
  minimum_charge?: Amount
  rate: TierDocument[]
  /** Time bands, see compile/price.ts. */
  bands?: object[]
}

/** Prices by usage type, then by `BASE` or plan name. */
export type PricesDocument = Record<string, Record<string, PriceDocument>>

/**
 * A revision of a rate. `rates` is checked by compile/, with more specific messages than those of a
 * schema.
 */
export const RateSchema = Type.Object({
  key: entityKey(),
  ...revisionFields,
  rates: Type.Unsafe<PricesDocument>(Type.Object({}, { expected: 'an object of usage types' })),
  pricing_method: Type.Optional(
    Type.Union([Type.Literal('tiered'), Type.Literal('volume')], {
      expected: "'tiered' or 'volume'",
    }),
  ),
  tariff_category: Type.Optional(text()),
  /** For categories other than retail: whether the customer is charged for it as well. */
  add_to_retail: Type.Optional(Type.Boolean({ expected: 'true or false' })),
  play: Type.Optional(Type.String({ expected: 'a text' })),
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
