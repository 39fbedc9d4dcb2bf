/** Schemas of quotes in answers: components of the OpenAPI document. */
import {
  choice,
  closed,
  flag,
  integer,
  listOf,
  number,
  ref,
  type Schema,
  text,
} from '../../catalog/entities/json-schema.ts'
import { TAX_FIELDS, TAX_SUMS } from '../../catalog/records/usage/line-schemas.ts'

const TAX = closed('A tax of the price.', TAX_FIELDS, ['embedded_amount', 'amount_before_rounding'])

const EVENT_RESULT: Schema = closed(
  'The price of an event. Money as decimals; `rating` has the exact texts.',
  {
    aprice: number('Price before tax.'),
    in_group: number('Units that groups include.'),
    over_group: number('Units beyond the groups.'),
    out_group: number('Units without a group.'),
    arate_key: text('Key of the rate; empty if nothing was granted.'),
    granted: number('Units that are granted.'),
    final_charge: number('Price with tax.'),
    before_rounding: closed('Before rules rounded the final charge.', {
      aprice: number('Price before tax.'),
      final_charge: number('Price with tax.'),
    }),
    tax_data: closed('The taxes.', { ...TAX_SUMS, taxes: listOf(TAX, 'The taxes.') }, [
      'total_amount_before_rounding',
    ]),
    arategroups: listOf(ref('groupUse'), 'Included usage by group.'),
    rates: listOf(ref('rateUse'), 'Rates by tariff category.'),
    rating: listOf(ref('ratingStep'), 'Computation of the price and the payments.'),
    action: closed(
      'The action of an event rule that is in force.',
      {
        type: choice(['redirect', 'throttle'], 'Its type.'),
        address: text('Address of a redirection.'),
        policy: text('Policy of a throttling.'),
      },
      ['address', 'policy'],
    ),
    returnCode: integer('1: granted; otherwise the reason of the denial.'),
    desc: text('The reason as text.'),
  },
  ['before_rounding', 'action'],
)

const CASE_RESULT: Schema = closed(
  'The result of a case.',
  {
    name: text('Name of the case; by default its place in the call.'),
    results: listOf(ref('quotedEvent'), 'Results of its events; absent if the case is invalid.'),
    error: closed('Why the case is invalid.', {
      field: text('Dotted path of the field in the case.'),
      why: text('The reason why it is wrong.'),
    }),
    ok: flag('Whether it is valid and as expected; absent without expectations.'),
    mismatches: listOf(
      closed(
        'A difference from an expectation.',
        {
          event: integer('Place of the event, from 0.'),
          field: text('Dotted path in its result.'),
          expected: ref('comparedValue', 'The expected value.'),
          actual: ref('comparedValue', 'The value; absent if the result has none.'),
        },
        ['actual'],
      ),
      'Differences from the expectations.',
    ),
  },
  ['results', 'error', 'ok', 'mismatches'],
)

const MONEY: Readonly<Record<string, Schema>> = {
  aprice: number('Price before tax.'),
  final_charge: number('Price with tax.'),
}

const side = (description: string): Schema =>
  closed(description, {
    ...MONEY,
    granted: number('Units that are granted, with those that are included.'),
    returnCode: integer('1, or the reason why an event is denied.'),
    desc: text('The reason as text.'),
  })

const COMPARED_CASE: Schema = closed(
  'The price of a case or line before and after the change.',
  {
    name: text('Name of the case, or stamp of the line.'),
    line: closed('The line, as it was charged.', {
      stamp: text('Its stamp.'),
      sid: integer('The subscriber.'),
      urt: text('Time of the usage.'),
      usaget: text('Usage type.'),
      usagev: number('Units.'),
      arate_key: text('Key of the rate.'),
      ...MONEY,
    }),
    before: side('Sum of its events before the change.'),
    after: side('Sum of its events after the change.'),
    difference: closed('After less before.', MONEY),
    changed: flag('Whether price, units or return code differ.'),
    error: closed('Why it cannot be priced; then it has no prices.', {
      field: text('Dotted path of the field in the case or line.'),
      why: text('The reason why it is wrong.'),
    }),
  },
  ['line', 'before', 'after', 'difference', 'error'],
)

const COMPARISON: Schema = closed('Prices before and after an assumed change.', {
  cases: listOf(COMPARED_CASE, 'Changed ones first, by size of the difference.'),
  totals: closed('Sums of the cases that can be priced.', {
    cases: integer('Number of cases.'),
    changed: integer('Number of changed ones.'),
    failed: integer('Number of those that cannot be priced.'),
    before: closed('Before the change.', MONEY),
    after: closed('After the change.', MONEY),
    difference: closed('After less before.', MONEY),
  }),
})

export const QUOTE_SCHEMAS: Readonly<Record<string, Schema>> = {
  quotedEvent: EVENT_RESULT,
  quotedCase: CASE_RESULT,
  quoteComparison: COMPARISON,
}
