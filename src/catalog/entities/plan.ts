import { type Static, Type } from '@sinclair/typebox'
import { field, LIFE_CYCLE, READS } from './api.ts'
import {
  choice,
  defineEntity,
  descriptionField,
  flag,
  nameField,
  REV_INDEX,
  revisionFields,
  type StoredFields,
  text,
  unchecked,
} from './entity.ts'
import { amount, listOf, mapOf, ref, text as textSchema } from './json-schema.ts'
import {
  offerFields,
  offerParameters,
  priceField,
  recurrenceField,
  roundingField,
} from './recurring.ts'

/** A text that only the existing system uses; it cannot be changed from a date on. */
const legacyText = (what: string, query: typeof READS | [] = []) =>
  field(unchecked(), `${what} in the existing system; stored unchanged.`, {
    type: 'string',
    update: ['create', 'update', 'closeandnew'],
    query,
  })

/** A revision of a plan. Further fields are stored unchanged. */
export const PlanSchema = Type.Object({
  name: nameField(),
  ...revisionFields,
  price: priceField(),
  description: descriptionField(),
  recurrence: recurrenceField(),
  upfront: field(flag(), 'Whether a cycle is charged at its start.', { mandatory: true }),
  connection_type: field(choice('prepaid', 'postpaid'), 'Whether usage is paid before or after.', {
    mandatory: true,
    query: READS,
  }),
  /** By `external_id` of a bucket, as `pp_threshold`; the recipients are not validated yet. */
  notifications_threshold: field(
    unchecked(),
    mapOf(
      listOf(ref('thresholdNotice'), 'Notifications for one balance.'),
      'Notifications by `external_id` of the prepaid include.',
    ),
  ),
  disallowed_rates: field(
    Type.Optional(Type.Array(text(), { expected: 'a list of rate keys' })),
    listOf(textSchema('Key of a rate.'), 'Rates that must not be used.'),
  ),
  /** Not validated yet. */
  pp_threshold: field(
    unchecked(),
    mapOf(
      amount('Maximum credit, negative.'),
      'Maximum credit by `external_id` of the prepaid include.',
    ),
  ),
  ...offerFields,
  rounding_rules: roundingField(),
  prorated_start: field(flag(), 'Whether the first cycle is prorated.', { query: ['get'] }),
  prorated_end: field(flag(), 'Whether the last cycle is prorated.', { query: ['get'] }),
  prorated_termination: field(flag(), 'Whether a cycle with a termination is prorated.', {
    query: ['get'],
  }),
  price_change: field(
    Type.Optional(choice('at_end', 'by_day')),
    'Price of a period in which it changes: the last one for all days, or of each day its own.',
    { query: ['get'] },
  ),
  charging_type: legacyText('Kind of charging', READS),
  type: legacyText('Kind of plan', READS),
  operation: legacyText('Operation'),
})

export type PlanDocument = Static<typeof PlanSchema> & StoredFields

/** Changes also accept the prices of one rate, as `rates.RATE`. */
export const PlanEntity = defineEntity({
  schema: PlanSchema,
  indexes: [{ key: { name: 1, from: 1 } }, REV_INDEX],
  identity: ['name'],
  api: {
    name: 'plans',
    about: 'Recurring offers with included units and money',
    keyField: 'name',
    configuredFieldsPath: ['plans', 'fields'],
    parameters: offerParameters,
    actions: [...LIFE_CYCLE, 'import'],
  },
})
