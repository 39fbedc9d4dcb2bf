/** Lines that the billing cycle writes: charges of plans and services, discounts and charges. */
import {
  choice,
  date,
  flag,
  integer,
  listOf,
  number,
  part,
  ref,
  type StoredOf,
  text,
  type ValueOf,
} from '../../entities/json-schema.ts'
import type { ANY_LINE, CHARGED_LINE, RATED_LINE, SHARED_FIELDS } from '../usage/line-schemas.ts'
import { totalField } from '../usage/money-value.ts'

/**
 * From which rule, dates and factor an amount comes: the days [`from`, `to`). Amounts are decimal
 * text.
 */
export const CYCLE_EXPLANATION = part(
  'Why the billing cycle wrote the line.',
  {
    rule: text('Name of the rule.'),
    entity: part(
      'The entity that demands it.',
      {
        kind: text('Kind of entity.'),
        key: text('Key of the entity.'),
        revision: text('Id of the revision.'),
      },
      ['revision'],
    ),
    from: text('Start of the charged period.'),
    to: text('End of the charged period.'),
    factor: text('The charged share of a cycle.'),
    fullPrice: text('Price of a whole cycle.'),
    notes: listOf(text('A note.'), 'Notes.'),
  },
  ['factor', 'fullPrice', 'notes'],
)
export type LineExplanation = ValueOf<typeof CYCLE_EXPLANATION>

export const CHARGED_TIER = part('A price tier, by cycles since the start.', {
  from: number('First cycle.'),
  to: totalField('Cycle before which it ends'),
  price: number('Price of a cycle.'),
})

/** As in plans, complete; `None` in lines of other systems only. */
const ROUNDING = part(
  'Rounding of the line, as in plans.',
  {
    rounding_type: choice(['up', 'down', 'nearest', 'None'], 'Direction.'),
    rounding_decimals: integer('Decimals.'),
    rounding_stage: choice(['before_tax', 'after_tax'], 'What is rounded.'),
  },
  ['rounding_decimals', 'rounding_stage'],
)
export type CycleRounding = ValueOf<typeof ROUNDING>

const CYCLE = {
  line_id: text('Id within the account and cycle.'),
  name: text('Name of the plan or service, or description of the discount.'),
  charged_billrun: text('Cycle whose price it is a part of.'),
  charge_amount: text('The exact amount before taxes and rounding.'),
  charge_op: choice(['charge', 'refund'], 'Whether the customer owes it.'),
  is_upfront: flag('Whether it is charged in advance.'),
  explain: ref<LineExplanation>('cycleExplanation', 'Why the billing cycle wrote the line.'),
} as const

const OF_SOME = {
  corrects: text('Stamp of the line of an earlier run that it corrects.'),
  rounding_rules: ROUNDING,
} as const

const CHARGE = {
  full_price: number('Price of a whole cycle and one unit.'),
  prorated_start: flag('Whether the period begins within a cycle.'),
  prorated_end: flag('Whether the period ends within a cycle.'),
  service_id: text('Service with its own number.'),
  cycle: ref<ValueOf<typeof CHARGED_TIER>>('chargedTier', 'The price tier.'),
} as const

const ADJUSTMENT = {
  key: text('Key of the discount or charge.'),
  description: text('Its description.'),
  discount_type: choice(['percentage', 'monetary'], 'Kind of discount.'),
  discount_start: date('Start of the period in which it applies.'),
  discount_end: date('End of that period.'),
  eligible_line: text('Stamp of the charge that it applies to.'),
  orig_discount_amount: number('The amount before a limit.'),
} as const

const LATE = {
  late_of: text('Stamp of the line whose usage was reported after its cycle.'),
} as const

/** Fields of lines of the cycle. */
export const CYCLE_LINE = { ...CYCLE, ...OF_SOME, ...CHARGE, ...ADJUSTMENT, ...LATE } as const

type Shared = StoredOf<typeof SHARED_FIELDS>

/**
 * A repeated run writes the same `line_id` (billing/cycle/lines.ts) and `stamp`, which is derived
 * from it. `billrun`: the cycle whose run wrote it; `charged_billrun`: the next one if upfront.
 */
interface CycleLineFields
  extends StoredOf<typeof ANY_LINE>,
    StoredOf<typeof CHARGED_LINE, 'before_rounding'>,
    StoredOf<typeof CYCLE>,
    Partial<StoredOf<typeof OF_SOME>>,
    Pick<Shared, 'billrun' | 'process_time'>,
    Partial<Pick<Shared, 'account_level'>> {
  v: 1
  source: 'billrun'
}

/** A charge of a plan or service. */
export interface CycleChargeDocument
  extends CycleLineFields,
    StoredOf<typeof CHARGE, 'service_id' | 'cycle'>,
    Pick<Shared, 'plan' | 'start' | 'end'> {
  type: 'flat' | 'service'
  usaget: 'flat' | 'service'
}

/** A discount (negative) or conditional charge. */
export interface CycleAdjustmentDocument
  extends CycleLineFields,
    StoredOf<typeof ADJUSTMENT, 'eligible_line' | 'orig_discount_amount'>,
    Pick<Shared, 'arate_key'> {
  type: 'credit'
  usaget: 'discount' | 'conditional_charge'
}

/**
 * Usage of an earlier cycle (`charged_billrun`) that was recorded after its invoice was confirmed:
 * a copy of the line with what no confirmed invoice has of its charge, and the times of its first
 * and last event.
 */
export interface CycleUsageDocument
  extends CycleLineFields,
    StoredOf<typeof LATE>,
    Pick<StoredOf<typeof RATED_LINE, 'prepriced'>, 'prepriced'>,
    Pick<Shared, 'arate_key' | 'plan' | 'start' | 'end'> {
  type: 'usage'
}

export type CycleLineDocument = CycleChargeDocument | CycleAdjustmentDocument | CycleUsageDocument
