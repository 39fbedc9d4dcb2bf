/** Random prices and amounts: small numbers, so that every boundary is hit often. */
import fc from 'fast-check'
import { PRICING_METHODS } from '../../../../src/domain/pricing/models.ts'
import type { OverrideDocument, PriceDocument, RateDocument, TierDocument } from './case.ts'

/** Parameters of the prices and groups to generate. */
export const USAGETS = ['call', 'data'] as const
export const RATE_KEYS = ['R1', 'R2', 'R3'] as const

/** Amounts of units: whole, or in tenths. */
export function unitsOf(max: number, isFractional: boolean): fc.Arbitrary<number> {
  const whole = fc.integer({ min: 1, max })
  if (!isFractional) return whole
  return fc.oneof(
    whole,
    fc.integer({ min: 1, max: 10 * max }).map((tenths) => decimal(tenths, 1)),
  )
}

/** Money with zero to nine decimals. */
export function moneyOf(max: number, places: readonly number[]): fc.Arbitrary<number> {
  return fc
    .record({ digits: fc.integer({ min: 0, max }), places: fc.constantFrom(...places) })
    .map((drawn) => decimal(drawn.digits, drawn.places))
}

export const moneyAmount = fc.oneof(moneyOf(60, [0, 0, 1]), moneyOf(9000, [2, 3, 6]))
const pricePlaces = [0, 1, 1, 2, 2, 3, 6, 9] as const
const price = fc.oneof(
  { weight: 6, arbitrary: moneyOf(40, pricePlaces) },
  { weight: 1, arbitrary: fc.constant(0) },
  { weight: 1, arbitrary: moneyOf(400_000_000, [9]) },
)

function decimal(digits: number, places: number): number {
  return Number(`${digits}e-${places}`)
}

/** With a freq of n: present once in n cases. */
export function seldom<T>(arbitrary: fc.Arbitrary<T>, n: number): fc.Arbitrary<T | undefined> {
  return fc
    .record({ isGiven: fc.nat({ max: n - 1 }), value: arbitrary })
    .map(({ isGiven, value }) => (isGiven === n - 1 ? value : undefined))
}

/** One to four tiers; bounds may leave a gap, overlap, or omit `from`: only sizes count. */
function tiersOf(isFractional: boolean): fc.Arbitrary<TierDocument[]> {
  const tier = fc.record({
    size: unitsOf(50, isFractional),
    interval: fc.oneof(fc.constant(1), unitsOf(15, isFractional)),
    price,
    ceil: fc.constantFrom(undefined, true, false),
    shift: fc.constantFrom(0, 0, 0, 1, -1),
    isFromGiven: fc.constantFrom(true, true, true, false),
  })
  const tiers = fc.array(tier, { minLength: 1, maxLength: 4 })
  return fc.record({ tiers, isEndless: fc.constantFrom(true, true, false) }).map((drawn) => {
    let tenths = 0
    return drawn.tiers.map(({ size, shift, isFromGiven, ...rest }, index) => {
      const from = isFromGiven ? Math.max(0, tenths + 10 * shift) : tenths
      tenths = from + Math.round(10 * size)
      const isLast = index === drawn.tiers.length - 1
      const to = isLast && drawn.isEndless ? ('UNLIMITED' as const) : decimal(tenths, 1)
      return part({ ...rest, from: isFromGiven ? decimal(from, 1) : undefined, to })
    })
  })
}

export function priceOf(isFractional: boolean): fc.Arbitrary<PriceDocument> {
  return fc
    .record({
      rate: tiersOf(isFractional),
      access: seldom(moneyOf(40, pricePlaces), 3),
      minimum_charge: seldom(moneyOf(200, pricePlaces), 6),
    })
    .map(part)
}

export function overrideOf(isFractional: boolean): fc.Arbitrary<OverrideDocument> {
  const percentage = fc.constantFrom(0.5, 0.5, 0.333, 0, 1, 1.25, 0.07)
  return fc.oneof(priceOf(isFractional), fc.record({ percentage }))
}

/** Overrides of one or two rates. */
export function overridesOf(isFractional: boolean) {
  const one = fc.record({
    key: fc.constantFrom(...RATE_KEYS),
    usaget: fc.constantFrom(...USAGETS),
    override: overrideOf(isFractional),
  })
  return fc.array(one, { minLength: 1, maxLength: 2 }).map((drawn) => {
    const rates: Record<string, Record<string, OverrideDocument>> = {}
    for (const { key, usaget, override } of drawn) {
      rates[key] = { ...rates[key], [usaget]: override }
    }
    return rates
  })
}

const rounding = fc.record({
  rounding_type: fc.constantFrom('up', 'down', 'nearest', 'None'),
  rounding_decimals: fc.constantFrom(undefined, 0, 1, 2, 3, 6),
  rounding_stage: fc.constantFrom(undefined, 'before_tax', 'before_tax', 'after_tax'),
})

const taxHint = fc.constantFrom(
  { type: 'vat', taxation: 'global' },
  { type: 'vat', taxation: 'default' },
  { type: 'vat', taxation: 'no' },
  { type: 'vat', taxation: 'custom', custom_logic: 'override', custom_tax: 'REDUCED' },
  { type: 'vat', taxation: 'custom', custom_logic: 'fallback', custom_tax: 'EMBEDDED' },
  { type: 'vat', taxation: 'custom', custom_logic: 'override', custom_tax: 'EMBEDDED' },
)

const missingTax = { type: 'vat', taxation: 'custom', custom_logic: 'override', custom_tax: 'X' }

/** Prices by usage type: `BASE` nearly always, occasionally one for the plan `P`. */
export function rateOf(key: string, isFractional: boolean): fc.Arbitrary<RateDocument> {
  const prices = fc
    .record({
      base: priceOf(isFractional),
      plan: seldom(priceOf(isFractional), 5),
      gone: fc.nat(19),
    })
    .map(({ base, plan, gone }) => part({ BASE: gone === 19 ? undefined : base, P: plan }))
  const tax = fc.oneof(
    { weight: 30, arbitrary: taxHint },
    { weight: 1, arbitrary: fc.constant(missingTax) },
  )
  return fc
    .record({
      call: prices,
      data: prices,
      pricing_method: fc.constantFrom(undefined, 'tiered', ...PRICING_METHODS),
      rounding_rules: seldom(rounding.map(part), 3),
      tax: seldom(fc.array(tax, { minLength: 1, maxLength: 1 }), 2),
    })
    .map(({ call, data, ...rest }) => part({ key, rates: { call, data }, ...rest }) as RateDocument)
}

/** A part of a document: absent fields are removed when the whole is stripped. */
export function part<T>(document: T): Stripped<T> {
  return document as Stripped<T>
}

/** The same document as read from a file: without absent fields. */
export function strip<T>(document: T): Stripped<T> {
  return JSON.parse(JSON.stringify(document)) as Stripped<T>
}

/** Fields that may be undefined are optional instead. */
type Stripped<T> = {
  [K in keyof T as undefined extends T[K] ? never : K]: T[K]
} & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>
}
