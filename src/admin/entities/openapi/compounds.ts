/** Components for compound values in requests; response-schemas.ts derives those of responses. */
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

const CONDITION_OPERATORS = [
  'eq',
  'ne',
  'in',
  'nin',
  'lt',
  'lte',
  'gt',
  'gte',
  'regex',
  'is',
  'exists',
] as const

const PLAIN_VALUES: readonly Schema[] = [
  text('A text.'),
  number('A number.'),
  flag('True or false.'),
  { type: 'null', description: 'Nothing.' },
  ref('jsonObject'),
]

/** Scalars and generic values. */
const VALUES: Readonly<Record<string, Schema>> = {
  jsonValue: {
    ...either('Any JSON value; it is stored as it is sent.', ...PLAIN_VALUES, ref('jsonList')),
    examples: ['a text', 7, { size: 'L' }],
  },
  jsonObject: mapOf(ref('jsonValue'), 'An object of JSON.'),
  // Not defined with `jsonValue`: types generated from a recursive list would be useless.
  jsonList: listOf(either('A member.', ...PLAIN_VALUES, ref('jsonRows')), 'A list of JSON.'),
  jsonRows: listOf(either('A member.', ...PLAIN_VALUES, ref('jsonCells')), 'A list in a list.'),
  jsonCells: listOf(either('A member.', ...PLAIN_VALUES), 'A list in a list of lists.'),
  amount: {
    description: 'A number, or the same as decimal text, which stays exact whatever its length.',
    type: ['number', 'string'],
    examples: [0.02, '0.0005'],
  },
  id: object(
    'The id of a document.',
    { $id: text('24 hexadecimal digits.', { pattern: '^[0-9a-f]{24}$' }) },
    ['$id'],
  ),
  idGiven: either(
    'The id of a document: its text, or the object that answers have.',
    text('24 hexadecimal digits.', { pattern: '^[0-9a-fA-F]{24}$' }),
    ref('id'),
  ),
  dateText: text('A date and time with its offset from UTC, in the time zone of the node.', {
    examples: ['2026-03-01T00:00:00+0000'],
  }),
  dateParts: object(
    'A date and time since 1970-01-01 UTC.',
    { sec: integer('Whole seconds.'), usec: integer('Microseconds beside them.') },
    ['sec', 'usec'],
  ),
  dateGiven: either(
    'A date and time in any of the forms that requests may have.',
    text(
      'ISO 8601, `YYYY-MM-DD` or `YYYY-MM-DD HH:MM:SS` in the time zone of the node, unix ' +
        'seconds, or words: `now`, `today`, `tomorrow`, `+2 weeks`.',
      { examples: ['2026-03-01', '2026-03-01T10:00:00Z', 'now'] },
    ),
    number('Unix seconds.'),
    ref('dateParts'),
  ),
  emptyObject: {
    description: 'An object without members, which answers show as an empty list.',
    type: 'array',
    maxItems: 0,
    items: { type: 'null', description: 'There are none.' },
  },
  usageTypeNames: listOf(text('A usage type, such as `call`.'), 'Usage types.'),
  usageTypeMap: mapOf(
    mapOf(anyValue('Kept as it is.'), 'Of one usage type; may be empty.'),
    'Usage types as keys.',
  ),
}

/** Prices of usage. */
const PRICES: Readonly<Record<string, Schema>> = {
  priceTier: object(
    'A step of a price: so many units at so much per interval.',
    {
      from: amount('Units at which it begins; where the step before ends if it is left out.'),
      to: amount('Units at which it ends, or `UNLIMITED`.'),
      interval: amount('Base units (seconds, bytes, events) that are sold at once.'),
      price: amount('Price of one interval, at most 12 decimals.'),
      ceil: flag('Whether a begun interval is charged whole; true if it is left out.'),
      uom_display: object('How a person entered it; charging does not read it.', {
        range: text('Unit of `from` and `to`.'),
        interval: text('Unit of `interval`.'),
      }),
    },
    ['to', 'interval', 'price'],
  ),
  timeBand: object(
    'Another price at certain times; the first band that holds decides.',
    {
      name: text('Name, once in the list; shown on the line.'),
      days: listOf(integer('1 (Monday) to 7.'), 'Days of the week; every day if left out.'),
      dates: listOf(
        text('`YYYY-MM-DD`, or `MM-DD` of every year.'),
        'Dates; every date if left out.',
      ),
      from: text('Time of day at which it begins, `HH:MM` or `HH:MM:SS`.'),
      to: text('Time of day at which it ends, up to `24:00`.'),
      rate: listOf(ref('priceTier'), 'Steps of the price in this band.'),
      access: amount('Price of the first unit of a session in this band.'),
      minimum_charge: amount('Least price of a session in this band.'),
    },
    ['name', 'rate'],
  ),
  usagePrice: object('The price of one usage type: steps, or a part of another price.', {
    rate: listOf(ref('priceTier'), 'Steps of the price.'),
    access: amount('Charged once, with the first priced unit of a session.'),
    minimum_charge: amount('Least price of a session that bears the access price.'),
    bands: listOf(ref('timeBand'), 'Prices of certain times.'),
    percentage: amount('Alone, in place of all others: this part of the price of `BASE`.'),
  }),
  planPrices: mapOf(ref('usagePrice'), 'The price by plan; `BASE` is the one of all others.'),
  ratePrices: mapOf(ref('planPrices'), 'Prices by usage type, such as `call` or `data`.'),
  ratePrice: mapOf(ref('usagePrice'), 'Prices of one rate by usage type.'),
  offerPrices: mapOf(ref('ratePrice'), 'Prices in place of those of rates, by key of the rate.'),
  taxHint: object('Which tax holds.', {
    type: text('Kind of tax; `vat` if it is left out.'),
    taxation: choice(
      ['global', 'default', 'no', 'custom'],
      'By the mapping of the settings, the default tax, none, or `custom_tax`.',
    ),
    custom_tax: text('Key of a tax.'),
    custom_logic: choice(
      ['override', 'fallback'],
      '`fallback`: `custom_tax` holds only where the mapping finds none.',
    ),
  }),
  roundingRules: object('How a price is rounded.', {
    rounding_type: choice(['None', 'up', 'down', 'nearest'], 'Direction; `None`: not rounded.'),
    rounding_decimals: integer('Decimals that are left, 0 to 10; 2 if it is left out.'),
    rounding_stage: choice(['after_tax', 'before_tax', 'None'], 'What is rounded.'),
  }),
  cyclePrice: object(
    'What a plan or service costs in some of its cycles.',
    {
      from: amount('First cycle, counted from 0.'),
      to: amount('The cycle before which it ends, or `UNLIMITED`.'),
      price: amount('Price of a cycle.'),
    },
    ['from', 'to', 'price'],
  ),
  recurrence: object('How often a plan or service is charged.', {
    frequency: integer('Months between two charges.'),
    start: integer('Month of the year in which it begins, 1 to 12.'),
    periodicity: choice(['month', 'year'], 'The older form of a frequency.'),
  }),
}

/** Content of plans and services, and entries of their holders. */
const OFFERS: Readonly<Record<string, Schema>> = {
  includedGroup: {
    ...object('Included units (`value`) or money (`cost`); it has one of them.', {
      value: amount('Base units that are included, or `UNLIMITED`.'),
      cost: amount('Money that is included, or `UNLIMITED`.'),
      usage_types: either(
        'Usage types that it is for; all if it is left out.',
        ref('usageTypeMap'),
        ref('usageTypeNames'),
        ref('emptyObject'),
      ),
      rates: either(
        'Rates that it is for; all if it is left out.',
        listOf(text('Key of a rate.'), 'Keys of rates.'),
        text('`ALL_RATES`, or a regular expression of keys.'),
      ),
      account_shared: flag('One counter for all subscribers of the account.'),
      account_pool: flag('One counter of the account with the sum of what its subscribers bring.'),
      quantity_affected: flag('Whether the quantity of the service multiplies it; true if absent.'),
    }),
    additionalProperties: anyValue('The older form: base units by usage type.'),
  },
  include: object('What a plan or service includes.', {
    services: listOf(text('Name of a service.'), 'Services that come with the plan.'),
    groups: mapOf(ref('includedGroup'), 'Included units and money by name of the group.'),
  }),
  serviceEntry: object(
    'A service that a subscriber or account holds.',
    {
      name: text('Name of the service.'),
      from: date('When it begins; with the revision if it is left out.'),
      to: date('When it ends; with the service if it is left out.'),
      service_id: integer('Tells entries of one service apart; given if it is left out.'),
      creation_time: date('When it was added; given if it is left out.'),
      quantity: integer('How many of it; 1 if it is left out.'),
    },
    ['name'],
  ),
  condition: object(
    'A condition on one field.',
    {
      field: text('Name of the field.'),
      op: choice(CONDITION_OPERATORS, 'How it is compared.'),
      value: anyValue('What it is compared with; a list for `in` and `nin`.'),
    },
    ['field', 'op'],
  ),
  conditionList: listOf(ref('condition'), 'Conditions that must all hold.'),
  conditionFields: object('Conditions that must all hold.', {
    fields: listOf(ref('condition'), 'The conditions.'),
  }),
  overrideValue: {
    ...object('Whole fields that take the place of those of the plan or service.', {
      price: listOf(ref('cyclePrice'), 'What it costs by cycle.'),
      rates: ref('offerPrices', 'Prices in place of those of rates.'),
      include: ref('include', 'What it includes.'),
      disallowed_rates: listOf(text('Key of a rate.'), 'Rates that may not be used.'),
    }),
    additionalProperties: anyValue('A further field; it is kept.'),
  },
  override: object(
    'Other fields of a plan or service, for one holder.',
    {
      type: choice(['plan', 'service', 'discount'], 'What is overridden.'),
      key: text('Name of the plan or service.'),
      id: integer('Of a service: `service_id` of the entry that is meant.'),
      condition: either(
        'Conditions on the plan or service; all must hold.',
        ref('condition'),
        ref('conditionList'),
        ref('conditionFields'),
      ),
      value: ref('overrideValue', 'The other fields.'),
    },
    ['type', 'key'],
  ),
  thresholdNotice: object('A message when a balance passes a value.', {
    value: amount('The value; prepaid credit is negative.'),
    type: text('How it is sent, such as `sms`.'),
    msg: text('The text.'),
  }),
  bucketOfGroup: {
    ...object('A bucket that a prepaid group fills, with one amount.', {
      pp_includes_external_id: integer('Number of the prepaid include.'),
      pp_includes_name: text('Name of the prepaid include, in place of the number.'),
      operation: choice(['default', 'inc', 'set', 'new'], '`default`: that of the group.'),
      value: amount('Units or money; what is credited is negative.'),
      usagev: amount('Units, in place of `value`.'),
      cost: amount('Money for one usage type, in place of `value`.'),
      total_cost: amount('Money for all usage types, in place of `value`.'),
      period: ref('bucketPeriod', 'How long it is valid.'),
    }),
    additionalProperties: anyValue('A further field; it is kept.'),
  },
  bucketPeriod: object(
    'A time from the top-up on.',
    {
      duration: integer('How many of the unit.'),
      unit: choice(
        ['days', 'day', 'weeks', 'week', 'months', 'month', 'years', 'year'],
        'The unit.',
      ),
    },
    ['duration', 'unit'],
  ),
}

/** Parts of charges, discounts, accounts and reports. */
const TERMS: Readonly<Record<string, Schema>> = {
  subjectValue: {
    ...object(
      'What is added or taken off.',
      { value: amount('Money, or with type `percentage` a fraction: 0.1 is 10 %.') },
      ['value'],
    ),
    additionalProperties: anyValue('A further field; it is kept.'),
  },
  subjectValues: mapOf(ref('subjectValue'), 'By name of the plan, service or rate.'),
  chargeSubject: {
    ...object('What it is on.', {
      general: ref('subjectValue', 'The invoice.'),
      monthly_fees: ref('subjectValue', 'All recurring fees.'),
      matched_plans: ref('subjectValue', 'Plans that the conditions have found.'),
      matched_services: ref('subjectValue', 'Services that the conditions have found.'),
      plan: ref('subjectValues', 'Plans by name.'),
      service: ref('subjectValues', 'Services by name.'),
    }),
    additionalProperties: anyValue('Another kind of subject: values by name.'),
  },
  serviceConditions: object('Conditions on services.', {
    any: listOf(ref('conditionFields'), 'One of them must hold.'),
  }),
  subscriberConditions: object('Conditions on a subscriber.', {
    fields: listOf(ref('condition'), 'Conditions on its fields.'),
    service: ref('serviceConditions', 'Conditions on the services that it holds.'),
  }),
  chargeConditions: object('Conditions that must all hold.', {
    account: ref('conditionFields', 'On the account.'),
    subscriber: listOf(ref('subscriberConditions'), 'On its subscribers; one must fit.'),
  }),
  chargeParams: object('When it applies.', {
    min_subscribers: integer('Least number of subscribers.'),
    max_subscribers: integer('Most subscribers.'),
    cycles: integer('How many cycles it lasts from the begin of a plan or service.'),
    conditions: listOf(ref('chargeConditions'), 'One of them must hold.'),
  }),
  allowance: object(
    'Money off the invoice for a subscriber.',
    { sid: integer('Number of the subscriber.'), allowance: amount('The money, above 0.') },
    ['sid', 'allowance'],
  ),
  paymentMeans: {
    ...object('A means of payment.', {
      name: text('Name of the payment gateway.'),
      card_token: text('Token of the card.'),
      card_expiration: text('When the card expires.'),
      personal_id: text('Number of the holder.'),
      transaction_exhausted: flag('Whether the token is used up.'),
      generate_token_time: date('When the token was made.'),
      auth_number: text('Number of the authorisation.'),
      four_digits: text('Last digits of the card.'),
    }),
    additionalProperties: anyValue('A further field; it is kept.'),
  },
  paymentGateway: {
    ...object('How an account pays.', {
      active: ref('paymentMeans', 'The means that is used.'),
      former: listOf(ref('paymentMeans'), 'Means that were used before.'),
    }),
    additionalProperties: anyValue('A further field; it is kept.'),
  },
  reportPart: {
    ...object('A column, condition, order or format of a report.', {
      key: text('Name of the part.'),
      field: text('Name of the field that is meant.'),
      label: text('Heading.'),
      op: {
        description: 'How it is compared or ordered.',
        type: ['string', 'number'],
      },
      value: anyValue('What it is compared with.'),
      type: text('Type of the field.'),
      entity: text('What the field is of.'),
    }),
    additionalProperties: anyValue('A further field; it is kept.'),
  },
}

export const COMPOUNDS: Readonly<Record<string, Schema>> = {
  ...VALUES,
  ...PRICES,
  ...OFFERS,
  ...TERMS,
}
