/** Charges of one account in one cycle, as the calculation passes them on. Pure values. */
import type { AdjustmentKind } from '../../catalog/compile/discount.ts'
import type { LineExplanation } from '../../catalog/records/money/cycle-line.ts'
import type { Exact } from '../../catalog/records/money/exact-amount.ts'
import type { RoundingRules } from '../../domain/catalogue.ts'
import type { FinalCharge, TaxRule } from '../../domain/tax.ts'

/** Decimals of amounts, with which their sums stay exact. */
export const LINE_DIGITS = 12

/** Half open, epoch ms. */
export interface Span {
  readonly startMs: number
  readonly endMs: number
}

/** One cycle of an account. */
export interface CycleSpan extends Span {
  /** `billrun_key`: YYYYMM of the month in which it ends. */
  readonly key: string
  /** IANA zone: days begin at its midnights. */
  readonly zone: string
  /** Calendar days of the cycle, whatever their hours. */
  readonly days: number
}

export type ChargeKind = 'flat' | 'service'
export type { AdjustmentKind }

/** A plan or service charge that a cycle wants, before tax. */
export interface ChargeLine {
  /** Stable: subscriber, kind, name, service id and charged period. */
  readonly id: string
  readonly aid: number
  /** 0: of the account itself. */
  readonly sid: number
  readonly kind: ChargeKind
  /** Key of the plan or service. */
  readonly name: string
  /** Distinguishes services with the same name. */
  readonly serviceId?: string
  /** Plan of the subscriber in the period. */
  readonly plan: string
  /** `refund` lines correct an earlier run; discounts do not apply to them. */
  readonly op: 'charge' | 'refund'
  readonly isUpfront: boolean
  /** The charged period. */
  readonly span: Span
  /** The cycle whose price it is a part of: the one after the run's if charged upfront. */
  readonly cycle: CycleSpan
  readonly quantity: number
  /** The price tier: periods since the activation. */
  readonly tier?: { readonly from: number; readonly to: number | 'UNLIMITED' }
  /** Price of a whole cycle and one unit. */
  readonly fullPrice: Exact
  /** Before tax; negative if it is credited. */
  readonly amount: Exact
  /** Stamp of the line of an earlier run that it corrects. */
  readonly corrects?: string
  /** Taxes of the line that it corrects; absent: the taxes in force. */
  readonly taxes?: readonly TaxRule[]
  /** Rounding of the line that it corrects; absent: the rounding of `entity`. */
  readonly rounding?: RoundingRules | null
  /** Not compared with written charges: replaces one with other taxes, or is of further days. */
  readonly isApart?: 'charged again' | 'extension'
  readonly isProratedStart: boolean
  readonly isProratedEnd: boolean
  /** The revision that priced it, with its overrides: taxes, rounding, fields for conditions. */
  readonly entity: Readonly<Record<string, unknown>>
  readonly explain: LineExplanation
}

/** A discount or conditional charge on one line, before tax. */
export interface AdjustmentLine {
  readonly id: string
  readonly aid: number
  readonly sid: number
  readonly kind: AdjustmentKind
  readonly key: string
  readonly description: string
  /** Id of the charge that it applies to; null for a charge that applies to no single line. */
  readonly eligibleLine: string | null
  /** The eligible subscriber of a discount on a service of the account; 0 for the account. */
  readonly causeSid?: number
  readonly type: 'percentage' | 'monetary'
  /** The days that it is for. */
  readonly span: Span
  /** As of the charge that it applies to. */
  readonly cycle: CycleSpan
  readonly isUpfront: boolean
  /** Before tax; negative for a discount. */
  readonly amount: Exact
  /** Stamp of the line of an earlier run that it corrects. */
  readonly corrects?: string
  /** Taxes of the line that it corrects; absent: the taxes of its charge. */
  readonly taxes?: readonly TaxRule[]
  /** Rounding of the line that it corrects; absent: that of `entity`, or of its charge. */
  readonly rounding?: RoundingRules | null
  /** The amount before a limit, the price of the line or `limit` of the discount, capped it. */
  readonly uncappedAmount?: Exact
  readonly entity: Readonly<Record<string, unknown>>
  readonly explain: LineExplanation
}

/** A line with its taxes. */
export interface TaxedLine<Line> {
  readonly line: Line
  readonly tax: FinalCharge
}
