/** The fields of lines: of all, and of each kind. */
import type { RatingStep } from '../../../domain/explain.ts'
import type { MendedSums } from '../../../domain/line.ts'
import type { TaxData } from '../../../domain/tax.ts'
import {
  choice,
  closed,
  constant,
  customFields,
  date,
  flag,
  integer,
  listOf,
  mapOf,
  number,
  part,
  ref,
  searchable,
  text,
  typed,
  type ValueOf,
} from '../../entities/json-schema.ts'
import { totalField } from './money-value.ts'

/** Lines of balance operations have `usagev` only if they changed units. */
export const ANY_LINE = {
  stamp: searchable(text('Unique id of the line.')),
  v: integer('Version; increases while the session is open.'),
  type: searchable(text('`realtime`, `balance`, `credit`, `flat`, `service` or `usage`.')),
  source: text('Origin of the line.'),
  aid: searchable(integer('Number of the account.')),
  sid: searchable(integer('Number of the subscriber; 0 for the account.')),
  usaget: searchable(text('Usage type.')),
  usagev: searchable(number('Units.')),
  urt: searchable(date('Time of the first event.')),
} as const

export const TAX_FIELDS = {
  tax: number('The rate as a fraction.'),
  amount: number('Amount of the tax.'),
  description: text('Description of the tax.'),
  key: text('Key of the tax.'),
  type: text('Kind of tax.'),
  pass_to_customer: constant(1, 'Always 1.'),
  embedded_amount: number('Amount that is a part of the price; `amount` is then 0.'),
  amount_before_rounding: number('Amount before rounding of the final charge.'),
} as const

export const TAX_SUMS = {
  total_amount: number('Sum of the taxes.'),
  total_tax: number('Sum of the rates as fractions.'),
  total_amount_before_rounding: number('Sum before rounding of the final charge.'),
} as const

/** Imported lines have only some of the fields. */
export const LINE_TAX = closed('A tax of the line.', TAX_FIELDS, [
  'description',
  'type',
  'pass_to_customer',
  'embedded_amount',
  'amount_before_rounding',
])
export const TAX_DATA = part('The taxes of the line.', {
  ...TAX_SUMS,
  taxes: listOf(ref('lineTax'), 'Each tax.'),
})

/** Price and taxes. */
export const CHARGED_LINE = {
  aprice: searchable(
    number('Price before tax; for a balance change, the changed amount of money.'),
  ),
  final_charge: searchable(number('Price with tax.')),
  tax_data: ref<TaxData>('taxData', 'The taxes.'),
  before_rounding: part('Price and final charge before rounding.', {
    aprice: number('Money.'),
    final_charge: number('Money.'),
  }),
  exact: part('Price, tax and final charge as decimal texts.', {
    aprice: text('Price.'),
    tax: text('Tax.'),
    final_charge: text('Final charge.'),
  }),
} as const

export const RATE_USE = part('A rate that was applied to the usage.', {
  tariff_category: text('Category.'),
  key: text('Key of the rate.'),
  add_to_retail: flag('Whether the customer pays it.'),
  pricing: part('The price.', { charge: number('Money.') }),
})
export type RateUse = ValueOf<typeof RATE_USE>

/** How the price of usage was computed, also of a credit by usage. */
export const RATED_LINE = {
  rates: listOf(ref<RateUse>('rateUse'), 'The rates.'),
  price_of: text('Source of the price: `BASE`, `plan NAME`, `service NAME`, `RECORD`.'),
  prepriced: flag('Whether the price was given: with a credit, or in a usage record.'),
  band: text('Time band of the price; empty outside of time bands.'),
  rating: listOf(ref<RatingStep>('ratingStep'), 'Computation of the price and the payments.'),
} as const

/** Each of several kinds, but not of all. */
export const SHARED_FIELDS = {
  arate_key: searchable(text('Key of the rate.')),
  plan: searchable(text('Plan of the subscriber.')),
  billrun: searchable(text('Billing cycle, such as `202601`.')),
  account_level: constant(true, 'Present if the line is of the account itself.'),
  process_time: date('When the line was written.'),
  start: date('Start of the charged period.'),
  end: date('End of the charged period.'),
} as const

/** `account`: a shared bucket, stored under `sid` 0. Units, or money with its exact value. */
export const PAYMENT = part(
  'Payment from one bucket or counter.',
  {
    owner: choice(['subscriber', 'account'], 'Owner.'),
    bucket_id: integer('Number of the bucket, unique per owner.'),
    pp_includes_external_id: integer('Number of the prepaid include; 0 for a counter.'),
    counter: text('Name of the counter.'),
    usagev: number('Units.'),
    cost: number('Money.'),
    cost_micros: integer('The exact amount in millionths.'),
    credited: constant(true, 'Present if it was credited (a refund).'),
    limit: number('Money counted against the limit of the account.'),
    limit_micros: integer('The exact amount in millionths.'),
  },
  ['counter', 'usagev', 'cost', 'cost_micros', 'credited', 'limit', 'limit_micros'],
)
export type PaymentDocument = ValueOf<typeof PAYMENT>

/** `left`: after the line. */
export const GROUP_USE = part(
  'Usage that a group covered.',
  {
    name: text('Name of the group.'),
    usagev: number('Units.'),
    cost: number('Money.'),
    left: totalField('Remaining amount'),
    total: totalField('Included amount'),
    balance_ref: part('The balance.', {
      sid: integer('Number of the subscriber; 0 for the account.'),
      bucket_id: integer('Number of the bucket.'),
    }),
  },
  ['usagev', 'cost'],
)
export type GroupUse = ValueOf<typeof GROUP_USE>

/** Fields of usage. */
export const USAGE_LINE = {
  in_group: number('Units that groups covered.'),
  over_group: number('Units beyond the groups.'),
  out_group: number('Units that no group applies to.'),
  priced_usagev: number('Units that were charged with money.'),
  arategroups: listOf(ref<GroupUse>('groupUse'), 'Usage covered by each group.'),
  aprice_micros: integer('The exact amount in millionths.'),
  group_cost: number('Money that groups paid.'),
  group_cost_micros: integer('The exact amount in millionths.'),
} as const

/** Fields of session segments. */
export const SEGMENT_LINE = {
  state: text('State of the session.'),
  late: flag('Whether usage was reported after expiry of the session.'),
  origin: text('Network element and file type.'),
  session_id: searchable(text('Session of the network element.')),
  rating_group: typed<number | null>({
    type: ['integer', 'null'],
    description: 'Rating group of the service.',
  }),
  service_identifier: typed<number | number[] | null>({
    description: 'Identifies services of one rating group; several as a list.',
    type: ['integer', 'array', 'null'],
    items: integer('A service identifier.'),
  }),
  called_number: text('Called number.'),
  debt: number('Part of the price that no balance could pay.'),
  debt_micros: integer('The exact amount in millionths.'),
  account_debt_micros: integer('Part of the debt that the account owes.'),
  lapsed_usagev: number('Units returned to expired buckets.'),
  lapsed_micros: integer('Money returned to expired buckets, in millionths.'),
  payments: listOf(ref<PaymentDocument>('payment'), 'Payments from buckets and counters.'),
  last_urt: date('Time of the last event.'),
} as const

/** Fields of balance changes. */
export const OPERATION_LINE = {
  operation: text('Operation: `inc`, `set`, `new`, `close`, …'),
  operation_id: text('Id of the operation, as in `Idempotency-Key`.'),
  charging_type: text('Origin of the change.'),
  charging_usaget: text('Usage type, or `total_cost`.'),
  pp_includes_external_id: integer('Number of the prepaid include.'),
  pp_includes_name: text('Name of the prepaid include.'),
  bucket_id: integer('Number of the bucket; 0 for the parent of other lines.'),
  balance_before: number('Credit before, negative.'),
  balance_after: number('Credit after, negative.'),
  balance_normalized: number('Amount by which a limit of the plan has reduced it.'),
  repaid_micros: integer('Part that repaid debt, in millionths.'),
  owner_v: integer('Version of the state of the owner after the change.'),
  priority: integer('Priority of the bucket.'),
  from: searchable(date('Start of the bucket.')),
  to: searchable(date('End of the bucket.')),
} as const

export const OPERATION_OPTIONS = {
  source_ref: text('Prepaid group or card.'),
  balance_ref: text('Id of the balance.'),
  parent_ref: text('Stamp of the parent line.'),
  asked: number('Requested amount, if it differs from the applied one.'),
  counted: number('For a counter: amount counted in another account.'),
  counter: text('For a counter: its name.'),
  limit: number('For a counter: its limit.'),
  additional: customFields('Additional data of the caller.'),
  mended: typed<MendedSums>(
    mapOf(number('A figure.'), 'Amounts that a correction adds to the sums of lines.'),
  ),
} as const

export const CREDIT_TERMS = part(
  'The credit as it was ordered.',
  {
    usagev: number('Units.'),
    credit_by: constant('rate', 'Always `rate`.'),
    rate: text('Key of the rate.'),
    usaget: text('Usage type of the rate.'),
    aprice: number('The given price of a unit; of an installment its part.'),
  },
  ['aprice'],
)

/** Fields of credits. */
export const CREDIT_LINE = {
  rate: text('Key of the rate.'),
  credit: ref<ValueOf<typeof CREDIT_TERMS>>('creditTerms', 'The credit as it was ordered.'),
  credit_time: integer('Time of the credit, unix seconds.'),
  skip_calc: listOf(text('A step.'), 'Steps that do not apply.'),
} as const

export const CREDIT_OPTIONS = {
  label: text('Label on the invoice.'),
  uf: customFields('Fields of the caller.'),
  reason: text('Why it was credited.'),
  installments: integer('Number of installments.'),
  installment_no: integer('Number of this one, from 1.'),
  first_installment: text('Stamp of the first installment.'),
  invoice_label: text('Label of the invoice.'),
  onetime_invoice: constant(true, 'Present if it belongs to an invoice outside of cycles.'),
  preponed: date('When it was moved to an earlier cycle.'),
} as const
