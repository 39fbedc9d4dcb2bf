/** What is told of one event, in the words of lines (spec/entity-api.md 4.11). */
import { type ChargeOutcome, type Reason, reasons } from '../../domain/charge-outcome.ts'
import { explain, type PaymentStep, type RatingStep } from '../../domain/explain.ts'
import type { Line } from '../../domain/line.ts'
import { parseDecimal } from '../../domain/money.ts'
import type { SegmentStart } from '../../domain/session.ts'
import { type FinalCharge, finalCharge, type TaxData } from '../../rating/line-tax.ts'

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
  tax_data: TaxData
  arategroups: GroupUse[]
  /** How the price came about, step by step; of all lines, if the event has several. */
  rating: RatingStep[]
  returnCode: number
  desc: string
}

/** What one group covered; `left` and `total` are UNLIMITED if it has no end. */
export interface GroupUse {
  name: string
  usagev?: number
  cost?: number
  left: number | string
  total: number | string
}

const NO_TAX: TaxData = { total_amount: 0, total_tax: 0, taxes: [] }

/** `lines`: all that the event became; `unitDigits`: they count in 10^-unitDigits of a unit. */
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

/** What a line says, as if it were all that was granted. */
export function usedResult(lines: readonly Line[], unitDigits: number): EventResult {
  const units = (count: (line: Line) => number) =>
    lines.reduce((sum, line) => sum + count(line), 0) / 10 ** unitDigits
  const covered = ({ grouped, covered }: Line) => grouped + covered
  const isOver = ({ hasGroups }: Line) => hasGroups
  const beyond = (line: Line, counts: boolean) => (counts ? line.used - covered(line) : 0)
  const charges = lines.map(({ charged, taxes, rounding }) => finalCharge(charged, taxes, rounding))
  const rating = lines.flatMap((line) => explain(line, unitDigits))
  return {
    // Rounding of the final charge leaves the price as it is.
    aprice: sumOf(charges.map(({ aprice, before_rounding }) => before_rounding?.aprice ?? aprice)),
    in_group: units(covered),
    over_group: units((line) => beyond(line, isOver(line))),
    out_group: units((line) => beyond(line, !isOver(line))),
    arate_key: lines[0]?.rateKey ?? '',
    granted: units(({ used }) => used),
    final_charge: sumOf(charges.map(({ final_charge }) => final_charge)),
    tax_data: taxData(charges),
    arategroups: rating.flatMap((step) => (step.step === 'group' ? [groupUse(step)] : [])),
    rating,
    ...described('granted', ''),
  }
}

export function deniedResult(reason: Reason, detail = ''): EventResult {
  return { ...nothing(''), ...described(reason, detail) }
}

/** Of no units at a price that holds. */
export function emptyResult({ rateKey }: SegmentStart): EventResult {
  return { ...nothing(rateKey), ...described('granted', '') }
}

function nothing(rateKey: string) {
  return {
    ...{ aprice: 0, in_group: 0, over_group: 0, out_group: 0 },
    ...{ arate_key: rateKey, granted: 0, final_charge: 0 },
    ...{ tax_data: NO_TAX, arategroups: [], rating: [] },
  }
}

function described(reason: Reason, detail: string) {
  const { code, text } = reasons[reason]
  return { returnCode: code, desc: detail === '' ? text : `${text}: ${detail}` }
}

/** A line that is told of again replaces what was told before. */
function latest(lines: readonly Line[]): Line[] {
  const found = new Map<string, Line>()
  for (const line of lines) {
    const known = found.get(line.stamp)
    if (known === undefined || line.version >= known.version) found.set(line.stamp, line)
  }
  return [...found.values()]
}

function taxData(charges: readonly FinalCharge[]): TaxData {
  const [first, ...more] = charges.map(({ tax_data }) => tax_data)
  if (first === undefined) return NO_TAX
  if (more.length === 0) return first
  const all = [first, ...more]
  return {
    total_amount: sumOf(all.map(({ total_amount }) => total_amount)),
    total_tax: first.total_tax,
    taxes: all.flatMap(({ taxes }) => taxes),
  }
}

function groupUse({ group = '', units, money, left = '', total = '' }: PaymentStep): GroupUse {
  const amount = units === undefined ? { cost: Number(money) } : { usagev: units }
  return { name: group, ...amount, left: plain(left), total: plain(total) }
}

function plain(amount: string): number | string {
  return amount === 'UNLIMITED' ? amount : Number(amount)
}

/** Exact, as the numbers are the shortest texts of decimals. */
function sumOf(amounts: readonly number[]): number {
  if (amounts.length === 1) return amounts[0] as number
  const decimals = amounts.flatMap((amount) => parseDecimal(amount) ?? [])
  const scale = decimals.reduce((most, decimal) => Math.max(most, decimal.scale), 0)
  const sum = decimals.reduce(
    (total, decimal) => total + decimal.digits * 10n ** BigInt(scale - decimal.scale),
    0n,
  )
  return Number(`${sum}e-${scale}`)
}
