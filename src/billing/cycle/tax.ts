/**
 * Taxes and rounding of charges, discounts and conditional charges. A discount has the taxes and
 * the rounding of its charge, so that a charge and its full discount add up to 0; a correction has
 * the taxes of the line that it corrects. Pure; throws
 * `BillingError` if a tax does not exist, `FieldError` for invalid fields of an entity.
 */
import { roundingAt } from '../../catalog/compile/rounding.ts'
import { taxHintsAt } from '../../catalog/compile/tax.ts'
import { Exact } from '../../catalog/records/money/exact-amount.ts'
import type { RoundingRules, Taxable } from '../../domain/catalogue.ts'
import type { Fields } from '../../domain/fields.ts'
import type { FinalCharge, TaxRule } from '../../domain/tax.ts'
import { finalChargeOf, roundedAmount } from '../../rating/line-tax.ts'
import { chooseTaxes, type TaxContext } from '../../rating/price.ts'
import { BillingError } from '../errors.ts'
import { type AdjustmentLine, type ChargeLine, LINE_DIGITS, type TaxedLine } from './lines.ts'

/** Taxes of the catalogue, and the instant at which they are looked up: the time of the lines. */
export interface ChargeTaxation extends TaxContext {
  readonly atMs: number
}

/** Taxes of a supply: those in force at its last second. */
export function taxationAt(context: TaxContext, endMs: number): ChargeTaxation {
  return { ...context, atMs: endMs - 1000 }
}

/** A line with its taxes, and the rules that they come from. */
export interface RuledLine<Line> extends TaxedLine<Line> {
  readonly rules: readonly TaxRule[]
  readonly rounding: RoundingRules | null
}

export function taxCharge(line: ChargeLine, taxation: ChargeTaxation): RuledLine<ChargeLine> {
  const { kind, name, entity, amount } = line
  const { rounding = taxedEntity(entity, name).rounding } = line
  const rules = line.taxes ?? taxesInForce(line, taxation)
  if (rules === null) throw missing(`${kind === 'flat' ? 'plan' : 'service'} ${name}`, taxation)
  return { line, rules, rounding, tax: roundedCharge(amount, rules, rounding) }
}

/** Null if a tax of the plan or service does not exist then. */
export function taxesInForce(
  { entity, name }: ChargeLine,
  taxation: ChargeTaxation,
): readonly TaxRule[] | null {
  if (entity['vatable'] === false) return []
  return chooseTaxes(taxation, taxedEntity(entity, name).taxable, taxation.atMs)
}

export function sameRates(one: readonly TaxRule[], other: readonly TaxRule[]): boolean {
  return ratesOf(one) === ratesOf(other)
}

function ratesOf(rules: readonly TaxRule[]): string {
  return JSON.stringify(rules.map(({ rate, isEmbedded }) => [new Exact(rate), isEmbedded]).sort())
}

/** `charge`: the line that it applies to; null for a charge that applies to no single line. */
export function taxAdjustment(
  line: AdjustmentLine,
  charge: RuledLine<ChargeLine> | null,
  taxation: ChargeTaxation,
): RuledLine<AdjustmentLine> {
  const { kind, key, entity, amount } = line
  const { taxable, rounding: own } = taxedEntity(entity, key)
  const rules = line.taxes ?? charge?.rules ?? chooseTaxes(taxation, taxable, taxation.atMs)
  if (rules === null) throw missing(`charge ${key}`, taxation)
  // Own rules round the signed number, which corrections mirror; those of the charge mirror it.
  const signed = own !== null && kind === 'discount' ? swapped(own) : own
  const { rounding = signed ?? charge?.rounding ?? null } = line
  return { line, rules, rounding, tax: roundedCharge(amount, rules, rounding) }
}

function missing(what: string, { atMs }: ChargeTaxation): BillingError {
  return new BillingError(
    `${what}: no tax is in force at ${new Date(atMs).toISOString()}`,
    'refused',
  )
}

/** Rounds the price before tax, or the final charge. */
function roundedCharge(
  amount: Exact,
  rules: readonly TaxRule[],
  rounding: RoundingRules | null,
): FinalCharge {
  const price = new Exact(amount).toDecimalPlaces(LINE_DIGITS, Exact.ROUND_HALF_UP)
  if (rounding === null || rounding.stage === 'after_tax') {
    return finalChargeOf(price, rules, rounding)
  }
  const charge = finalChargeOf(roundedAmount(price, rounding), rules, null)
  const { aprice, final_charge } = finalChargeOf(price, rules, null)
  return { ...charge, before_rounding: { aprice, final_charge } }
}

function swapped({ mode, ...rules }: RoundingRules): RoundingRules {
  if (mode === 'nearest') return { mode, ...rules }
  return { mode: mode === 'up' ? 'down' : 'up', ...rules }
}

interface TaxedEntity {
  readonly taxable: Taxable
  readonly rounding: RoundingRules | null
}

/** Many lines share a revision. */
const taxedEntities = new WeakMap<Fields, TaxedEntity>()

function taxedEntity(entity: Fields, key: string): TaxedEntity {
  let taxed = taxedEntities.get(entity)
  if (taxed === undefined) {
    const params = { ...entity, ...(entity['params'] as Fields | undefined) }
    taxed = {
      taxable: { key, params, taxHints: taxHintsAt(entity['tax'], 'tax') },
      rounding: roundingAt(entity['rounding_rules'], 'rounding_rules'),
    }
    taxedEntities.set(entity, taxed)
  }
  return taxed
}
