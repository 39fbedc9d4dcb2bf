/** Category `billrun` of the stored configuration: the billing cycle. */
import { type Static, Type } from '@sinclair/typebox'
import type { StoredSetting } from '../current-settings.ts'
import { flagOr, object, oneOf, part, storedOrDefaults } from '../settings-schema.ts'

/** `+14 days`, `+1 month`. */
const RELATIVE = /^\+(\d{1,3}) (day|week|month)s?$/
const relative = Type.String({
  pattern: RELATIVE.source,
  description: "a time such as '+14 days', '+2 weeks' or '+1 month'",
})

const OPERATORS = ['eq', 'ne', 'in', 'nin', 'gt', 'gte', 'lt', 'lte', 'exists'] as const

const Condition = object('an object with field, op and value', {
  field: Type.String({ minLength: 1, maxLength: 100, description: 'a path of the invoice' }),
  op: oneOf(...OPERATORS),
  value: Type.Unknown(),
})

const ANCHORS = ['invoice_date', 'end_date', 'confirm_date'] as const

const DateRule = object('an object with anchor_field and relative_time', {
  anchor_field: oneOf(...ANCHORS),
  relative_time: relative,
  conditions: Type.Optional(Type.Array(Condition, { maxItems: 20, description: 'a list' })),
  invoice_type: Type.Optional(
    Type.Array(Type.String({ maxLength: 40, description: 'a text' }), {
      maxItems: 10,
      description: 'a list',
    }),
  ),
})

const rules = Type.Array(DateRule, { maxItems: 50, default: [], description: 'a list' })

export const BillrunSchema = object('an object', {
  /** Accounts have their own `invoicing_day`. */
  multi_day_cycle: flagOr(false),
  /** Share of failed accounts at which a run is paused. */
  max_failed_percent: Type.Number({
    minimum: 0,
    maximum: 100,
    default: 1,
    description: 'a number from 0 to 100',
  }),
  generate_pdf: flagOr(false),
  due_date: rules,
  due_date_interval: { ...relative, default: '+14 days' },
  not_before: rules,
  calendar_month_fractions: flagOr(false),
  charge_included_services: flagOr(true),
  upfront: part('an object', {
    reconcile_requires_previous_billrun: flagOr(false),
    full_fraction: flagOr(false),
    /** Charges paid ahead follow revisions that begin in the next cycle. */
    billable_next_cycle: flagOr(false),
    /** Charges paid ahead get the taxes at the end of their supply. */
    correct_tax: flagOr(false),
  }),
  flats: part('an object with generate_zero_refunds', { generate_zero_refunds: flagOr(false) }),
})

export type BillrunSettings = Static<typeof BillrunSchema>
export type DateAnchor = (typeof ANCHORS)[number]
export type BillrunDateRule = Static<typeof DateRule>
export type BillrunCondition = Static<typeof Condition>

/** A duration of due dates. */
export interface RelativeTime {
  readonly count: number
  readonly unit: 'day' | 'week' | 'month'
}

/** An invalid stored value is replaced by the defaults. */
export const BILLRUN: StoredSetting<BillrunSettings> = {
  category: 'billrun',
  read: (value) => storedOrDefaults(BillrunSchema, value),
}

/** Throws `RangeError` for a text that the schema refuses. */
export function relativeTimeOf(text: string): RelativeTime {
  const [, count, unit] = RELATIVE.exec(text) ?? []
  if (count === undefined) throw new RangeError(`${text} is not a relative time`)
  return { count: Number(count), unit: unit as RelativeTime['unit'] }
}
