/** Fields of plans and services, checked by `../compile` when written. */
import { type TSchema, Type } from '@sinclair/typebox'
import { field, READS } from './api.ts'
import { unchecked } from './entity.ts'
import { listOf, mapOf, ref, text as textSchema } from './json-schema.ts'

export const taxField = () =>
  field(
    unchecked(),
    listOf(ref('taxHint'), 'Taxes that apply; those of the settings by default.'),
    { configured: { title: 'Taxes' } },
  )

export const roundingField = () =>
  field(unchecked(), ref('roundingRules', 'How the price is rounded.'))

/** Prices by cycle since the activation. */
export const priceField = () =>
  field(unchecked(), listOf(ref('cyclePrice'), 'Price by cycle.'), { mandatory: true })

export const recurrenceField = () =>
  field(unchecked(), ref('recurrence', 'How often it is charged.'), { mandatory: true })

/** Price overrides and included units, and who may have the offer. */
export const offerFields = {
  include: field(unchecked(), ref('include', 'Included services, units and money.')),
  rates: field(
    unchecked(),
    ref('offerPrices', 'Prices that override those of rates, by key of the rate.'),
  ),
  tax: taxField(),
  play: field(
    unchecked(),
    listOf(textSchema('Name of a play.'), 'Plays of subscribers that may use it; all by default.'),
    { configured: { title: 'Plays' } },
  ),
}

/** Parameters of `query` that are no fields. */
export const offerParameters: Readonly<Record<string, TSchema>> = {
  'include.groups': field(
    Type.Unknown(),
    mapOf(ref('includedGroup'), 'Included units and money.'),
    { update: [], query: READS },
  ),
}
