/**
 * The price of one usage type, from its document to integers (design.md §1, spec/entity-api.md
 * 4.5).
 */
import {
  type ExactDecimal,
  MICROS_DIGITS,
  PRICE_DIGITS_MAX,
  parseDecimal,
  toScale,
} from '../domain/money.ts'
import { type Tariff, type Tier, UNLIMITED } from '../domain/tariff.ts'
import { CompileError } from './errors.ts'
import { amountAt, arrayAt, knownKeys, objectAt } from './field.ts'

interface Step {
  units: number
  interval: number
  price: ExactDecimal
  ceil: boolean
  path: string
}

const ZERO: ExactDecimal = { digits: 0n, scale: 0 }
const TIER_KEYS = ['from', 'to', 'interval', 'price', 'ceil', 'uom_display']

/**
 * `{ access, rate: [{ from, to, interval, price, ceil }] }` as a tariff. Only the sizes of the
 * tiers count: gaps and overlaps between them lose and gain nothing. Throws `CompileError` with the
 * path.
 */
export function compileTariff(document: unknown, path: string): Tariff {
  const price = objectAt(document, path)
  if (price['percentage'] !== undefined) {
    throw new CompileError(`${path}.percentage`, 'is not supported yet')
  }
  knownKeys(price, path, ['access', 'rate'])
  const accessPath = `${path}.access`
  const access = price['access'] === undefined ? ZERO : amountAt(price['access'], accessPath)
  const steps = compileSteps(price['rate'], `${path}.rate`)
  const extraDigits = digitsNeeded(steps, access, accessPath)
  return {
    tiers: steps.map((step) => tierOf(step, extraDigits)),
    access: scaled(access, extraDigits, accessPath),
    extraDigits,
  }
}

function compileSteps(document: unknown, path: string): Step[] {
  const steps: Step[] = []
  let previousTo = 0
  for (const [index, entry] of arrayAt(document, path).entries()) {
    const at = `${path}.${index}`
    if (steps.at(-1)?.units === UNLIMITED) {
      throw new CompileError(at, 'is never reached: the tier before it is UNLIMITED')
    }
    const tier = objectAt(entry, at)
    knownKeys(tier, at, TIER_KEYS)
    const from = tier['from'] === undefined ? previousTo : wholeAt(tier['from'], `${at}.from`)
    const to = tier['to'] === 'UNLIMITED' ? UNLIMITED : wholeAt(tier['to'], `${at}.to`)
    if (to <= from) throw new CompileError(`${at}.to`, `must be above from (${from}), is ${to}`)
    const interval = wholeAt(tier['interval'], `${at}.interval`)
    if (interval === 0) throw new CompileError(`${at}.interval`, 'must be above 0, is 0')
    const ceil = tier['ceil'] ?? true
    if (typeof ceil !== 'boolean') throw new CompileError(`${at}.ceil`, 'must be true or false')
    const units = to === UNLIMITED ? UNLIMITED : to - from
    steps.push({ units, interval, price: amountAt(tier['price'], `${at}.price`), ceil, path: at })
    previousTo = to
  }
  if (steps.length === 0) throw new CompileError(path, 'must have at least one tier')
  return steps
}

/** Units and intervals: rating counts in whole base units. */
function wholeAt(value: unknown, path: string): number {
  if (value === undefined) throw new CompileError(path, 'is missing')
  const decimal =
    typeof value === 'number' || typeof value === 'string' ? parseDecimal(value) : null
  if (decimal === null) throw new CompileError(path, 'must be an integer or UNLIMITED')
  if (decimal.digits < 0n) throw new CompileError(path, `must not be negative, is ${value}`)
  if (decimal.scale > 0) {
    throw new CompileError(path, `is ${value}: fractions of a unit are not supported yet`)
  }
  const whole = toScale(decimal, 0)
  if (whole === null) throw new CompileError(path, `must be below 2^53, is ${value}`)
  return whole
}

/** Digits beyond micros that the finest price needs. */
function digitsNeeded(steps: readonly Step[], access: ExactDecimal, accessPath: string): number {
  const prices = [...steps.map(({ price, path }) => ({ price, path: `${path}.price` }))]
  prices.push({ price: access, path: accessPath })
  let digits = MICROS_DIGITS
  for (const { price, path } of prices) {
    if (price.scale > PRICE_DIGITS_MAX) {
      throw new CompileError(path, `has more than ${PRICE_DIGITS_MAX} decimals`)
    }
    digits = Math.max(digits, price.scale)
  }
  return digits - MICROS_DIGITS
}

function tierOf({ units, interval, price, ceil, path }: Step, extraDigits: number): Tier {
  return { units, interval, price: scaled(price, extraDigits, `${path}.price`), ceil }
}

function scaled(price: ExactDecimal, extraDigits: number, path: string): number {
  const numerator = toScale(price, MICROS_DIGITS + extraDigits)
  if (numerator !== null) return numerator
  const digits = MICROS_DIGITS + extraDigits
  throw new CompileError(path, `is too large to be exact with the ${digits} decimals of its tariff`)
}
