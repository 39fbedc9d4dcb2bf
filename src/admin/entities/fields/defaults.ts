/**
 * Built-in fields of the collections, including Tollgate extensions that charging reads and the
 * existing system does not have.
 */
import { apiOf } from '../../../catalog/entities/api.ts'
import type { EntityDefinition } from '../../../catalog/entities/entity.ts'
import { ENTITIES } from '../../../catalog/entities/entity-table.ts'
import type { FieldDefinition } from './field-definition.ts'

const text = (field_name: string, more: Partial<FieldDefinition> = {}): FieldDefinition => ({
  field_name,
  type: 'text',
  system: true,
  ...more,
})

const typed = (
  field_name: string,
  type: FieldDefinition['type'],
  more: Partial<FieldDefinition> = {},
): FieldDefinition => ({ ...text(field_name), ...(type && { type }), ...more })

/** A field whose values have several forms in existing installations: stored unchanged. */
const untyped = (field_name: string, more: Partial<FieldDefinition> = {}): FieldDefinition => ({
  field_name,
  system: true,
  ...more,
})

const mandatory = { mandatory: true } as const
/** Removed by an erasure. */
const personal = { personal: true } as const
const DAYS = Array.from({ length: 28 }, (_, index) => String(index + 1))

const CREDIT_LIMIT = typed('credit_limit', 'decimal', {
  title: 'Credit limit',
  description: 'Most that may be owed in a billing cycle, before tax; empty: no limit',
})

const ACCOUNT: readonly FieldDefinition[] = [
  typed('aid', 'integer', { unique: true, generated: true, title: 'Account number' }),
  text('firstname', { ...personal, ...mandatory, title: 'First name', searchable: true }),
  text('lastname', { ...personal, ...mandatory, title: 'Last name', searchable: true }),
  typed('email', 'email', { ...personal, ...mandatory, title: 'E-mail' }),
  text('country', { ...mandatory, title: 'Country' }),
  text('address', { ...personal, ...mandatory, title: 'Address' }),
  text('zip_code', { ...personal, ...mandatory, title: 'Zip code' }),
  typed('payment_gateway', 'json', { ...personal, title: 'Payment gateway' }),
  text('personal_id', { ...personal, title: 'Personal id' }),
  text('salutation', { ...personal, title: 'Salutation' }),
  typed('in_collection', 'boolean', { title: 'In collection' }),
  typed('invoice_shipping_method', 'select', {
    select_options: ['email', 'mail', 'post', 'website'],
    default_value: 'email',
    title: 'Way of invoices',
  }),
  typed('invoice_detailed', 'boolean', { title: 'Detailed invoice' }),
  text('invoice_language', { default_value: 'en_GB', title: 'Language of invoices' }),
  typed('invoicing_day', 'select', { select_options: DAYS, title: 'Day of invoices' }),
  typed('allowances', 'json', { title: 'Allowances' }),
  typed('invoice_config', 'json', { title: 'Settings of invoices' }),
  CREDIT_LIMIT,
]

const SUBSCRIBER: readonly FieldDefinition[] = [
  typed('sid', 'integer', { ...mandatory, generated: true, title: 'Subscriber number' }),
  typed('aid', 'integer', { ...mandatory, title: 'Account number' }),
  text('firstname', { ...personal, ...mandatory, title: 'First name', searchable: true }),
  text('lastname', { ...personal, ...mandatory, title: 'Last name', searchable: true }),
  text('plan', { ...mandatory, title: 'Plan', searchable: true }),
  text('address', { ...personal, ...mandatory, title: 'Address' }),
  typed('plan_activation', 'datetime', { generated: true, title: 'Begin of the plan' }),
  text('country', { title: 'Country' }),
  untyped('services', { multiple: true, title: 'Services' }),
  text('play', { title: 'Play', searchable: true }),
  text('former_plan', { generated: true, title: 'Plan before' }),
  text('msisdn', { ...personal, unique: true, searchable: true, title: 'Phone number' }),
  text('imsi', { ...personal, unique: true, multiple: true, searchable: true, title: 'SIM cards' }),
  typed('barred', 'boolean', {
    searchable: true,
    title: 'Barred',
    description: 'New units are denied; what was granted is settled',
  }),
  CREDIT_LIMIT,
  text('time_zone', { title: 'Time zone', description: 'Name of the IANA database' }),
]

/** Shared by plans and services. */
const OFFER: readonly FieldDefinition[] = [
  untyped('tax', { title: 'Taxes' }),
  untyped('play', { title: 'Plays' }),
]

const CHARGE: readonly FieldDefinition[] = [
  typed('from', 'datetime', { title: 'From' }),
  typed('to', 'datetime', { title: 'To' }),
  text('key', { title: 'Key' }),
  text('description', { title: 'Description' }),
]

function builtIn({ schema, api }: EntityDefinition): readonly [string, FieldDefinition[]][] {
  if (api?.configuredFieldsPath === undefined) return []
  const fields = Object.entries(schema.properties).flatMap(([field_name, stored]) => {
    const configured = apiOf(stored)?.configured
    if (configured === undefined) return []
    const { type, ...settings } = configured
    return [{ field_name, ...(type !== undefined && { type }), system: true, ...settings }]
  })
  return [[api.name, fields]]
}

/** By the name of the collection. */
export const DEFAULT_FIELDS: Readonly<Record<string, readonly FieldDefinition[]>> = {
  ...Object.fromEntries(Object.values(ENTITIES).flat().flatMap(builtIn)),
  accounts: ACCOUNT,
  subscribers: SUBSCRIBER,
  plans: OFFER,
  services: OFFER,
  rates: [
    // No list of options: any category in `rating.rateCalculators` is valid.
    text('tariff_category', { ...mandatory, default_value: 'retail', title: 'Category' }),
    text('invoice_label', { title: 'Name on invoices' }),
    ...OFFER,
  ],
  charges: CHARGE,
  discounts: CHARGE,
  prepaidgroups: [],
}
