/**
 * Taxes and final charge of a line. Amounts are exact decimals without rounding; only where
 * rounding of the final charge scales them, they have ten decimals.
 */
import { Decimal } from 'decimal.js'
import { MICROS_PER_UNIT } from '../domain/money.ts'
import type { FinalCharge, LineRounding, LineTax, TaxRule } from '../domain/tax.ts'

/** Decimals of scaled amounts. */
const SCALED_DIGITS = 10
/** Precise enough for the product of any safe integer and a rate. */
export const Exact = Decimal.clone({ precision: 60, toExpNeg: -60, toExpPos: 60 })
const MODES = {
  up: Exact.ROUND_UP,
  down: Exact.ROUND_DOWN,
  nearest: Exact.ROUND_HALF_UP,
} as const satisfies Record<LineRounding['mode'], Decimal.Rounding>

/** As `finalChargeOf`, for a price in micros. */
export function finalCharge(
  priceMicros: number,
  rules: readonly TaxRule[],
  rounding: LineRounding | null,
): FinalCharge {
  return finalChargeOf(new Exact(priceMicros).div(MICROS_PER_UNIT), rules, rounding)
}

/**
 * `value`: price of the line before tax; negative for a refund, which mirrors the charge.
 * `rounding`: of the final charge; price and taxes are scaled with it.
 */
export function finalChargeOf(
  value: Decimal,
  rules: readonly TaxRule[],
  rounding: LineRounding | null,
): FinalCharge {
  const price = new Exact(value)
  const amounts = rules.map((rule) => ({ rule, amount: price.times(rule.rate) }))
  const embedded = sum(amounts.filter(({ rule }) => rule.isEmbedded))
  const tax = sum(amounts.filter(({ rule }) => !rule.isEmbedded))
  const aprice = price.plus(embedded)
  const unrounded: Charge = { aprice, tax, total: aprice.plus(tax), amounts }
  const charge = rounding === null ? unrounded : roundedTo(unrounded, rounding)
  const result = chargeOf(charge)
  if (rounding === null) return result
  const { tax_data } = result
  tax_data.total_amount_before_rounding = tax.toNumber()
  for (const [index, { rule, amount }] of amounts.entries()) {
    const shown = tax_data.taxes[index]
    if (shown !== undefined && !rule.isEmbedded) shown.amount_before_rounding = amount.toNumber()
  }
  const before_rounding = { final_charge: unrounded.total.toNumber(), aprice: aprice.toNumber() }
  return { ...result, before_rounding }
}

/** A price before tax by the rules of its rounding. */
export function roundedPrice(price: Decimal, { mode, decimals }: LineRounding): Decimal {
  return price.toDecimalPlaces(decimals, MODES[mode])
}

interface Amount {
  rule: TaxRule
  amount: Decimal
}

interface Charge {
  aprice: Decimal
  tax: Decimal
  total: Decimal
  amounts: readonly Amount[]
}

function sum(amounts: readonly Amount[]): Decimal {
  return amounts.reduce((total, { amount }) => total.plus(amount), new Exact(0))
}

/** `up`: away from zero, so that a refund mirrors the charge. */
export function roundedAmount(amount: Decimal, { mode, decimals }: LineRounding): Decimal {
  return new Exact(amount).toDecimalPlaces(decimals, MODES[mode])
}

/** Price and tax still add up to the total: the remainder of scaling is added to the price. */
function roundedTo(charge: Charge, rounding: LineRounding): Charge {
  const total = roundedAmount(charge.total, rounding)
  if (total.equals(charge.total)) return charge
  const scaled = ({ rule, amount }: Amount): Amount => ({
    rule,
    amount: amount.times(total).div(charge.total).toDecimalPlaces(SCALED_DIGITS),
  })
  const amounts = charge.amounts.map(scaled)
  const tax = sum(amounts.filter(({ rule }) => !rule.isEmbedded))
  return { aprice: total.minus(tax), tax, total, amounts }
}

function chargeOf({ aprice, tax, total, amounts }: Charge): FinalCharge {
  const rates = amounts.reduce((all, { rule }) => all.plus(rule.rate), new Exact(0))
  return {
    aprice: aprice.toNumber(),
    final_charge: total.toNumber(),
    tax_data: {
      total_amount: tax.toNumber(),
      total_tax: rates.toNumber(),
      taxes: amounts.map(taxOf),
    },
    exact: {
      aprice: aprice.toString(),
      tax: tax.toString(),
      final_charge: total.toString(),
    },
  }
}

/** The rules with which a line was taxed. */
export function rulesOfTaxes(taxes: readonly LineTax[]): TaxRule[] {
  return taxes.map(({ key, description, type, tax, embedded_amount: embedded }) => {
    const rate = new Exact(tax).toString()
    return { key, description, type, rate, isEmbedded: embedded !== undefined }
  })
}

function taxOf({ rule, amount }: Amount): LineTax {
  const { rate, description, key, type, isEmbedded } = rule
  const figure = amount.toNumber()
  return {
    tax: Number(rate),
    amount: isEmbedded ? 0 : figure,
    description,
    key,
    type,
    pass_to_customer: 1,
    ...(isEmbedded ? { embedded_amount: figure } : {}),
  }
}
