/** Compiles the price of a usage type into integers. */
import { FieldIssues, readAll } from '../../domain/field-errors.ts'
import {
  amountAt,
  arrayAt,
  atMostDecimals,
  booleanAt,
  checkKnownKeys,
  decimalOf,
  FieldError,
  type Fields,
  objectAt,
} from '../../domain/fields.ts'
import { type ExactDecimal, MICROS_DIGITS, toScale } from '../../domain/money.ts'
import { modelOf } from '../../domain/pricing/models.ts'
import { type Tier, UNLIMITED } from '../../domain/pricing/tier.ts'
import type { Tariff } from '../../domain/tariff.ts'
import { PLAIN_TERMS, priceRounding, type RateTerms, withTerms } from '../../domain/tariff-terms.ts'
import type { CompileOptions } from './document.ts'

/** One tier, with exact decimals. */
interface Step {
  /** Null if the tier has no end. */
  size: ExactDecimal | null
  interval: ExactDecimal
  price: ExactDecimal
  ceil: boolean
  path: string
}

/** An amount of money and its path. */
interface Price {
  amount: ExactDecimal
  path: string
}

export interface PriceContext extends CompileOptions {
  terms: RateTerms
}

/** Terms of prices of plans and services; the terms of the rate are applied when charging. */
export const NO_TERMS: RateTerms = { method: 'tiered', rounding: null }

/** Decimals allowed in bounds and intervals of tiers. */
const UNIT_DIGITS_MAX = 6
const ZERO: ExactDecimal = { digits: 0n, scale: 0 }
const TIER_KEYS = ['from', 'to', 'interval', 'price', 'ceil', 'uom_display']

/**
 * Compiles the parts `access`, `minimum_charge` and `rate: [{ from, to, interval, price, ceil }]`
 * of a price into a tariff. Only the sizes of the tiers are used, so gaps and overlaps between them
 * are ignored; in a document being written, overlaps are rejected. Throws `FieldError` with the
 * path.
 */
export function compileTariff(price: Fields, path: string, context: PriceContext): Tariff {
  const { access, minimum, steps } = readAll({
    access: () => priceAt(price['access'], `${path}.access`),
    minimum: () => priceAt(price['minimum_charge'], `${path}.minimum_charge`),
    steps: () => compileSteps(price['rate'], `${path}.rate`, context),
  })
  const prices = steps.map((step) => ({ amount: step.price, path: `${step.path}.price` }))
  const extraDigits = digitsNeeded([...prices, access, minimum])
  const unitDigits = Math.max(context.unitDigits, finestUnit(steps))
  const tariff = {
    tiers: steps.map((step) => tierOf(step, unitDigits, extraDigits)),
    access: scaled(access, extraDigits),
    extraDigits,
    terms: null,
  }
  const { method, rounding } = context.terms
  return withTerms(tariff, {
    ...PLAIN_TERMS,
    method,
    unitScale: 10 ** (unitDigits - context.unitDigits),
    minimum: scaled(minimum, extraDigits),
    rounding: priceRounding(rounding),
  })
}

function priceAt(value: unknown, path: string): Price {
  return { amount: value === undefined ? ZERO : amountAt(value, path), path }
}

function compileSteps(document: unknown, path: string, context: PriceContext): Step[] {
  const { isStrict } = context
  const steps: Step[] = []
  const issues = new FieldIssues()
  let end: ExactDecimal | null = ZERO
  for (const [index, entry] of arrayAt(document, path).entries()) {
    const at = `${path}.${index}`
    issues.attempt(() => {
      if (end === null && isStrict) {
        throw new FieldError(at, 'is never reached: the tier before it is UNLIMITED')
      }
      const { step, from, to } = compileStep(objectAt(entry, at), at, end ?? ZERO, context)
      if (isStrict && end !== null && isBelow(from, end)) {
        throw new FieldError(`${at}.from`, `must not be below the end of the tier before`)
      }
      // Tiers after one without an end are never reached.
      if (index === 0 || end !== null) steps.push(step)
      end = end === null ? null : to
    })
  }
  issues.throwIfAny()
  if (steps.length === 0) throw new FieldError(path, 'must have at least one tier')
  return steps
}

function compileStep(tier: Fields, path: string, previousTo: ExactDecimal, context: PriceContext) {
  const { span, ...terms } = readAll({
    keys: () => checkKnownKeys(tier, path, TIER_KEYS),
    span: () => spanAt(tier, path, previousTo),
    interval: () => intervalAt(tier['interval'], `${path}.interval`),
    ceil: () => ceilAt(tier['ceil'], `${path}.ceil`, context),
    price: () => amountAt(tier['price'], `${path}.price`),
  })
  const { size, from, to } = span
  const { interval, ceil, price } = terms
  return { step: { size, interval, price, ceil, path }, from, to }
}

/** In a stored rate, and in a price of a plan, a value without effect is ignored. */
function ceilAt(value: unknown, path: string, { isStrict, terms }: PriceContext): boolean {
  const ceil = booleanAt(value, path, true)
  const { method } = terms
  if (ceil || !isStrict || !modelOf(terms).fixed?.ceil) return ceil
  throw new FieldError(path, `must not be false: with ${method} it has no effect`)
}

function spanAt(tier: Fields, path: string, previousTo: ExactDecimal) {
  const { from, to } = readAll({
    from: () => (tier['from'] === undefined ? previousTo : unitsAt(tier['from'], `${path}.from`)),
    to: () => (tier['to'] === 'UNLIMITED' ? null : unitsAt(tier['to'], `${path}.to`)),
  })
  const size = to === null ? null : minus(to, from)
  if (size !== null && size.digits <= 0n) {
    throw new FieldError(`${path}.to`, `must be above from (${numberOf(from)}), is ${tier['to']}`)
  }
  return { size, from, to }
}

function intervalAt(value: unknown, path: string): ExactDecimal {
  const interval = unitsAt(value, path)
  if (interval.digits === 0n) throw new FieldError(path, 'must be above 0, is 0')
  return interval
}

/** Units of a bound or an interval. */
function unitsAt(value: unknown, path: string): ExactDecimal {
  if (value === undefined) throw new FieldError(path, 'is missing', 'missing')
  const units = decimalOf(value)
  if (units === null) throw new FieldError(path, 'must be a number or UNLIMITED')
  if (units.digits < 0n) throw new FieldError(path, `must not be negative, is ${value}`)
  atMostDecimals(value, units, path, UNIT_DIGITS_MAX)
  return units
}

function numberOf({ digits, scale }: ExactDecimal): number {
  return Number(digits) / 10 ** scale
}

function minus(a: ExactDecimal, b: ExactDecimal): ExactDecimal {
  const scale = Math.max(a.scale, b.scale)
  const digits =
    a.digits * 10n ** BigInt(scale - a.scale) - b.digits * 10n ** BigInt(scale - b.scale)
  return { digits, scale }
}

function isBelow(a: ExactDecimal, b: ExactDecimal): boolean {
  return minus(a, b).digits < 0n
}

function finestUnit(steps: readonly Step[]): number {
  return Math.max(...steps.flatMap(({ size, interval }) => [size?.scale ?? 0, interval.scale]))
}

/** Digits below micros that the finest price needs. */
function digitsNeeded(prices: readonly Price[]): number {
  return Math.max(MICROS_DIGITS, ...prices.map(({ amount }) => amount.scale)) - MICROS_DIGITS
}

function tierOf(step: Step, unitDigits: number, extraDigits: number): Tier {
  const { size, interval, price, ceil, path } = step
  return {
    units: size === null ? UNLIMITED : unitsOf(size, unitDigits, `${path}.to`),
    interval: unitsOf(interval, unitDigits, `${path}.interval`),
    price: scaled({ amount: price, path: `${path}.price` }, extraDigits),
    ceil,
  }
}

function unitsOf(units: ExactDecimal, digits: number, path: string): number {
  const whole = toScale(units, digits)
  if (whole !== null) return whole
  const each = digits === 0 ? '' : ` of 10^-${digits} units`
  throw new FieldError(path, `is too large: 2^53${each} or more`)
}

function scaled({ amount, path }: Price, extraDigits: number): number {
  const digits = MICROS_DIGITS + extraDigits
  const numerator = toScale(amount, digits)
  if (numerator !== null) return numerator
  throw new FieldError(path, `is too large to be exact with the ${digits} decimals of its tariff`)
}
