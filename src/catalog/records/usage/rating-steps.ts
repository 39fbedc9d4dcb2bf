/** Schemas of the steps by which a line explains its price (domain/explain.ts), by `step`. */

import { PRICING_METHODS } from '../../../domain/pricing/models.ts'
import {
  choice,
  closed,
  constant,
  either,
  integer,
  number,
  type Schema,
  text,
} from '../../entities/json-schema.ts'

const money = (description: string): Schema => text(`${description}, exact: decimal, or \`a/b\`.`)

const step = (
  name: string,
  description: string,
  properties: Readonly<Record<string, Schema>>,
  optional: readonly string[] = [],
): Schema => {
  const kind = constant(name, 'Kind of the step.')
  return closed(description, { step: kind, ...properties }, optional)
}

const UNITS = number('Units; negative in a refund.')
const ADDED = money('Amount that is added')
const SUM = money('The sum after the step')

/** A payment in units or money. */
const payment = (
  name: string,
  description: string,
  more: Readonly<Record<string, Schema>> = {},
): Schema =>
  step(
    name,
    description,
    {
      owner: choice(['subscriber', 'account'], 'Owner of the balance.'),
      bucket: integer('Number of the bucket, unique per owner.'),
      ...more,
      units: UNITS,
      money: money('Money'),
    },
    // One of them.
    ['units', 'money'],
  )

export const RATING_STEP: Schema = either(
  'A step in the computation of the price, or a payment.',
  step('price', 'The price at one rate; the steps that follow show its computation.', {
    category: text('Tariff category.'),
    rate: text('Key of the rate.'),
    source: text('`BASE`, `plan NAME`, `service NAME`, `rate NAME`, or `RECORD` without steps.'),
    band: text('Time band; empty for the plain price.'),
    method: choice(PRICING_METHODS, 'Pricing method.'),
    units: UNITS,
    amount: money('The price'),
    part: choice(
      ['charge', 'included', 'shown'],
      'Whether it is charged, paid by included money, or only shown.',
    ),
  }),
  step('tier', 'Units of a tier: `amount` is `intervals` times `price`.', {
    tier: integer('Number of the tier, from 1.'),
    units: UNITS,
    interval: number('Units of an interval.'),
    intervals: money('Number of intervals'),
    price: money('Price of an interval'),
    amount: ADDED,
  }),
  step('begun', 'Units of an interval that was paid before, at an earlier price.', {
    units: UNITS,
    amount: ADDED,
  }),
  step('beyond', 'Units beyond the last tier.', { units: UNITS, amount: ADDED }),
  step('access', 'The price of access.', { amount: ADDED }),
  step('percentage', 'A percentage of the price so far.', {
    factor: money('The factor'),
    amount: SUM,
  }),
  step('minimum', 'The minimum charge, in place of a lower price.', { amount: SUM }),
  step('rounding', 'The price is rounded.', {
    mode: choice(['half-even', 'up', 'down', 'nearest'], 'Direction.'),
    to: money('Multiple to which it is rounded'),
    amount: SUM,
  }),
  step('credited', 'The part of a minimum charge, or the fixed price, that was paid before.', {
    amount: ADDED,
  }),
  step('earlier', 'Preceding units of the run, whose cost is subtracted.', {
    units: UNITS,
    amount: ADDED,
  }),
  payment('group', 'Included units or money.', {
    group: text('Name of the group.'),
    holder: text('Its plan or service.'),
    left: text('What remains of it; `UNLIMITED` if it has no end.'),
    total: text('Its total, likewise.'),
  }),
  payment('bucket', 'Prepaid credit.', {
    include: integer('`external_id` of the prepaid include.'),
  }),
  payment('credit', 'The credit of a postpaid account.'),
  payment('limit', 'Counted against the limit of the account; another step pays it.'),
  step(
    'debt',
    'What no balance could pay.',
    {
      owner: choice(['account'], 'Present if the account owes it, not the subscriber.'),
      money: money('Money'),
    },
    ['owner'],
  ),
)
