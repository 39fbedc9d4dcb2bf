import { type Static, Type } from '@sinclair/typebox'
import type { EntityDefinition, StoredFields } from './entity.ts'
import { date, positiveInteger, REV_INDEX, REVISION_DATES, revisionFields, text } from './entity.ts'
import { HOLDER_DATES, holderFields } from './holder.ts'

/** A revision of a subscriber. Custom fields are stored unchanged. */
export const SubscriberSchema = Type.Object({
  type: Type.Literal('subscriber', { expected: "'subscriber'" }),
  sid: positiveInteger(),
  aid: positiveInteger(),
  ...revisionFields,
  plan: text(),
  msisdn: Type.Optional(text()),
  imsi: Type.Optional(Type.Array(text(), { expected: 'a list of texts' })),
  /** If true, every request for units is denied; used units are still settled. */
  barred: Type.Optional(Type.Boolean({ expected: 'true or false' })),
  ...holderFields,
  /** IANA time zone of the subscriber; that of the installation if absent. */
  time_zone: Type.Optional(text()),
  play: Type.Optional(Type.String({ expected: 'a text' })),
  activation_date: Type.Optional(date()),
  deactivation_date: Type.Optional(date()),
  plan_activation: Type.Optional(date()),
  plan_deactivation: Type.Optional(date()),
})

export type SubscriberDocument = Static<typeof SubscriberSchema> & StoredFields

export const SubscriberEntity: EntityDefinition = {
  schema: SubscriberSchema,
  indexes: [
    { key: { sid: 1, from: 1 } },
    { key: { aid: 1, type: 1, from: 1 } },
    // Keeps lists of accounts from scanning the subscribers in the same collection.
    { key: { aid: 1, from: 1 }, partialFilterExpression: { type: 'account' } },
    { key: { msisdn: 1 } },
    { key: { imsi: 1 } },
    // Before a plan or service is deleted, its users are looked up.
    { key: { plan: 1 } },
    { key: { 'services.name': 1 } },
    { key: { 'allowances.sid': 1 } },
    REV_INDEX,
  ],
  identity: ['type', 'sid', 'aid'],
  dates: [...REVISION_DATES, ...HOLDER_DATES, 'plan_activation', 'plan_deactivation'],
}
