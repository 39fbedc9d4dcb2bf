import {
  boolean,
  byId,
  changeById,
  collection,
  create,
  dates,
  datetime,
  integer,
  integers,
  PERIOD,
  read,
  required,
  text,
  texts,
} from './params.ts'

const interval = { type: 'string', options: ['day', 'week', 'month'] } as const

const FIELDS = {
  ...PERIOD,
  next_renew: datetime,
  sid: required(integer),
  aid: required(integer),
  bucket_group: required(text),
  cycles: required(integer),
  interval,
  operation: { type: 'string', options: ['inc', 'set'] },
  immediate: boolean,
} as const

/**
 * Recurring top-ups with prepaid groups. A subscriber may have several renewals of the same group,
 * which differ only in their ids.
 */
export const autorenew = collection({
  name: 'autorenew',
  about: 'Recurring top-ups with prepaid groups',
  store: 'autorenew',
  keyField: '_id',
  duplicate: { fields: [], by: 'all' },
  hasMinimumDate: false,
  actions: {
    get: read(
      {
        from: dates,
        to: dates,
        next_renew: dates,
        last_renew: dates,
        bucket_group: texts,
        aid: integers,
        sid: integers,
      },
      { customFields: false },
    ),
    create: create(FIELDS, { customFields: false }),
    update: changeById(byId, {
      sid: integer,
      aid: integer,
      bucket_group: text,
      interval,
      next_renew: datetime,
      cycles_remaining: integer,
    }),
    delete: changeById({ ...byId, sid: integer, aid: integer }, {}),
  },
})
