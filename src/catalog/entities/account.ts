import { type Static, Type } from '@sinclair/typebox'
import type { EntityDefinition, StoredFields } from './entity.ts'
import { date, positiveInteger, REVISION_DATES, revisionFields } from './entity.ts'
import { HOLDER_DATES, holderFields } from './holder.ts'

/** A revision of a customer account. Custom fields are stored unchanged. */
export const AccountSchema = Type.Object({
  type: Type.Literal('account', { expected: "'account'" }),
  aid: positiveInteger(),
  ...revisionFields,
  ...holderFields,
  activation_date: Type.Optional(date()),
  deactivation_date: Type.Optional(date()),
})

export type AccountDocument = Static<typeof AccountSchema> & StoredFields

/** Accounts share a collection with subscribers, which defines the indexes. */
export const AccountEntity: EntityDefinition = {
  schema: AccountSchema,
  indexes: [],
  identity: ['type', 'aid'],
  dates: [...REVISION_DATES, ...HOLDER_DATES],
}
