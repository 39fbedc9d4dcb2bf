import { type Static, Type } from '@sinclair/typebox'
import { field } from './api.ts'
import {
  choice,
  date,
  defineEntity,
  flag,
  positiveInteger,
  REV_INDEX,
  revisionFields,
  type StoredFields,
  text,
} from './entity.ts'

const ADDRESS = { mandatory: true, query: ['get', 'delete'] } as const

/** Recurring top-up of a prepaid group. */
export const AutorenewSchema = Type.Object({
  sid: field(positiveInteger(), 'Number of the subscriber.', ADDRESS),
  aid: field(positiveInteger(), 'Number of the account.', ADDRESS),
  ...revisionFields,
  from: field(date(), 'Start of validity.', { update: [], query: ['get'] }),
  to: field(date(), 'End of validity.', { update: [], query: ['get'] }),
  bucket_group: field(text(), 'Name of the prepaid group.', { mandatory: true, query: ['get'] }),
  cycles: field(positiveInteger(), 'Number of renewals.', { mandatory: true, update: ['create'] }),
  cycles_remaining: field(
    Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        expected: 'an integer from 0 to 2^53',
      }),
    ),
    'Number of remaining renewals.',
    { update: ['update'] },
  ),
  interval: field(
    Type.Optional(choice('day', 'week', 'month')),
    'Time between two renewals; `month` by default.',
  ),
  operation: field(
    Type.Optional(choice('inc', 'set')),
    'Operation on the buckets; that of the group by default.',
    { update: ['create'] },
  ),
  immediate: field(flag(), 'Whether the first renewal is made on creation.', {
    update: ['create'],
  }),
  next_renew: field(Type.Optional(date()), 'Next renewal.', { query: ['get'] }),
  /** Day of the month on which monthly renewals run, also after a month that does not have it. */
  anchor_day: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 31, expected: 'an integer from 1 to 31' }),
  ),
  last_renew: field(Type.Optional(date()), 'Last renewal.', { update: [], query: ['get'] }),
})

export type AutorenewDocument = Static<typeof AutorenewSchema> & StoredFields

/** A subscriber may have several, even of one group, so only the id is unique. */
export const AutorenewEntity = defineEntity({
  schema: AutorenewSchema,
  indexes: [
    { key: { sid: 1, from: 1 } },
    { key: { aid: 1 } },
    { key: { next_renew: 1 } },
    REV_INDEX,
  ],
  identity: ['_id'],
  api: {
    name: 'autorenew',
    about: 'Recurring top-ups with prepaid groups',
    keyField: '_id',
    duplicate: { fields: [], by: 'all' },
    hasMinimumDate: false,
    isAddressedById: true,
    textDates: ['next_renew', 'last_renew'],
    actions: ['get', 'create', 'update', 'delete'],
  },
})
