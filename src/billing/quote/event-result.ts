/** The result of one event, with the field names of lines. */
import { type PricingFields, pricingFields } from '../../catalog/records/usage/line-document.ts'
import type { GroupUse, RateUse } from '../../catalog/records/usage/line-schemas.ts'
import {
  type ChargeOutcome,
  type Reason,
  reasons,
  type ServiceAction,
} from '../../domain/charge-outcome.ts'
import type { RatingStep } from '../../domain/explain.ts'
import type { Line } from '../../domain/line.ts'
import { exactDecimal } from '../../domain/money.ts'
import type { SegmentStart } from '../../domain/session.ts'
import type { TaxData } from '../../domain/tax.ts'

/** Amounts are exact decimals; volumes in the units of the case. */
export interface EventResult {
  aprice: number
  in_group: number
  over_group: number
  out_group: number
  /** Empty if nothing was granted. */
  arate_key: string
  granted: number
  final_charge: number
  /** Where rules rounded the final charge. */
  before_rounding?: { aprice: number; final_charge: number }
  tax_data: TaxData
  arategroups: GroupUse[]
  /** Rates by tariff category. */
  rates: RateUse[]
  /** Steps of the price calculation, of all lines of the event. */
  rating: RatingStep[]
  /** The action of an event rule that is in force; absent without one. */
  action?: ServiceAction
  returnCode: number
  desc: string
}

const NO_TAX: TaxData = { total_amount: 0, total_tax: 0, taxes: [] }

/** `lines`: all lines of the event; `unitDigits`: volumes are in 10^-unitDigits of a unit. */
export function resultOf(
  outcome: ChargeOutcome,
  lines: readonly Line[],
  unitDigits: number,
): EventResult {
  const { reason, detail } = outcome
  if (reason !== 'granted') return deniedResult(reason, detail)
  const granted = outcome.services.reduce((sum, service) => sum + service.granted, 0)
  return { ...usedResult(latest(lines), unitDigits), granted: granted / 10 ** unitDigits }
}

/** The result of lines that are granted completely. */
export function usedResult(lines: readonly Line[], unitDigits: number): EventResult {
  const priced = lines.map((line) => pricingFields(line, unitDigits))
  const sum = (count: (of: PricingFields) => number) => sumOf(priced.map(count))
  return {
    aprice: sum(({ aprice }) => aprice),
    in_group: sum(({ in_group }) => in_group),
    over_group: sum(({ over_group }) => over_group),
    out_group: sum(({ out_group }) => out_group),
    arate_key: lines[0]?.pricing.rateKey ?? '',
    granted: sum(({ usagev }) => usagev),
    final_charge: sum(({ final_charge }) => final_charge),
    ...(priced.some(({ before_rounding }) => before_rounding !== undefined) && {
      before_rounding: {
        aprice: sum((line) => (line.before_rounding ?? line).aprice),
        final_charge: sum((line) => (line.before_rounding ?? line).final_charge),
      },
    }),
    tax_data: taxData(priced.map(({ tax_data }) => tax_data)),
    arategroups: priced.flatMap(({ arategroups }) => arategroups),
    rates: priced.flatMap(({ rates }) => rates),
    rating: priced.flatMap(({ rating }) => rating),
    ...described('granted', ''),
  }
}

export function deniedResult(reason: Reason, detail = ''): EventResult {
  return { ...nothing(''), ...described(reason, detail) }
}

/** The result of zero units at a valid price. */
export function emptyResult({ pricing }: SegmentStart): EventResult {
  return { ...nothing(pricing.rateKey), ...described('granted', '') }
}

function nothing(rateKey: string) {
  return {
    aprice: 0,
    in_group: 0,
    over_group: 0,
    out_group: 0,
    arate_key: rateKey,
    granted: 0,
    final_charge: 0,
    tax_data: NO_TAX,
    arategroups: [],
    rates: [],
    rating: [],
  }
}

function described(reason: Reason, detail: string) {
  const { code, text } = reasons[reason]
  return { returnCode: code, desc: detail === '' ? text : `${text}: ${detail}` }
}

/** A later version of a line replaces earlier ones. */
function latest(lines: readonly Line[]): Line[] {
  const found = new Map<string, Line>()
  for (const line of lines) {
    const known = found.get(line.stamp)
    if (known === undefined || line.version >= known.version) found.set(line.stamp, line)
  }
  return [...found.values()]
}

function taxData(all: readonly TaxData[]): TaxData {
  const [first, ...more] = all
  if (first === undefined) return NO_TAX
  if (more.length === 0) return first
  return {
    total_amount: sumOf(all.map(({ total_amount }) => total_amount)),
    total_tax: first.total_tax,
    taxes: all.flatMap(({ taxes }) => taxes),
  }
}

/** Exact: each number is the shortest text of its decimal. */
export function sumOf(amounts: readonly number[]): number {
  // Adding 0 turns -0 into 0.
  if (amounts.length === 1) return (amounts[0] as number) + 0
  const decimals = amounts.flatMap((amount) => exactDecimal(String(amount)) ?? [])
  const scale = decimals.reduce((most, decimal) => Math.max(most, decimal.scale), 0)
  const sum = decimals.reduce(
    (total, decimal) => total + decimal.digits * 10n ** BigInt(scale - decimal.scale),
    0n,
  )
  return Number(`${sum}e-${scale}`)
}
