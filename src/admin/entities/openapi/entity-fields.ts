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
} from './schema.ts'

/** Schema of a field in requests; `shown`: schema of the stored field, if that is different. */
export interface FieldDocs {
  readonly given: Schema
  readonly shown?: Schema
}

type Fields = Readonly<Record<string, Schema | FieldDocs>>

/** For all collections, unless overridden. */
const COMMON_FIELDS: Fields = {
  _id: ref('idGiven', 'Id of the document.'),
  from: date('When the revision begins; on create now if it is left out.'),
  to: date('When the revision ends; on create it has no end if it is left out.'),
  effective_date: date('With the key: a date at which the revision that is meant holds.'),
  creation_time: date('When the entity was created.'),
  description: text('Description for people.'),
  rounding_rules: ref('roundingRules', 'How the price is rounded.'),
  tax: listOf(ref('taxHint'), 'Which taxes hold; what the settings say if it is left out.'),
  prorated_start: flag('Whether the first cycle is charged in part.'),
  prorated_end: flag('Whether the last cycle is charged in part.'),
  prorated_termination: flag('Whether a cycle that is terminated is charged in part.'),
}

const HELD: Fields = {
  services: {
    given: listOf(
      either('A service: its name alone, or an entry.', text('Name.'), ref('serviceEntry')),
      'Services that are held.',
    ),
    shown: listOf(ref('serviceEntry'), 'Services that are held.'),
  },
  'services.name': text('Name of a service that is held.'),
  'services.from': date('When a service that is held begins.'),
  'services.to': date('When a service that is held ends.'),
  overrides: listOf(ref('override'), 'Other fields of plans and services, for this holder.'),
  firstname: text('First name.'),
  lastname: text('Last name.'),
  activation_date: date('When it begins to exist; follows from the revisions.'),
  deactivation_date: date('When it ceases to exist; follows from the revisions.'),
}

const FORCE = flag('Whether it is done although something speaks against it.')

const ACCOUNTS: Fields = {
  ...HELD,
  force: FORCE,
  aid: integer('Number of the account; given by the node.'),
  sid: integer('Number of a subscriber; accounts have none.'),
  type: choice(['account'], 'Always `account`.'),
  account_import_id: text('Name of the account elsewhere, by which an import may find it.'),
  invoice_language: text('Language of invoices, such as `en_GB`.'),
  company_name: text('Name of the company.'),
  contact_name: text('Name of the person to talk to.'),
  phone: text('Phone number.'),
  street: text('Street.'),
  payment_gateway: ref('paymentGateway', 'How the account pays.'),
  allowances: listOf(ref('allowance'), 'Money off the invoice, for subscribers.'),
  invoice_config: mapOf(anyValue('A setting.'), 'Settings of invoices.'),
}

const SUBSCRIBERS: Fields = {
  ...HELD,
  force: FORCE,
  sid: integer('Number of the subscriber; given by the node.'),
  aid: integer('Number of the account that it belongs to.'),
  type: choice(['subscriber'], 'Always `subscriber`.'),
  plan: text('Name of the plan.'),
  play: text('Kind of subscriber; must be one of the settings where there are several.'),
  discounts: listOf(
    mapOf(anyValue('A field of the discount.'), 'A discount of this subscriber alone.'),
    'Discounts of this subscriber alone.',
  ),
  plan_activation: date('When the plan began; follows from the revisions.'),
  plan_deactivation: date('When the plan ends; follows from the revisions.'),
  former_plan: text('The plan before this one.'),
}

const OFFER: Fields = {
  name: text('Name: capital letters, digits and `_`; never changes.'),
  price: listOf(ref('cyclePrice'), 'What it costs by cycle.'),
  recurrence: ref('recurrence', 'How often it is charged.'),
  include: ref('include', 'Services, units and money that it includes.'),
  'include.groups': mapOf(ref('includedGroup'), 'Included units and money.'),
  rates: ref('offerPrices', 'Prices in place of those of rates, by key of the rate.'),
  play: listOf(text('Name of a play.'), 'Plays of subscribers that may have it; all if absent.'),
}

const PLANS: Fields = {
  ...OFFER,
  upfront: flag('Whether a cycle is charged at its begin.'),
  connection_type: choice(['prepaid', 'postpaid'], 'Whether usage is paid before or after.'),
  disallowed_rates: listOf(text('Key of a rate.'), 'Rates that may not be used.'),
  pp_threshold: mapOf(
    amount('Most credit, negative.'),
    'Most credit by `external_id` of the prepaid include.',
  ),
  notifications_threshold: mapOf(
    listOf(ref('thresholdNotice'), 'Messages of one balance.'),
    'Messages by `external_id` of the prepaid include.',
  ),
  charging_type: text('Kind of charging of the existing system; it is kept.'),
  type: text('Kind of plan of the existing system; it is kept.'),
  operation: text('Operation of the existing system; it is kept.'),
}

const SERVICES: Fields = {
  ...OFFER,
  prorated: flag('Whether a cycle in which it is held in part is charged in part.'),
  quantitative: flag('Whether several may be held, by `quantity`.'),
  balance_period: text('`default` (by billing cycle), or how long it is held: `+2 weeks`.'),
  vatable: flag('Whether tax is charged.'),
  limit_cycles: {
    ...amount('After so many months it ends; the highest `to` of its price if it is left out.'),
  },
}

const RATES: Fields = {
  key: text('Key: capital letters, digits and `_`; never changes.'),
  rates: ref('ratePrices', 'Prices by usage type, then by plan; `BASE` holds for all others.'),
  params: {
    given: {
      ...object('What matching compares.', {
        prefix: listOf(text('Digits.'), 'Prefixes of called numbers; the longest wins.'),
      }),
      additionalProperties: anyValue('A value, or a list of values, of which one must match.'),
    },
  },
  pricing_method: choice(
    ['tiered', 'volume'],
    '`tiered`: each step prices its own units; `volume`: one step prices all.',
  ),
  tariff_category: text('Category; `retail` if it is left out.'),
  add_to_retail: flag('Whether the customer pays it; of `retail` always true.'),
  play: text('Only for subscribers with this `play`.'),
  invoice_label: text('Name on invoices.'),
}

const BALANCES: Fields = {
  aid: integer('Number of the account.'),
  sid: integer('Number of the subscriber; 0: shared by the account.'),
  pp_includes_name: text('Name of the prepaid include.'),
  pp_includes_external_id: integer('Number of the prepaid include.'),
  plan: text('Plan of the balance, in installations that had such.'),
  connection_type: text('`prepaid`: credit; `postpaid`: a counter.'),
  from: date('When it begins to be valid.'),
  to: date('When it ceases to be valid.'),
  period: text('Period that it counts in.'),
  service_name: text('Service whose included units it counts.'),
  priority: integer('Higher pays first.'),
  charging_plan: text('Name or id of a prepaid group.'),
  charging_plan_name: text('Name of a prepaid group.'),
  secret: text('Secret of a prepaid card, 12 digits.'),
  expiration_date: date('When it ends, if it is new; else it may be prolonged.'),
  value: number('Units, or money with at most 6 decimals; what is credited is negative.'),
  operation: choice(['inc', 'set', 'new'], 'Add (the default), set what is free, or a new one.'),
  additional: mapOf(anyValue('A value.'), 'Kept on the line of the change.'),
}

const BILL_LINK: Schema = object('A bill that is paid, or pays.', {
  type: choice(['inv', 'rec', 'ref'], 'Its kind.'),
  id: { description: 'Its number.', type: ['integer', 'string'] },
  amount: number('Money.'),
})

const BILLS: Fields = {
  invoice_id: integer('Number of the invoice.'),
  aid: integer('Number of the account.'),
  paid_by: listOf(BILL_LINK, 'Payments of it.'),
  payer_name: text('Name of the payer.'),
  past_rejections: listOf(mapOf(anyValue('A value.'), 'A rejection.'), 'Rejected payments.'),
  billrun_key: text('Billing cycle, such as `202601`.'),
  txid: text('Number of the payment, 13 digits.'),
  type: choice(['inv', 'rec', 'ref'], 'Invoice, payment or refund.'),
  urt: date('When it was made.'),
  invoice_date: date('Date of the invoice.'),
  due_date: date('When it is due.'),
  deposit: flag('Whether it is a deposit.'),
  'charge.not_before': date('Not collected before.'),
}

const CHARGES: Fields = {
  key: text('Key: capital letters, digits and `_`; never changes.'),
  limit: text('Most that it amounts to, as decimal text.'),
  cycles: text('How many cycles it holds.'),
  params: ref('chargeParams', 'When it applies.'),
  type: choice(['monetary', 'percentage'], 'Whether the values are money or fractions.'),
  subject: ref('chargeSubject', 'What it is on, with the values.'),
  proration: choice(['inherited', 'no'], 'Whether it is in parts like what it is on.'),
  excludes: listOf(text('Key of another one.'), 'Those that do not apply beside it.'),
  priority: text('Order among others, as text of an integer.'),
  simultaneous_limit: integer('How many of it may hold at once.'),
  prorated_start: text('Whether its first cycle is in part.'),
  prorated_end: text('Whether its last cycle is in part.'),
}

const PREPAID_INCLUDES: Fields = {
  name: text('Name.'),
  external_id: integer('Number of it, by which all else refers to it; never changes.'),
  priority: integer('Higher pays first.'),
  charging_by: choice(
    ['usagev', 'cost', 'total_cost'],
    'Units of one usage type, money for one, or money for all.',
  ),
  charging_by_usaget: text('The usage type; `total_cost` of money for all.'),
  charging_by_usaget_unit: text('Unit in which people see it.'),
  shared: flag('Whether its balances are those of the account.'),
  unlimited: flag('Whether its balances have no end.'),
  allowed_in: mapOf(
    listOf(text('Key of a rate.'), 'Rates that it pays for.'),
    'Rates that it pays for, by plan; `BASE` is for all others.',
  ),
  additional_charging_usaget: listOf(text('A usage type.'), 'Usage types that it pays for, too.'),
}

const PREPAID_GROUPS: Fields = {
  name: text('Name: capital letters, digits and `_`; never changes.'),
  include: listOf(ref('bucketOfGroup'), 'The buckets, with what each gets.'),
  operation: choice(['inc', 'set', 'new'], 'What is done with buckets that are there.'),
  charging_value: number('What it costs.'),
}

const TAXES: Fields = {
  key: text('Key: capital letters, digits and `_`; never changes.'),
  description: text('Name on lines and invoices.'),
  rate: number('A fraction from 0 to 1: 0.17 is 17 %.'),
  embed_tax: flag('Whether the tax is part of the price.'),
  params: mapOf(anyValue('A value, or a list.'), 'What rules of the tax mapping compare.'),
}

const PARTS = (what: string): Schema => listOf(ref('reportPart'), what)

const REPORTS: Fields = {
  key: text('Name of the report.'),
  user: text('Who has saved it.'),
  entity: text('What it reports on, such as `usage`.'),
  type: integer('0: simple; 1: grouped.'),
  conditions: PARTS('Which rows are in it.'),
  columns: PARTS('Its columns.'),
  sorts: PARTS('Its order.'),
  formats: PARTS('How values are shown.'),
}

const USERS: Fields = {
  username: text('Name to log in with, an e-mail address.'),
  password: text('The password; never shown.'),
  roles: listOf(text('Name of a role.'), 'What the user may do: read, write, admin, reports, …'),
  must_change_password: flag('Whether the password has to be changed at the next login.'),
  last_login: date('When the user has logged in.'),
  password_changed_at: date('When the password was changed.'),
}

const LINES: Fields = {
  aid: integer('Number of the account.'),
  sid: integer('Number of the subscriber.'),
  type: text('`realtime`, `balance` or `credit`.'),
  plan: text('Plan of the subscriber then.'),
  stamp: text('Tells lines apart.'),
  usaget: text('Usage type.'),
  billrun: text('Billing cycle, such as `202601`.'),
  arate_key: text('Key of the rate.'),
  session_id: text('Session of the network element.'),
  usagev: number('Units.'),
  aprice: number('Price before tax.'),
  final_charge: number('Price with tax.'),
  included_in_plan: number('Units that the plan included, in lines of the existing system.'),
  from: date('Begin of what it records.'),
  to: date('End of what it records.'),
  urt: date('Time of the event.'),
}

const AUTORENEW: Fields = {
  from: date('When it begins.'),
  to: date('When it ends.'),
  next_renew: date('When it is given next.'),
  last_renew: date('When it was given last.'),
  sid: integer('Number of the subscriber.'),
  aid: integer('Number of the account.'),
  bucket_group: text('Name of the prepaid group that is given.'),
  cycles: integer('How often it is given.'),
  cycles_remaining: integer('How often it is still given.'),
  interval: choice(['day', 'week', 'month'], 'Time between two; `month` if it is left out.'),
  operation: choice(['inc', 'set'], 'What is done with the buckets; that of the group if absent.'),
  immediate: flag('Whether the first is given with its creation.'),
}

const AUDIT: Fields = {
  'user.name': text('Name of the user or client.'),
  key: text('Key of the entity, user, category or client.'),
  urt: date('When it was done.'),
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
  taxes: TAXES,
  reports: REPORTS,
  users: USERS,
  lines: LINES,
  autorenew: AUTORENEW,
  audit: AUDIT,
}

/** Undefined if the field has no description. */
export function fieldDocs(collection: string, field: string): FieldDocs | undefined {
  const own = FIELDS[collection] ?? {}
  const found = Object.hasOwn(own, field)
    ? own[field]
    : Object.hasOwn(COMMON_FIELDS, field)
      ? COMMON_FIELDS[field]
      : undefined
  if (found === undefined) return undefined
  return 'given' in found ? (found as FieldDocs) : { given: found }
}
