/** Lines that the billing cycle writes: charges of plans and services, discounts and charges. */
import type { RoundingRules } from '../../../domain/catalogue.ts'
import type { FinalCharge } from '../../../domain/tax.ts'

/**
 * From which rule, dates and factor an amount comes: the days [`from`, `to`). Amounts are decimal
 * text.
 */
export interface LineExplanation {
  readonly rule: string
  readonly entity: { readonly kind: string; readonly key: string; readonly revision?: string }
  readonly from: string
  readonly to: string
  readonly factor?: string
  readonly fullPrice?: string
  readonly notes?: readonly string[]
}

/** As in plans, complete. */
export interface CycleRounding {
  rounding_type: RoundingRules['mode']
  rounding_decimals: number
  rounding_stage: RoundingRules['stage']
}

interface CycleLineFields extends FinalCharge {
  /** Derived from account, cycle and `id`: a repeated run writes the same stamps. */
  stamp: string
  v: 1
  source: 'billrun'
  /** Stable within the account and cycle (billing/cycle/lines.ts). */
  line_id: string
  aid: number
  /** 0: of the account itself. */
  sid: number
  account_level?: true
  /** Name of the plan or service, or description of the discount. */
  name: string
  usagev: number
  /** Key of the cycle whose run wrote it. */
  billrun: string
  /** Key of the cycle whose price it is a part of: the next one if charged upfront. */
  charged_billrun: string
  /** The exact amount before taxes and rounding, as decimal text. */
  charge_amount: string
  charge_op: 'charge' | 'refund'
  /** Rules that rounded it, by its absolute amount (`rounding_rules` of a plan). */
  rounding_rules?: CycleRounding
  is_upfront: boolean
  /** Stamp of the line of an earlier run that it corrects. */
  corrects?: string
  urt: Date
  process_time: Date
  explain: LineExplanation
}

/** A charge of a plan or service. */
export interface CycleChargeDocument extends CycleLineFields {
  type: 'flat' | 'service'
  usaget: 'flat' | 'service'
  plan: string
  service_id?: string
  /** Price of a whole cycle and one unit. */
  full_price: number
  /** The price tier. */
  cycle?: { from: number; to: number | 'UNLIMITED'; price: number }
  /** The charged period [start, end). */
  start: Date
  end: Date
  prorated_start: boolean
  prorated_end: boolean
}

/** A discount (negative) or conditional charge. */
export interface CycleAdjustmentDocument extends CycleLineFields {
  type: 'credit'
  usaget: 'discount' | 'conditional_charge'
  key: string
  description: string
  arate_key: string
  discount_type: 'percentage' | 'monetary'
  /** The period [start, end) in which it applies. */
  discount_start: Date
  discount_end: Date
  /** Stamp of the charge that it applies to. */
  eligible_line?: string
  /** The amount before a limit capped it. */
  orig_discount_amount?: number
}

/**
 * Usage of an earlier cycle (`charged_billrun`) that was recorded after its invoice was confirmed:
 * a copy of the line with what no confirmed invoice has of its charge.
 */
export interface CycleUsageDocument extends CycleLineFields {
  type: 'usage'
  /** Stamp of the line. */
  late_of: string
  usaget: string
  arate_key: string
  plan: string
  /** Times of the first and the last event. */
  start: Date
  end: Date
}

export type CycleLineDocument = CycleChargeDocument | CycleAdjustmentDocument | CycleUsageDocument
