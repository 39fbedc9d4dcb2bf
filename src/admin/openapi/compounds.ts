/** Components for compound values in requests; response-schemas.ts derives those of responses. */
import {
  amount,
  anyValue,
  choice,
  customFields,
  date,
  either,
  flag,
  integer,
  listOf,
  mapOf,
  number,
  object,
  open,
  ref,
  type Schema,
  text,
} from '../../catalog/entities/json-schema.ts'

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

/** Stored as it is sent: an integer, or its digits. */
const whole = (description: string): Schema => ({ description, type: ['integer', 'string'] })

const DATE_SCALARS: readonly Schema[] = [
  text(
    'ISO 8601, `YYYY-MM-DD` or `YYYY-MM-DD HH:MM:SS` in the time zone of the node, unix ' +
      'seconds, or words: `now`, `today`, `tomorrow`, `+2 weeks`.',
    { examples: ['2026-03-01', '2026-03-01T10:00:00Z', 'now'] },
  ),
  number('Unix seconds.'),
]

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
    ...either('Any JSON value; stored unchanged.', ...PLAIN_VALUES, ref('jsonList')),
    examples: ['a text', 7, { size: 'L' }],
  },
  jsonObject: mapOf(ref('jsonValue'), 'A JSON object.'),
  customFields: mapOf(
    ref('jsonValue'),
    'Fields with any names: those of the operator, of the caller or of another system.',
  ),
  comparedValue: anyValue('A text, number, flag or list that is compared; stored unchanged.'),
  // In scripts/api-types.mjs, too.
  jsonList: listOf(ref('jsonValue'), 'A JSON list.'),
  amount: {
    description: 'A number, or decimal text, which is exact at any length.',
    type: ['number', 'string'],
    examples: [0.02, '0.0005'],
  },
  id: object(
    'The id of a document.',
    { $id: text('24 hexadecimal digits.', { pattern: '^[0-9a-f]{24}$' }) },
    ['$id'],
  ),
  idGiven: either(
    'The id of a document: text, or the object in responses.',
    text('24 hexadecimal digits.', { pattern: '^[0-9a-fA-F]{24}$' }),
    ref('id'),
  ),
  dateText: text('A date and time with its offset from UTC, in the time zone of the node.', {
    examples: ['2026-03-01T00:00:00+0000'],
  }),
  dateParts: object(
    'A date and time since 1970-01-01 UTC.',
    { sec: integer('Whole seconds.'), usec: integer('Additional microseconds.') },
    ['sec', 'usec'],
  ),
  dateGiven: either(
    'A date and time in any format that requests accept.',
    ...DATE_SCALARS,
    ref('dateParts'),
  ),
  dateScalar: either('A date and time in a form or a query string.', ...DATE_SCALARS),
  emptyObject: {
    description: 'An empty object, which responses contain as an empty list.',
    type: 'array',
    maxItems: 0,
    items: { type: 'null', description: 'None.' },
  },
  usageTypeNames: listOf(text('A usage type, such as `call`.'), 'Usage types.'),
  usageTypeMap: mapOf(
    customFields('Settings of one usage type; may be empty.'),
    'Usage types as keys.',
  ),
}

/** Prices of usage. */
const PRICES: Readonly<Record<string, Schema>> = {
  priceTier: object(
    'A step of a price: a range of units with a price per interval.',
    {
      from: amount('First unit of the step; defaults to the end of the previous step.'),
      to: amount('End of the step in units, or `UNLIMITED`.'),
      interval: amount('Base units (seconds, bytes, events) per interval.'),
      price: amount('Price of one interval, with at most 12 decimals.'),
      ceil: flag('Whether a started interval is charged completely; true by default.'),
      uom_display: object('Units for display; not used for charging.', {
        range: text('Unit of `from` and `to`.'),
        interval: text('Unit of `interval`.'),
      }),
    },
    ['to', 'interval', 'price'],
  ),
  timeBand: object(
    'Prices at certain times; the first band that matches applies.',
    {
      name: text('Name, unique in the list; contained in the line.'),
      days: listOf(whole('1 (Monday) to 7.'), 'Days of the week; every day by default.'),
      dates: listOf(
        text('`YYYY-MM-DD`, or `MM-DD` of every year.'),
        'Dates; every date by default.',
      ),
      from: text('Start time, `HH:MM` or `HH:MM:SS`.'),
      to: text('End time, up to `24:00`.'),
      rate: listOf(ref('priceTier'), 'Steps of the price in this band.'),
      access: amount('Price of the first unit of a session in this band.'),
      minimum_charge: amount('Minimum price of a session in this band.'),
    },
    ['name', 'rate'],
  ),
  usagePrice: object('The price of one usage type: steps, or a fraction of another price.', {
    rate: listOf(ref('priceTier'), 'Steps of the price.'),
    access: amount('Charged once, with the first charged unit of a session.'),
    minimum_charge: amount('Minimum price of a session with the access price.'),
    bands: listOf(ref('timeBand'), 'Prices at certain times.'),
    percentage: amount('Fraction of the price of `BASE`, instead of all other fields.'),
  }),
  planPrices: mapOf(ref('usagePrice'), 'The price by plan; `BASE` applies to all other plans.'),
  ratePrices: mapOf(ref('planPrices'), 'Prices by usage type, such as `call` or `data`.'),
  ratePrice: mapOf(ref('usagePrice'), 'Prices of one rate by usage type.'),
  offerPrices: mapOf(ref('ratePrice'), 'Prices that override those of rates, by key of the rate.'),
  taxHint: object('The tax that applies.', {
    type: text('Kind of tax; `vat` by default.'),
    taxation: choice(
      ['global', 'default', 'no', 'custom'],
      'By the tax mapping of the settings, the default tax, none, or `custom_tax`.',
    ),
    custom_tax: text('Key of a tax.'),
    custom_logic: choice(
      ['override', 'fallback'],
      '`fallback`: `custom_tax` applies only if the mapping finds none.',
    ),
  }),
  roundingRules: object('How a price is rounded.', {
    rounding_type: choice(['None', 'up', 'down', 'nearest'], 'Direction; `None`: no rounding.'),
    rounding_decimals: whole('Number of decimals, 0 to 10; 2 by default.'),
    rounding_stage: choice(['after_tax', 'before_tax', 'None'], 'Price that is rounded.'),
  }),
  cyclePrice: object(
    'Price of a plan or service in a range of its cycles.',
    {
      from: amount('First cycle, counted from 0.'),
      to: amount('First cycle after the range, or `UNLIMITED`.'),
      price: amount('Price of a cycle.'),
    },
    ['from', 'to', 'price'],
  ),
  recurrence: object('How often a plan or service is charged.', {
    frequency: whole('Months between two charges.'),
    start: whole('Month of the year in which it starts, 1 to 12.'),
    periodicity: choice(['month', 'year'], 'The older form of a frequency.'),
  }),
}

/** Content of plans and services, and entries of their holders. */
const OFFERS: Readonly<Record<string, Schema>> = {
  includedGroup: open(
    object('Exactly one of `value` and `cost`; or in the older form base units by usage type.', {
      value: amount('Included base units, or `UNLIMITED`.'),
      cost: amount('Included money, or `UNLIMITED`.'),
      usage_types: either(
        'Usage types that it applies to; all by default.',
        ref('usageTypeMap'),
        ref('usageTypeNames'),
        ref('emptyObject'),
      ),
      rates: either(
        'Rates that it applies to; all by default.',
        listOf(text('Key of a rate.'), 'Keys of rates.'),
        text('`ALL_RATES`, or a regular expression for keys.'),
      ),
      account_shared: flag('One counter for all subscribers of the account.'),
      account_pool: flag(
        'One counter of the account with the sum of the amounts of its subscribers.',
      ),
      quantity_affected: flag(
        'Whether it is multiplied by the quantity of the service; true by default.',
      ),
    }),
  ),
  include: object('Services, units and money that a plan or service includes.', {
    services: listOf(text('Name of a service.'), 'Services that come with the plan.'),
    groups: mapOf(ref('includedGroup'), 'Included units and money by name of the group.'),
  }),
  serviceEntry: object(
    'A service of a subscriber or account.',
    {
      name: text('Name of the service.'),
      from: date('Start of the service; defaults to that of the revision.'),
      to: date('End of the service; defaults to that of the service definition.'),
      service_id: integer(
        'Identifies the entry among those of the same service; generated by default.',
      ),
      creation_time: date('Time when it was added; generated by default.'),
      quantity: integer('Quantity; 1 by default.'),
    },
    ['name'],
  ),
  condition: object(
    'A condition on one field.',
    {
      field: text('Name of the field.'),
      op: choice(CONDITION_OPERATORS, 'Comparison operator.'),
      value: ref('comparedValue', 'Value to compare with; a list for `in` and `nin`.'),
    },
    ['field', 'op'],
  ),
  conditionList: listOf(ref('condition'), 'Conditions that must all be met.'),
  conditionFields: object('Conditions that must all be met.', {
    fields: listOf(ref('condition'), 'The conditions.'),
  }),
  overrideValue: open(
    object('Fields that replace those of the plan, service or discount.', {
      price: listOf(ref('cyclePrice'), 'Price by cycle.'),
      rates: ref('offerPrices', 'Prices that override those of rates.'),
      include: ref('include', 'Included services, units and money.'),
      disallowed_rates: listOf(text('Key of a rate.'), 'Rates that must not be used.'),
    }),
  ),
  override: object(
    'Overridden fields of a plan, service or discount, for one holder.',
    {
      type: choice(['plan', 'service', 'discount'], 'What is overridden.'),
      key: text('Name of the plan or service, key of the discount.'),
      id: whole('For a service: `service_id` of the entry.'),
      condition: either(
        'Conditions on what is overridden; all must be met.',
        ref('condition'),
        ref('conditionList'),
        ref('conditionFields'),
      ),
      value: ref('overrideValue', 'The overridden fields.'),
    },
    ['type', 'key'],
  ),
  thresholdNotice: object('A notification when a balance crosses a value.', {
    value: amount('The value; prepaid credit is negative.'),
    type: text('Channel, such as `sms`.'),
    msg: text('Text of the message.'),
  }),
  bucketOfGroup: open(
    object('A bucket that a prepaid group tops up, with one amount.', {
      pp_includes_external_id: whole('Number of the prepaid include.'),
      pp_includes_name: text('Name of the prepaid include, instead of the number.'),
      operation: choice(['default', 'inc', 'set', 'new'], '`default`: that of the group.'),
      value: amount('Units or money; credits are negative.'),
      usagev: amount('Units, instead of `value`.'),
      cost: amount('Money for one usage type, instead of `value`.'),
      total_cost: amount('Money for all usage types, instead of `value`.'),
      period: ref('bucketPeriod', 'Validity period.'),
    }),
  ),
  bucketPeriod: object(
    'A period that starts with the top-up.',
    {
      duration: whole('Number of units.'),
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
  subjectValue: open(
    object(
      'Amount of a charge or discount.',
      {
        value: amount('Money, or with type `percentage` a fraction: 0.1 is 10 %.'),
        sequential: flag('Whether a percentage is taken of what earlier discounts have left.'),
        operations: listOf(ref('subjectOperation'), 'Changes of the amount.'),
      },
      ['value'],
    ),
  ),
  subjectOperation: object(
    '`recurring_by_quantity`: the value for every so many units of the line.',
    {
      name: choice(['recurring_by_quantity'], 'The operation.'),
      params: listOf(
        object('A parameter.', { name: choice(['quantity'], 'Name.'), value: amount('Units.') }),
        'Its parameters.',
      ),
    },
    ['name', 'params'],
  ),
  subjectValues: mapOf(ref('subjectValue'), 'By name of the plan, service or rate.'),
  chargeSubject: open(
    object('What the charge or discount applies to; further kinds have values by name.', {
      general: ref('subjectValue', 'The invoice.'),
      monthly_fees: ref('subjectValue', 'All recurring fees.'),
      matched_plans: ref('subjectValue', 'Plans that match the conditions.'),
      matched_services: ref('subjectValue', 'Services that match the conditions.'),
      plan: ref('subjectValues', 'Plans by name.'),
      service: ref('subjectValues', 'Services by name.'),
      customer_service: ref('subjectValues', 'Services of the account by name.'),
    }),
  ),
  serviceConditions: object('Conditions on services.', {
    any: listOf(ref('conditionFields'), 'Each must be met by one of the services.'),
  }),
  subscriberConditions: object('Conditions on a subscriber or an account.', {
    fields: listOf(ref('condition'), 'Conditions on its fields.'),
    service: ref('serviceConditions', 'Conditions on its services.'),
  }),
  chargeConditions: object('Conditions that must all be met.', {
    account: ref('subscriberConditions', 'On the account.'),
    subscriber: listOf(ref('subscriberConditions'), 'On its subscribers; at least one must match.'),
  }),
  chargeParams: object('Conditions for the charge or discount to apply.', {
    min_subscribers: whole('Minimum number of subscribers.'),
    max_subscribers: whole('Maximum number of subscribers.'),
    cycles: whole('Number of cycles from the start of a plan or service.'),
    conditions: listOf(ref('chargeConditions'), 'At least one must be met.'),
  }),
  allowance: object(
    'Amount deducted from the invoice for a subscriber.',
    { sid: whole('Number of the subscriber.'), allowance: amount('The amount, above 0.') },
    ['sid', 'allowance'],
  ),
  paymentMeans: open(
    object('A payment method.', {
      name: text('Name of the payment gateway.'),
      card_token: text('Token of the card. Stored encrypted, and never returned.'),
      card_expiration: date('When the card expires.'),
      personal_id: text('Number of the holder. Stored encrypted, and never returned.'),
      transaction_exhausted: flag('Whether the token is used up.'),
      generate_token_time: date('When the token was made.'),
      auth_number: text('Authorisation number. Stored encrypted, and never returned.'),
      four_digits: text('Last digits of the card.'),
    }),
  ),
  paymentGateway: open(
    object('Payment settings of an account.', {
      active: ref('paymentMeans', 'The active payment method.'),
      former: listOf(ref('paymentMeans'), 'Former payment methods.'),
    }),
  ),
  reportPart: open(
    object('A column, condition, sort order or format of a report.', {
      key: text('Name of the part.'),
      field: text('Name of the field, or key of the column.'),
      field_name: text('Name of the field of a column.'),
      label: text('Heading.'),
      op: {
        description: 'Comparison operator or sort direction.',
        type: ['string', 'number'],
      },
      value: ref('comparedValue', 'Value to compare with.'),
      type: text('Type of the field.'),
      entity: text('Entity of the field.'),
    }),
  ),
}

export const COMPOUNDS: Readonly<Record<string, Schema>> = {
  ...VALUES,
  ...PRICES,
  ...OFFERS,
  ...TERMS,
}
