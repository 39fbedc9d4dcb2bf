import { type Static, Type } from '@sinclair/typebox'
import { PRICE_MODELS, PRICING_METHODS } from '../../domain/pricing/models.ts'
import { CHANGES, field, LIFE_CYCLE, READS } from './api.ts'
import {
  anyText,
  choice,
  defineEntity,
  descriptionField,
  flag,
  keyField,
  REV_INDEX,
  revisionFields,
  type StoredFields,
  text,
  unchecked,
} from './entity.ts'
import { listOf, object, ref, text as textSchema } from './json-schema.ts'
import { roundingField, taxField } from './recurring.ts'

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

const FOUND = [...READS, 'export'] as const

/**
 * A revision of a rate. `rates` is checked by compile/, with more specific messages than those of a
 * schema.
 */
export const RateSchema = Type.Object({
  key: keyField(FOUND),
  ...revisionFields,
  rates: field(
    Type.Unsafe<PricesDocument>(Type.Object({}, { expected: 'an object of usage types' })),
    ref('ratePrices', 'Prices by usage type, then by plan; `BASE` applies to all other plans.'),
    { mandatory: true },
  ),
  description: descriptionField(FOUND),
  params: field(unchecked(), {
    ...object('Values that rate matching compares.', {
      prefix: listOf(textSchema('Digits.'), 'Prefixes of called numbers; the longest wins.'),
    }),
    additionalProperties: ref(
      'comparedValue',
      'A value, or a list of values of which one must match.',
    ),
  }),
  pricing_method: field(
    Type.Optional(choice(...PRICING_METHODS)),
    `${PRICING_METHODS.map((name) => `\`${name}\`: ${PRICE_MODELS[name].about}`).join('; ')}.`,
    { mandatory: true },
  ),
  tariff_category: field(Type.Optional(text()), 'Category; `retail` by default.', {
    query: ['uniqueget'],
    // No list of options: any category in `rating.rateCalculators` is valid.
    configured: { type: 'text', mandatory: true, default_value: 'retail', title: 'Category' },
  }),
  invoice_label: field(unchecked(), 'Name on invoices.', {
    type: 'string',
    update: [...CHANGES, 'move'],
    query: ['get'],
    isPlainFilter: true,
    configured: { type: 'text', title: 'Name on invoices' },
  }),
  /** For categories other than retail: whether the customer is charged for it as well. */
  add_to_retail: field(flag(), 'Whether the customer pays it; always true for `retail`.', {
    query: ['uniqueget'],
  }),
  tax: taxField(),
  play: field(anyText(), 'Only for subscribers with this `play`.', {
    configured: { title: 'Plays' },
  }),
  rounding_rules: roundingField(),
})

export type RateDocument = Static<typeof RateSchema> & StoredFields

export const RateEntity = defineEntity({
  schema: RateSchema,
  indexes: [{ key: { key: 1, from: 1, to: 1, deleted_at: 1 }, unique: true }, REV_INDEX],
  identity: ['key'],
  api: {
    name: 'rates',
    about: 'Prices of usage',
    keyField: 'key',
    configuredFieldsPath: ['rates', 'fields'],
    actions: [...LIFE_CYCLE, 'import', 'export'],
  },
})
