import { type Static, Type } from '@sinclair/typebox'
import { configuredField, field, LIFE_CYCLE, READS } from './api.ts'
import {
  anyText,
  date,
  defineEntity,
  flag,
  positiveInteger,
  REV_INDEX,
  revisionFields,
  type StoredFields,
  text,
  unchecked,
} from './entity.ts'
import {
  activationFields,
  creationField,
  creditLimitField,
  nameFields,
  numberField,
  overridesField,
  personField,
  SERVICE_DATES,
  servicesField,
} from './holder.ts'
import { customFields, listOf } from './json-schema.ts'

/** A revision of a subscriber. Custom fields are stored unchanged. */
export const SubscriberSchema = Type.Object({
  type: field(Type.Literal('subscriber', { expected: "'subscriber'" }), 'Always `subscriber`.', {
    derived: true,
    key: true,
    query: READS,
    isPlainFilter: true,
  }),
  sid: numberField('Number of the subscriber; assigned by the node.', 'Subscriber number', {
    mandatory: true,
  }),
  /** Tollgate extension: changing it moves the subscriber to that account. */
  aid: field(positiveInteger(), 'Number of its account.', {
    mandatory: true,
    query: READS,
    configured: { type: 'integer', mandatory: true, title: 'Account number' },
  }),
  ...revisionFields,
  creation_time: creationField(),
  ...nameFields,
  plan: field(text(), 'Name of the plan.', {
    mandatory: true,
    configured: { type: 'text', mandatory: true, title: 'Plan', searchable: true },
  }),
  address: personField('Address'),
  plan_activation: field(Type.Optional(date()), 'Start of the plan; derived from the revisions.', {
    derived: true,
    configured: { type: 'datetime', generated: true, title: 'Begin of the plan' },
  }),
  country: configuredField(unchecked(), { type: 'text', title: 'Country' }),
  services: servicesField({ multiple: true, title: 'Services' }),
  play: field(
    anyText(),
    'Kind of subscriber; must be one of the enabled plays if there are several.',
    { configured: { type: 'text', title: 'Play', searchable: true } },
  ),
  former_plan: field(unchecked(), 'The previous plan.', {
    type: 'string',
    derived: true,
    configured: { type: 'text', generated: true, title: 'Plan before' },
  }),
  msisdn: configuredField(Type.Optional(text()), {
    type: 'text',
    numbering: 'msisdn',
    personal: true,
    unique: true,
    searchable: true,
    title: 'Phone number',
  }),
  imsi: configuredField(Type.Optional(Type.Array(text(), { expected: 'a list of texts' })), {
    type: 'text',
    numbering: 'imsi',
    personal: true,
    unique: true,
    multiple: true,
    searchable: true,
    title: 'SIM cards',
  }),
  /** If true, every request for units is denied; used units are still settled. */
  barred: configuredField(flag(), {
    type: 'boolean',
    searchable: true,
    title: 'Barred',
    description: 'New units are denied; what was granted is settled',
  }),
  credit_limit: creditLimitField(),
  /** IANA time zone of the subscriber; that of the installation if absent. */
  time_zone: configuredField(Type.Optional(text()), {
    type: 'text',
    title: 'Time zone',
    description: 'Name of the IANA database',
  }),
  discounts: field(
    unchecked(),
    listOf(
      customFields('A discount for this subscriber only.'),
      'Discounts for this subscriber only.',
    ),
  ),
  overrides: overridesField(),
  ...activationFields,
  plan_deactivation: field(Type.Optional(date()), 'End of the plan; derived from the revisions.', {
    derived: true,
  }),
})

export type SubscriberDocument = Static<typeof SubscriberSchema> & StoredFields

export const SubscriberEntity = defineEntity({
  schema: SubscriberSchema,
  indexes: [
    { key: { sid: 1, from: 1 } },
    { key: { aid: 1, type: 1, from: 1 } },
    // Keeps lists of accounts from scanning the subscribers in the same collection.
    { key: { aid: 1, from: 1 }, partialFilterExpression: { type: 'account' } },
    { key: { msisdn: 1 } },
    { key: { imsi: 1 } },
    // Search by the begin of a name or an e-mail address.
    { key: { firstname: 1 } },
    { key: { lastname: 1 } },
    { key: { email: 1 } },
    // Before a plan or service is deleted, its users are looked up.
    { key: { plan: 1 } },
    { key: { 'services.name': 1 } },
    { key: { 'allowances.sid': 1 } },
    REV_INDEX,
  ],
  identity: ['type', 'sid', 'aid'],
  dates: SERVICE_DATES,
  api: {
    name: 'subscribers',
    about: 'Subscribers of accounts',
    keyField: 'sid',
    fixed: { type: 'subscriber' },
    configuredFieldsPath: ['subscribers', 'subscriber', 'fields'],
    parameters: {
      'services.name': field(text(), 'Name of a service of the holder.', {
        update: [],
        query: READS,
      }),
      'services.from': field(date(), 'Start of a service of the holder.', {
        update: [],
        query: READS,
      }),
      'services.to': field(date(), 'End of a service of the holder.', {
        update: [],
        query: READS,
      }),
    },
    actions: [...LIFE_CYCLE, 'import', 'erase'],
  },
})
