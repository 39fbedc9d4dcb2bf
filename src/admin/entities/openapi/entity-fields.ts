/**
 * Descriptions of the declared fields of each collection, and schemas of compound ones. Keys are
 * the names in `query` and `update` of the definitions.
 */

import {
  amount,
  anyValue,
  choice,
  date,
  either,
  flag,
  integer,
  listOf,
  mapOf,
  number,
  object,
  ref,
  type Schema,
  text,
} from '../../../catalog/entities/json-schema.ts'
import type { CollectionDefinition, FieldDocs } from '../definitions/definition.ts'

type Fields = Readonly<Record<string, Schema | FieldDocs>>

/** For all collections, unless overridden. */
const COMMON_FIELDS: Fields = {
  _id: ref('idGiven', 'Id of the document.'),
  from: date('Start of the revision; on create, now by default.'),
  to: date('End of the revision; on create, no end by default.'),
  effective_date: date('With the key: a date at which the addressed revision is valid.'),
  creation_time: date('When the entity was created.'),
  description: text('Description.'),
  rounding_rules: ref('roundingRules', 'How the price is rounded.'),
  tax: listOf(ref('taxHint'), 'Taxes that apply; those of the settings by default.'),
  prorated_start: flag('Whether the first cycle is prorated.'),
  prorated_end: flag('Whether the last cycle is prorated.'),
  prorated_termination: flag('Whether a cycle with a termination is prorated.'),
}

const HELD: Fields = {
  services: {
    request: listOf(
      either('A service: its name alone, or an entry.', text('Name.'), ref('serviceEntry')),
      'Services of the holder.',
    ),
    stored: listOf(ref('serviceEntry'), 'Services of the holder.'),
  },
  'services.name': text('Name of a service of the holder.'),
  'services.from': date('Start of a service of the holder.'),
  'services.to': date('End of a service of the holder.'),
  overrides: listOf(ref('override'), 'Overridden fields of plans and services, for this holder.'),
  firstname: text('First name.'),
  lastname: text('Last name.'),
  activation_date: date('Start of the first revision; derived.'),
  deactivation_date: date('End of the last revision; derived.'),
}

const FORCE = flag('Whether the action is done despite objections.')

const ACCOUNTS: Fields = {
  ...HELD,
  force: FORCE,
  aid: integer('Number of the account; assigned by the node.'),
  sid: integer('Number of a subscriber; accounts have none.'),
  type: choice(['account'], 'Always `account`.'),
  account_import_id: text(
    'Id of the account in another system, which an import can use to find it.',
  ),
  invoice_language: text('Language of invoices, such as `en_GB`.'),
  company_name: text('Name of the company.'),
  contact_name: text('Name of the contact person.'),
  phone: text('Phone number.'),
  street: text('Street.'),
  payment_gateway: ref('paymentGateway', 'How the account pays.'),
  allowances: listOf(ref('allowance'), 'Amounts deducted from the invoice, for subscribers.'),
  invoice_config: mapOf(anyValue('A setting.'), 'Settings of invoices.'),
}

const SUBSCRIBERS: Fields = {
  ...HELD,
  force: FORCE,
  sid: integer('Number of the subscriber; assigned by the node.'),
  aid: integer('Number of its account.'),
  type: choice(['subscriber'], 'Always `subscriber`.'),
  plan: text('Name of the plan.'),
  play: text('Kind of subscriber; must be one of the enabled plays if there are several.'),
  discounts: listOf(
    mapOf(anyValue('A field of the discount.'), 'A discount for this subscriber only.'),
    'Discounts for this subscriber only.',
  ),
  plan_activation: date('Start of the plan; derived from the revisions.'),
  plan_deactivation: date('End of the plan; derived from the revisions.'),
  former_plan: text('The previous plan.'),
}

const OFFER: Fields = {
  name: text('Name: capital letters, digits and `_`; never changes.'),
  price: listOf(ref('cyclePrice'), 'Price by cycle.'),
  recurrence: ref('recurrence', 'How often it is charged.'),
  include: ref('include', 'Included services, units and money.'),
  'include.groups': mapOf(ref('includedGroup'), 'Included units and money.'),
  rates: ref('offerPrices', 'Prices that override those of rates, by key of the rate.'),
  play: listOf(text('Name of a play.'), 'Plays of subscribers that may use it; all by default.'),
}

const PLANS: Fields = {
  ...OFFER,
  upfront: flag('Whether a cycle is charged at its start.'),
  connection_type: choice(['prepaid', 'postpaid'], 'Whether usage is paid before or after.'),
  disallowed_rates: listOf(text('Key of a rate.'), 'Rates that must not be used.'),
  pp_threshold: mapOf(
    amount('Maximum credit, negative.'),
    'Maximum credit by `external_id` of the prepaid include.',
  ),
  notifications_threshold: mapOf(
    listOf(ref('thresholdNotice'), 'Notifications for one balance.'),
    'Notifications by `external_id` of the prepaid include.',
  ),
  charging_type: text('Kind of charging in the existing system; stored unchanged.'),
  type: text('Kind of plan in the existing system; stored unchanged.'),
  operation: text('Operation in the existing system; stored unchanged.'),
}

const SERVICES: Fields = {
  ...OFFER,
  prorated: flag('Whether cycles in which the service starts or ends are prorated.'),
  quantitative: flag('Whether it may have a `quantity`.'),
  balance_period: text('`default` (billing cycle), or a period such as `+2 weeks`.'),
  vatable: flag('Whether tax is charged.'),
  limit_cycles: {
    ...amount('Number of months after which it ends; defaults to the highest `to` of its price.'),
  },
}

const RATES: Fields = {
  key: text('Key: capital letters, digits and `_`; never changes.'),
  rates: ref(
    'ratePrices',
    'Prices by usage type, then by plan; `BASE` applies to all other plans.',
  ),
  params: {
    request: {
      ...object('Values that rate matching compares.', {
        prefix: listOf(text('Digits.'), 'Prefixes of called numbers; the longest wins.'),
      }),
      additionalProperties: anyValue('A value, or a list of values of which one must match.'),
    },
  },
  pricing_method: choice(
    ['tiered', 'volume'],
    '`tiered`: each step applies to its own units; `volume`: one step applies to all units.',
  ),
  tariff_category: text('Category; `retail` by default.'),
  add_to_retail: flag('Whether the customer pays it; always true for `retail`.'),
  play: text('Only for subscribers with this `play`.'),
  invoice_label: text('Name on invoices.'),
}

const BALANCES: Fields = {
  aid: integer('Number of the account.'),
  sid: integer('Number of the subscriber; 0: shared by the account.'),
  pp_includes_name: text('Name of the prepaid include.'),
  pp_includes_external_id: integer('Number of the prepaid include.'),
  plan: text('Plan of the balance, in data of the existing system.'),
  connection_type: text('`prepaid`: credit; `postpaid`: a counter.'),
  from: date('Start of validity.'),
  to: date('End of validity.'),
  period: text('Counting period.'),
  service_name: text('Service with the included units.'),
  priority: integer('Higher priorities are used first.'),
  charging_plan: text('Name or id of a prepaid group.'),
  charging_plan_name: text('Name of a prepaid group.'),
  secret: text('Secret of a prepaid card, 12 digits.'),
  expiration_date: date('End of validity if it is new; otherwise it may be extended.'),
  value: number('Units, or money with at most 6 decimals; credits are negative.'),
  operation: choice(
    ['inc', 'set', 'new'],
    'Add to the balance (default), set the available amount, or create a new balance.',
  ),
  additional: mapOf(anyValue('A value.'), 'Stored in the line of the change.'),
}

const BILL_LINK: Schema = object('A related bill.', {
  type: choice(['inv', 'rec', 'ref'], 'Kind of bill.'),
  id: { description: 'Its number.', type: ['integer', 'string'] },
  amount: number('Money.'),
})

const BILLS: Fields = {
  invoice_id: integer('Number of the invoice.'),
  aid: integer('Number of the account.'),
  paid_by: listOf(BILL_LINK, 'Bills that pay it.'),
  payer_name: text('Name of the payer.'),
  past_rejections: listOf(mapOf(anyValue('A value.'), 'A rejection.'), 'Rejected payments.'),
  billrun_key: text('Billing cycle, such as `202601`.'),
  txid: text('Number of the payment, 13 digits.'),
  type: choice(['inv', 'rec', 'ref'], 'Invoice, payment or refund.'),
  urt: date('Time of the bill.'),
  invoice_date: date('Date of the invoice.'),
  due_date: date('Due date.'),
  deposit: flag('Whether it is a deposit.'),
  'charge.not_before': date('Earliest date of collection.'),
}

const CHARGES: Fields = {
  key: text('Key: capital letters, digits and `_`; never changes.'),
  limit: text('Maximum amount, as decimal text.'),
  cycles: text('Number of cycles in which it applies.'),
  params: ref('chargeParams', 'Conditions for the charge or discount to apply.'),
  type: choice(['monetary', 'percentage'], 'Whether the values are money or fractions.'),
  subject: ref('chargeSubject', 'What it applies to, with the amounts.'),
  proration: choice(['inherited', 'no'], 'Whether it is prorated like its subject.'),
  excludes: listOf(text('Key of another one.'), 'Others that do not apply at the same time.'),
  priority: text('Priority, as text of an integer.'),
  simultaneous_limit: integer('How many may apply at the same time.'),
  prorated_start: text('Whether the first cycle is prorated.'),
  prorated_end: text('Whether the last cycle is prorated.'),
}

const PREPAID_INCLUDES: Fields = {
  name: text('Name.'),
  external_id: integer('Number by which other entities refer to it; never changes.'),
  priority: integer('Higher priorities are used first.'),
  charging_by: choice(
    ['usagev', 'cost', 'total_cost'],
    'Units of one usage type, money for one usage type, or money for all.',
  ),
  charging_by_usaget: text('The usage type; `total_cost` for money for all.'),
  charging_by_usaget_unit: text('Unit for display.'),
  shared: flag('Whether its balances belong to the account.'),
  unlimited: flag('Whether its balances have no end.'),
  allowed_in: mapOf(
    listOf(text('Key of a rate.'), 'Rates that it can be used for.'),
    'Rates that it can be used for, by plan; `BASE` applies to all other plans.',
  ),
  additional_charging_usaget: listOf(
    text('A usage type.'),
    'Further usage types that it can be used for.',
  ),
}

const PREPAID_GROUPS: Fields = {
  name: text('Name: capital letters, digits and `_`; never changes.'),
  include: listOf(ref('bucketOfGroup'), 'The buckets with their amounts.'),
  operation: choice(['inc', 'set', 'new'], 'Operation on existing buckets.'),
  charging_value: number('Price.'),
}

const PARTS = (what: string): Schema => listOf(ref('reportPart'), what)

const REPORTS: Fields = {
  key: text('Name of the report.'),
  user: text('User who saved it.'),
  entity: text('Subject of the report, such as `usage`.'),
  type: integer('0: simple; 1: grouped.'),
  conditions: PARTS('Conditions on the rows.'),
  columns: PARTS('Columns.'),
  sorts: PARTS('Sort order.'),
  formats: PARTS('Formats of values.'),
}

const USERS: Fields = {
  username: text('Login name, an e-mail address.'),
  password: text('The password; never returned.'),
  roles: listOf(text('Name of a role.'), 'Roles of the user: read, write, admin, reports, …'),
  must_change_password: flag('Whether the password has to be changed at the next login.'),
  last_login: date('Time of the last login.'),
  password_changed_at: date('Time of the last change of the password.'),
}

const LINES: Fields = {
  aid: integer('Number of the account.'),
  sid: integer('Number of the subscriber.'),
  type: text('`realtime`, `balance` or `credit`.'),
  plan: text('Plan of the subscriber at that time.'),
  stamp: text('Unique id of the line.'),
  usaget: text('Usage type.'),
  billrun: text('Billing cycle, such as `202601`.'),
  arate_key: text('Key of the rate.'),
  session_id: text('Session of the network element.'),
  usagev: number('Units.'),
  aprice: number('Price before tax.'),
  final_charge: number('Price with tax.'),
  included_in_plan: number('Units that the plan included, in lines of the existing system.'),
  from: date('Start of the recorded period.'),
  to: date('End of the recorded period.'),
  urt: date('Time of the event.'),
}

const AUTORENEW: Fields = {
  from: date('Start of validity.'),
  to: date('End of validity.'),
  next_renew: date('Next renewal.'),
  last_renew: date('Last renewal.'),
  sid: integer('Number of the subscriber.'),
  aid: integer('Number of the account.'),
  bucket_group: text('Name of the prepaid group.'),
  cycles: integer('Number of renewals.'),
  cycles_remaining: integer('Number of remaining renewals.'),
  interval: choice(['day', 'week', 'month'], 'Time between two renewals; `month` by default.'),
  operation: choice(['inc', 'set'], 'Operation on the buckets; that of the group by default.'),
  immediate: flag('Whether the first renewal is made on creation.'),
}

const AUDIT: Fields = {
  'user.name': text('Name of the user or client.'),
  key: text('Key of the entity, user, category or client.'),
  urt: date('Time of the action.'),
  collection: text('Collection of the API, or `login`, `settings`, `oauth`.'),
  type: text('Action.'),
  source: text('Always `audit`.'),
}

/** By collection name in the API. */
const FIELDS: Readonly<Record<string, Fields>> = {
  accounts: ACCOUNTS,
  subscribers: SUBSCRIBERS,
  plans: PLANS,
  services: SERVICES,
  rates: RATES,
  balances: BALANCES,
  bills: BILLS,
  charges: CHARGES,
  discounts: CHARGES,
  prepaidincludes: PREPAID_INCLUDES,
  prepaidgroups: PREPAID_GROUPS,
  reports: REPORTS,
  users: USERS,
  lines: LINES,
  autorenew: AUTORENEW,
  audit: AUDIT,
}

/** Undefined if the field has no description. */
export function fieldDocs(
  { name, docs }: CollectionDefinition,
  field: string,
): FieldDocs | undefined {
  if (Object.hasOwn(docs, field)) return docs[field]
  const own = FIELDS[name] ?? {}
  const found = Object.hasOwn(own, field)
    ? own[field]
    : Object.hasOwn(COMMON_FIELDS, field)
      ? COMMON_FIELDS[field]
      : undefined
  if (found === undefined) return undefined
  return 'request' in found ? (found as FieldDocs) : { request: found }
}
