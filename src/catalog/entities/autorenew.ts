import { type Static, Type } from '@sinclair/typebox'
import type { EntityDefinition, StoredFields } from './entity.ts'
import { date, positiveInteger, REV_INDEX, REVISION_DATES, revisionFields, text } from './entity.ts'

/** Recurring top-up of a prepaid group. */
export const AutorenewSchema = Type.Object({
  aid: positiveInteger(),
  sid: positiveInteger(),
  ...revisionFields,
  /** Name of the prepaid group. */
  bucket_group: text(),
  cycles: positiveInteger(),
  cycles_remaining: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      expected: 'an integer from 0 to 2^53',
    }),
  ),
  interval: Type.Optional(
    Type.Union([Type.Literal('day'), Type.Literal('week'), Type.Literal('month')], {
      expected: "'day', 'week' or 'month'",
    }),
  ),
  operation: Type.Optional(
    Type.Union([Type.Literal('inc'), Type.Literal('set')], { expected: "'inc' or 'set'" }),
  ),
  immediate: Type.Optional(Type.Boolean({ expected: 'true or false' })),
  next_renew: Type.Optional(date()),
  /** Day of the month on which monthly renewals run, also after a month that does not have it. */
  anchor_day: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 31, expected: 'an integer from 1 to 31' }),
  ),
  last_renew: Type.Optional(date()),
})

export type AutorenewDocument = Static<typeof AutorenewSchema> & StoredFields

/** A subscriber may have several, even of one group, so only the id is unique. */
export const AutorenewEntity: EntityDefinition = {
  schema: AutorenewSchema,
  indexes: [
    { key: { sid: 1, from: 1 } },
    { key: { aid: 1 } },
    { key: { next_renew: 1 } },
    REV_INDEX,
  ],
  identity: ['_id'],
  dates: [...REVISION_DATES, 'next_renew', 'last_renew'],
}
