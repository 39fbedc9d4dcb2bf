import { type Static, Type } from '@sinclair/typebox'
import type { EntityDefinition, StoredFields } from './entity.ts'
import { entityKey, REV_INDEX, REVISION_DATES, revisionFields } from './entity.ts'

/** A revision of a tax. */
export const TaxSchema = Type.Object({
  key: entityKey(),
  ...revisionFields,
  description: Type.Optional(Type.String({ description: 'a text' })),
  /** A fraction, as a number or decimal text; checked by compile/tax.ts. */
  rate: Type.Unsafe<number | string>(Type.Unknown()),
  embed_tax: Type.Optional(Type.Boolean({ description: 'true or false' })),
})

export type TaxDocument = Static<typeof TaxSchema> & StoredFields

export const TaxEntity: EntityDefinition = {
  schema: TaxSchema,
  indexes: [{ key: { key: 1, from: 1, to: 1, deleted_at: 1 }, unique: true }, REV_INDEX],
  identity: ['key'],
  dates: REVISION_DATES,
}
