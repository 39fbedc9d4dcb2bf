import { type Static, Type } from '@sinclair/typebox'
import type { EntityDefinition, StoredFields } from './entity.ts'
import { date, positiveInteger, REVISION_DATES, revisionFields } from './entity.ts'
import { HOLDER_DATES, holderFields } from './holder.ts'

/** A customer account revision (spec/entity-api.md 4.1). Custom fields are kept as they are. */
export const AccountSchema = Type.Object({
  type: Type.Literal('account', { description: "'account'" }),
  aid: positiveInteger(),
  ...revisionFields,
  ...holderFields,
  activation_date: Type.Optional(date()),
  deactivation_date: Type.Optional(date()),
})

export type AccountDocument = Static<typeof AccountSchema> & StoredFields

/** Accounts have their indexes with the subscribers: it is one collection. */
export const AccountEntity: EntityDefinition = {
  schema: AccountSchema,
  indexes: [],
  identity: ['type', 'aid'],
  dates: [...REVISION_DATES, ...HOLDER_DATES],
}
