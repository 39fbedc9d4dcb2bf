/** Category `billrun` of the stored configuration: the billing cycle. */
import { type Static, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import type { StoredSetting } from './current-settings.ts'

const closed = { additionalProperties: false } as const
const flag = Type.Optional(Type.Boolean({ description: 'true or false' }))

/** `+14 days`, `+1 month`. */
const RELATIVE = /^\+(\d{1,3}) (day|week|month)s?$/
const relative = Type.String({
  pattern: RELATIVE.source,
  description: "a time such as '+14 days', '+2 weeks' or '+1 month'",
})

const OPERATORS = ['eq', 'ne', 'in', 'nin', 'gt', 'gte', 'lt', 'lte', 'exists'] as const

const Condition = Type.Object(
  {
    field: Type.String({ minLength: 1, maxLength: 100, description: 'a path of the invoice' }),
    op: Type.Union(OPERATORS.map((name) => Type.Literal(name))),
    value: Type.Unknown(),
  },
  { ...closed, description: 'an object with field, op and value' },
)

const ANCHORS = ['invoice_date', 'end_date', 'confirm_date'] as const

const DateRule = Type.Object(
  {
    anchor_field: Type.Union(ANCHORS.map((name) => Type.Literal(name))),
    relative_time: relative,
    conditions: Type.Optional(Type.Array(Condition, { maxItems: 20, description: 'a list' })),
    invoice_type: Type.Optional(
      Type.Array(Type.String({ maxLength: 40, description: 'a text' }), {
        maxItems: 10,
        description: 'a list',
      }),
    ),
  },
  { ...closed, description: 'an object with anchor_field and relative_time' },
)

const rules = Type.Optional(Type.Array(DateRule, { maxItems: 50, description: 'a list' }))

export const BillrunSchema = Type.Object(
  {
    multi_day_cycle: flag,
    max_failed_percent: Type.Optional(
      Type.Number({ minimum: 0, maximum: 100, description: 'a number from 0 to 100' }),
    ),
    generate_pdf: flag,
    due_date: rules,
    due_date_interval: Type.Optional(relative),
    not_before: rules,
    calendar_month_fractions: flag,
    charge_included_services: flag,
    upfront: Type.Optional(
      Type.Object(
        {
          reconcile_requires_previous_billrun: flag,
          full_fraction: flag,
          billable_next_cycle: flag,
          correct_tax: flag,
        },
        { ...closed, description: 'an object' },
      ),
    ),
    flats: Type.Optional(
      Type.Object(
        { generate_zero_refunds: flag },
        { ...closed, description: 'an object with generate_zero_refunds' },
      ),
    ),
  },
  { ...closed, description: 'an object' },
)

export type DateAnchor = (typeof ANCHORS)[number]
export type BillrunDateRule = Static<typeof DateRule>
export type BillrunCondition = Static<typeof Condition>

/** A duration of due dates. */
export interface RelativeTime {
  readonly count: number
  readonly unit: 'day' | 'week' | 'month'
}

export interface BillrunSettings {
  /** Accounts have their own `invoicing_day`. */
  readonly isMultiDay: boolean
  /** Share of failed accounts at which a run is paused. */
  readonly failedPercentMax: number
  readonly generatePdf: boolean
  readonly dueDate: readonly BillrunDateRule[]
  readonly dueDateInterval: string
  readonly notBefore: readonly BillrunDateRule[]
  readonly calendarMonthFractions: boolean
  readonly chargeIncludedServices: boolean
  readonly reconcileRequiresPreviousRun: boolean
  readonly fullFraction: boolean
  /** Charges paid ahead follow revisions that begin in the next cycle. */
  readonly billableNextCycle: boolean
  /** Charges paid ahead get the taxes at the end of their supply. */
  readonly correctTax: boolean
  readonly generateZeroRefunds: boolean
}

/** The settings; defaults if the stored value is invalid. */
export function billrunSettingsOf(value: unknown): BillrunSettings {
  const stored: Static<typeof BillrunSchema> = Value.Check(BillrunSchema, value) ? value : {}
  return {
    isMultiDay: stored.multi_day_cycle ?? false,
    failedPercentMax: stored.max_failed_percent ?? 1,
    generatePdf: stored.generate_pdf ?? false,
    dueDate: stored.due_date ?? [],
    dueDateInterval: stored.due_date_interval ?? '+14 days',
    notBefore: stored.not_before ?? [],
    calendarMonthFractions: stored.calendar_month_fractions ?? false,
    chargeIncludedServices: stored.charge_included_services ?? true,
    reconcileRequiresPreviousRun: stored.upfront?.reconcile_requires_previous_billrun ?? false,
    fullFraction: stored.upfront?.full_fraction ?? false,
    billableNextCycle: stored.upfront?.billable_next_cycle ?? false,
    correctTax: stored.upfront?.correct_tax ?? false,
    generateZeroRefunds: stored.flats?.generate_zero_refunds ?? false,
  }
}

export const BILLRUN: StoredSetting<BillrunSettings> = {
  category: 'billrun',
  read: billrunSettingsOf,
}

/** Throws `RangeError` for a text that the schema refuses. */
export function relativeTimeOf(text: string): RelativeTime {
  const [, count, unit] = RELATIVE.exec(text) ?? []
  if (count === undefined) throw new RangeError(`${text} is not a relative time`)
  return { count: Number(count), unit: unit as RelativeTime['unit'] }
}
