import { type Static, Type } from '@sinclair/typebox'
import { field, LIFE_CYCLE, READS } from './api.ts'
import {
  anyText,
  defineEntity,
  flag,
  keyField,
  REV_INDEX,
  revisionFields,
  type StoredFields,
  unchecked,
} from './entity.ts'
import { mapOf, ref } from './json-schema.ts'

/** A revision of a tax. */
export const TaxSchema = Type.Object({
  key: keyField(),
  ...revisionFields,
  description: field(anyText(), 'Name on lines and invoices.', {
    mandatory: true,
    pattern: 'path',
    query: READS,
  }),
  /** A fraction, as a number or decimal text; checked by compile/tax.ts. */
  rate: field(
    Type.Unsafe<number | string>(Type.Unknown()),
    'A fraction from 0 to 1: 0.17 is 17 %.',
    { type: 'number', mandatory: true },
  ),
  embed_tax: field(flag(), 'Whether the tax is part of the price.', {
    configured: { type: 'boolean', title: 'Within the price' },
  }),
  params: field(
    unchecked(),
    mapOf(ref('comparedValue'), 'Values that rules of the tax mapping compare.'),
  ),
})

export type TaxDocument = Static<typeof TaxSchema> & StoredFields

/** A change contains only the changed fields. */
export const TaxEntity = defineEntity({
  schema: TaxSchema,
  indexes: [{ key: { key: 1, from: 1, to: 1, deleted_at: 1 }, unique: true }, REV_INDEX],
  identity: ['key'],
  api: {
    name: 'taxes',
    about: 'Tax rates',
    keyField: 'key',
    configuredFieldsPath: ['taxes', 'fields'],
    actions: LIFE_CYCLE,
  },
})
