import { type Static, Type } from '@sinclair/typebox'
import { field, LIFE_CYCLE } from './api.ts'
import {
  defineEntity,
  descriptionField,
  flag,
  nameField,
  REV_INDEX,
  revisionFields,
  type StoredFields,
  unchecked,
} from './entity.ts'
import { amount } from './json-schema.ts'
import {
  offerFields,
  offerParameters,
  priceField,
  recurrenceField,
  roundingField,
} from './recurring.ts'

/** A revision of a service. Further fields are stored unchanged. */
export const ServiceSchema = Type.Object({
  name: nameField(),
  ...revisionFields,
  price: priceField(),
  description: descriptionField(),
  quantitative: field(flag(), 'Whether it may have a `quantity`.', { query: ['uniqueget'] }),
  prorated: field(flag(), 'Whether cycles in which the service starts or ends are prorated.', {
    mandatory: true,
  }),
  balance_period: field(unchecked(), '`default` (billing cycle), or a period such as `+2 weeks`.', {
    type: 'string',
    query: ['uniqueget'],
  }),
  vatable: field(flag(), 'Whether tax is charged.'),
  ...offerFields,
  /** A change without it keeps the stored one. */
  recurrence: recurrenceField(),
  /** Number of cycles after which the service ends. */
  limit_cycles: field(
    unchecked(),
    amount('Number of months after which it ends; defaults to the highest `to` of its price.'),
    { type: 'json' },
  ),
  rounding_rules: roundingField(),
})

export type ServiceDocument = Static<typeof ServiceSchema> & StoredFields

/** Changes also accept the prices of one rate, as `rates.RATE`. */
export const ServiceEntity = defineEntity({
  schema: ServiceSchema,
  indexes: [{ key: { name: 1, from: 1, to: 1, deleted_at: 1 }, unique: true }, REV_INDEX],
  identity: ['name'],
  api: {
    name: 'services',
    about: 'Additional offers for subscribers and accounts',
    keyField: 'name',
    configuredFieldsPath: ['services', 'fields'],
    parameters: offerParameters,
    actions: [...LIFE_CYCLE, 'import'],
  },
})
