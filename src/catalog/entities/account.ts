import { type Static, Type } from '@sinclair/typebox'
import { CHANGES, configuredField, field, LIFE_CYCLE, READS } from './api.ts'
import {
  defineEntity,
  positiveInteger,
  revisionFields,
  type StoredFields,
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
import { customFields, listOf, ref } from './json-schema.ts'

const DAYS = Array.from({ length: 28 }, (_, index) => String(index + 1))

/** A revision of a customer account. Custom fields are stored unchanged. */
export const AccountSchema = Type.Object({
  type: field(Type.Literal('account', { expected: "'account'" }), 'Always `account`.', {
    derived: true,
    key: true,
    query: READS,
    isPlainFilter: true,
  }),
  aid: numberField('Number of the account; assigned by the node.', 'Account number', {
    unique: true,
  }),
  ...revisionFields,
  creation_time: creationField(),
  ...nameFields,
  email: personField('E-mail', { type: 'email' }),
  country: configuredField(unchecked(), { type: 'text', mandatory: true, title: 'Country' }),
  address: personField('Address'),
  zip_code: personField('Zip code'),
  payment_gateway: configuredField(
    unchecked(),
    { type: 'json', personal: true, title: 'Payment gateway' },
    ref('paymentGateway', 'How the account pays.'),
  ),
  personal_id: configuredField(unchecked(), { type: 'text', personal: true, title: 'Personal id' }),
  salutation: configuredField(unchecked(), { type: 'text', personal: true, title: 'Salutation' }),
  in_collection: configuredField(unchecked(), { type: 'boolean', title: 'In collection' }),
  invoice_shipping_method: configuredField(unchecked(), {
    type: 'select',
    select_options: ['email', 'mail', 'post', 'website'],
    default_value: 'email',
    title: 'Way of invoices',
  }),
  invoice_detailed: configuredField(unchecked(), { type: 'boolean', title: 'Detailed invoice' }),
  invoice_language: field(unchecked(), 'Language of invoices, such as `en_GB`.', {
    type: 'string',
    update: ['create', 'close', 'closeandnew', 'permanentchange'],
    query: READS,
    isPlainFilter: true,
    configured: { type: 'text', default_value: 'en_GB', title: 'Language of invoices' },
  }),
  invoicing_day: configuredField(unchecked(), {
    type: 'select',
    select_options: DAYS,
    title: 'Day of invoices',
  }),
  allowances: configuredField(
    unchecked(),
    { type: 'json', title: 'Allowances' },
    listOf(ref('allowance'), 'Amounts deducted from the invoice, for subscribers.'),
  ),
  invoice_config: configuredField(
    unchecked(),
    { type: 'json', title: 'Settings of invoices' },
    customFields('Settings of invoices.'),
  ),
  credit_limit: creditLimitField(),
  account_import_id: field(
    unchecked(),
    'Id of the account in another system, which an import can use to find it.',
    { type: 'string', update: ['create'] },
  ),
  services: servicesField(),
  overrides: overridesField({ update: [...CHANGES, 'close'] }),
  ...activationFields,
})

export type AccountDocument = Static<typeof AccountSchema> & StoredFields

/** Fields by which existing clients look for accounts. */
const found = (docs: string) =>
  field(Type.Unknown(), docs, { type: 'string', update: [], query: ['uniqueget'] })

/**
 * Accounts share a collection with subscribers, which defines the other indexes. They have no
 * action `move`.
 */
export const AccountEntity = defineEntity({
  schema: AccountSchema,
  // Accounts with a card: few, and read when keys of secrets change.
  indexes: [
    {
      key: { 'payment_gateway.active.name': 1, aid: 1 },
      partialFilterExpression: { 'payment_gateway.active.name': { $gt: '' } },
    },
  ],
  identity: ['type', 'aid'],
  dates: SERVICE_DATES,
  api: {
    name: 'accounts',
    about: 'Customer accounts',
    keyField: 'aid',
    fixed: { type: 'account' },
    configuredFieldsPath: ['subscribers', 'account', 'fields'],
    textDates: [
      'payment_gateway.active.generate_token_time',
      'payment_gateway.active.card_expiration',
      'in_collection_from',
    ],
    parameters: {
      sid: field(positiveInteger(), 'Number of a subscriber; accounts have none.', {
        update: [],
        query: READS,
      }),
      company_name: found('Name of the company.'),
      contact_name: found('Name of the contact person.'),
      phone: found('Phone number.'),
      street: found('Street.'),
    },
    actions: [...LIFE_CYCLE.filter((name) => name !== 'move'), 'import', 'erase'],
  },
})
