import { type Static, Type } from '@sinclair/typebox'
import type { EntityDefinition, StoredFields } from './entity.ts'
import { date, positiveInteger, REV_INDEX, REVISION_DATES, revisionFields, text } from './entity.ts'
import { HOLDER_DATES, holderFields } from './holder.ts'

/** A subscriber revision (spec/entity-api.md 4.2). Custom fields are kept as they are. */
export const SubscriberSchema = Type.Object({
  type: Type.Literal('subscriber', { description: "'subscriber'" }),
  sid: positiveInteger(),
  aid: positiveInteger(),
  ...revisionFields,
  plan: text(),
  msisdn: Type.Optional(text()),
  imsi: Type.Optional(Type.Array(text(), { description: 'a list of texts' })),
  /** True: every request for units is denied; what was used is still settled. */
  barred: Type.Optional(Type.Boolean({ description: 'true or false' })),
  ...holderFields,
  /** IANA time zone of its day; absent: the installation's. */
  time_zone: Type.Optional(text()),
  play: Type.Optional(Type.String({ description: 'a text' })),
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
    // Lists of accounts, which stand in the same collection, do not walk over their subscribers.
    { key: { aid: 1, from: 1 }, partialFilterExpression: { type: 'account' } },
    { key: { msisdn: 1 } },
    { key: { imsi: 1 } },
    // Who uses a plan or a service is asked before it is deleted.
    { key: { plan: 1 } },
    { key: { 'services.name': 1 } },
    { key: { 'allowances.sid': 1 } },
    REV_INDEX,
  ],
  identity: ['type', 'sid', 'aid'],
  dates: [...REVISION_DATES, ...HOLDER_DATES, 'plan_activation', 'plan_deactivation'],
}
