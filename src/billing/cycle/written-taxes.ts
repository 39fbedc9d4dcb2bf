/**
 * Taxes of charges that were paid ahead. A run keeps those with which they were charged, even if
 * others are in force at the end of the supply; with `correctTax` it credits such charges and
 * writes them again. Pure.
 */
import { Exact } from '../../catalog/records/money/exact-amount.ts'
import type { TaxRule } from '../../domain/tax.ts'
import { finalChargeOf } from '../../rating/line-tax.ts'
import type { AccountCycle } from './input.ts'
import type { AdjustmentLine, ChargeLine } from './lines.ts'
import { priorPartners } from './reconcile.ts'
import { sameRates, taxationAt, taxesInForce } from './tax.ts'
import { chargeKey, type PriorCharge } from './written.ts'

/** A charge with other taxes than those at the end of its supply; amounts are decimal text. */
export interface TaxChange {
  readonly sid: number
  readonly kind: 'plan' | 'service'
  readonly name: string
  /** Key of the charged cycle or period. */
  readonly cycle: string
  /** With discounts, after tax. */
  readonly charged: string
  readonly in_force: string
  readonly difference: string
}

type Input = Pick<AccountCycle, 'catalogue' | 'cycle' | 'settings'>

/** Due charges, with the taxes of the written charges that they correct. */
export function withPriorTaxes(
  input: Input,
  due: readonly ChargeLine[],
  prior: readonly PriorCharge[],
): ChargeLine[] {
  const partners = priorPartners(due, prior)
  return due.map((line) => {
    const former = partners.get(line) ?? overlapping(line, prior)
    if (former === undefined) return line
    const { taxes, rounding } = former
    const rounded = rounding === undefined ? line : { ...line, rounding }
    if (taxes === null) return rounded
    const others = input.settings.correctTax ? otherTaxes(input, line, taxes) : null
    if (others === null) return { ...rounded, taxes }
    return { ...line, taxes: others, isApart: 'charged again' }
  })
}

/** Days that were charged keep their taxes, also if they are another part now. */
function overlapping(
  { span, ...line }: ChargeLine,
  prior: readonly PriorCharge[],
): PriorCharge | undefined {
  const key = chargeKey(line)
  return prior.find(
    (one) => one.key === key && one.span.startMs < span.endMs && one.span.endMs > span.startMs,
  )
}

/** The taxes at the end of a supply that ends in the cycle, if they are others. */
function otherTaxes(
  { catalogue, cycle }: Input,
  line: ChargeLine,
  taxes: readonly TaxRule[],
): readonly TaxRule[] | null {
  const { endMs } = line.span
  if (endMs <= cycle.startMs || endMs > cycle.endMs) return null
  const found = taxesInForce(line, taxationAt(catalogue.taxation, endMs))
  return found === null || sameRates(found, taxes) ? null : found
}

/** Charges that keep their taxes although others are in force at the end of their supply. */
export function taxChangesOf(
  input: Input,
  due: readonly ChargeLine[],
  adjustments: readonly AdjustmentLine[],
): TaxChange[] {
  return due.flatMap((line) => {
    const { taxes, sid, kind, name, cycle } = line
    const others =
      taxes === undefined || line.isApart !== undefined ? null : otherTaxes(input, line, taxes)
    if (taxes === undefined || others === null) return []
    const own = adjustments.filter(({ eligibleLine }) => eligibleLine === line.id)
    const price = own.reduce((sum, { amount }) => sum.plus(amount), new Exact(line.amount))
    const [charged, inForce] = [taxes, others].map(
      (rules) => new Exact(finalChargeOf(price, rules, null).exact.final_charge),
    ) as [Exact, Exact]
    if (charged.equals(inForce)) return []
    return [
      {
        sid,
        kind: kind === 'flat' ? 'plan' : 'service',
        name,
        cycle: cycle.key,
        charged: charged.toString(),
        in_force: inForce.toString(),
        difference: inForce.minus(charged).toString(),
      },
    ]
  })
}
