import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { UNLIMITED_TOTAL } from '../../src/domain/counters.ts'
import { explain, type RatingStep } from '../../src/domain/explain.ts'
import type { Line } from '../../src/domain/line.ts'
import { PRICING_METHODS, type PricingMethod } from '../../src/domain/pricing/models.ts'
import { UNLIMITED } from '../../src/domain/pricing/tier.ts'
import type { Payment } from '../../src/domain/segment-parts.ts'
import { charge, type PricePosition, type Tariff } from '../../src/domain/tariff.ts'
import { PLAIN_TERMS } from '../../src/domain/tariff-terms.ts'
import {
  add,
  type Fraction,
  fraction,
  fromDecimal,
  nearestEven,
  times,
  upward,
} from '../support/domain/fraction.ts'
import { type Flat, lineOf as plainLine } from '../support/domain/lines.ts'
import { propertyRuns } from '../support/domain/property-runs.ts'
import { paymentOf } from '../support/domain/requests.ts'

const TARIFF: Tariff = {
  tiers: [
    { units: 60, interval: 60, price: 100_000, ceil: true },
    { units: UNLIMITED, interval: 7, price: 10_000, ceil: false },
  ],
  access: 200_000,
  extraDigits: 0,
  terms: null,
}

const lineOf = (more: Partial<Flat<Line>>) =>
  plainLine({
    ...{ version: 1, usaget: 'call', rateKey: 'T01', plan: 'P', tariff: TARIFF },
    ...{ access: true, state: 'closed', ...more },
  })

const paid = (more: Partial<Payment>) => paymentOf({ kind: 'money', ...more })

const tierOf = (tier: number, units: number, interval: number) => {
  return { step: 'tier', tier, units, interval }
}

describe('a price', () => {
  it('consists of tiers and access, and is rounded once', () => {
    expect(explain(lineOf({ chargedUnits: 61, used: 61 }))).toEqual([
      {
        step: 'price',
        category: 'retail',
        rate: 'T01',
        source: 'BASE',
        band: '',
        method: 'tiered',
        units: 61,
        amount: '0.301429',
        part: 'charge',
      },
      { ...tierOf(1, 60, 60), intervals: '1', price: '0.1', amount: '0.1' },
      { ...tierOf(2, 1, 7), intervals: '1/7', price: '0.01', amount: '1/700' },
      { step: 'access', amount: '0.2' },
      { step: 'rounding', mode: 'half-even', to: '0.000001', amount: '0.301429' },
    ])
  })

  it('by volume is that of one tier, followed by percentage, minimum and rounding', () => {
    const terms = { method: 'volume', unitScale: 10, factor: 5, factorDigits: 1 } as const
    const rounding = { mode: 'up', step: 10_000 } as const
    const tariff: Tariff = { ...TARIFF, terms: { ...terms, minimum: 153_400, rounding } }
    const [price, ...steps] = explain(
      lineOf({ chargedUnits: 6, tariff, priceOf: 'plan P', band: 'b' }),
    )
    expect(price).toMatchObject({ method: 'volume', amount: '0.16', source: 'plan P', band: 'b' })
    expect(steps).toEqual([
      { ...tierOf(1, 6, 6), intervals: '1', price: '0.1', amount: '0.1' },
      { step: 'access', amount: '0.2' },
      { step: 'percentage', factor: '0.5', amount: '0.15' },
      { step: 'minimum', amount: '0.1534' },
      { step: 'rounding', mode: 'up', to: '0.01', amount: '0.16' },
    ])
  })

  it('has the blocks of a package, or one fixed price', () => {
    const tiers = [
      { units: 50, interval: 40, price: 100_000, ceil: true },
      { units: UNLIMITED, interval: 30, price: 70_000, ceil: true },
    ]
    const stepsBy = (method: PricingMethod) => {
      const tariff: Tariff = { ...TARIFF, tiers, terms: { ...PLAIN_TERMS, method } }
      return explain(lineOf({ chargedUnits: 90, tariff, access: false })).slice(1)
    }
    expect(stepsBy('package')).toEqual([
      { ...tierOf(1, 80, 40), intervals: '2', price: '0.1', amount: '0.2' },
      { ...tierOf(2, 10, 30), intervals: '1', price: '0.07', amount: '0.07' },
    ])
    expect(stepsBy('graduated_flat')).toEqual([
      { ...tierOf(2, 90, 90), intervals: '1', price: '0.07', amount: '0.07' },
    ])
  })

  it('has finite tiers: usage beyond them is free', () => {
    const tariff: Tariff = { ...TARIFF, tiers: TARIFF.tiers.slice(0, 1), access: 0 }
    expect(explain(lineOf({ chargedUnits: 70, tariff })).slice(1)).toMatchObject([
      { step: 'tier', units: 60, amount: '0.1' },
      { step: 'beyond', units: 10, amount: '0' },
    ])
  })

  it('continues from the units paid before', () => {
    const minutes = { units: UNLIMITED, interval: 60, price: 600_000, ceil: true }
    const tariff: Tariff = { ...TARIFF, tiers: [minutes], access: 0 }
    const whole = { at: 0, ahead: 0, before: 30, access: true, credit: 0 }
    const carried = { ...NOTHING_CARRIED, priced: whole, covered: whole }
    expect(explain(lineOf({ chargedUnits: 30, tariff, carried, access: false }))).toMatchObject([
      { step: 'price', units: 30, amount: '0' },
      { step: 'tier', units: 60, intervals: '1', amount: '0.6' },
      { step: 'earlier', units: 30, amount: '-0.6' },
    ])
    const other = { ...whole, at: 30, ahead: 30, before: 0, credit: 100_000 }
    const dearer = { ...carried, priced: other }
    expect(
      explain(lineOf({ chargedUnits: 40, tariff, carried: dearer, access: false })),
    ).toMatchObject([
      { step: 'price', units: 40, amount: '0.5' },
      { step: 'begun', units: 30, amount: '0' },
      { step: 'tier', units: 10, intervals: '1', amount: '0.6' },
      { step: 'credited', amount: '-0.1' },
    ])
  })

  it('of no units has no steps', () => {
    expect(explain(lineOf({}))).toMatchObject([{ step: 'price', units: 0, amount: '0' }])
  })

  it('taken back is negative', () => {
    expect(explain(lineOf({ chargedUnits: -60, used: -60 }))).toMatchObject([
      { step: 'price', units: -60, amount: '-0.3' },
      { step: 'tier', units: -60, intervals: '-1', amount: '-0.1' },
      { step: 'access', amount: '-0.2' },
    ])
  })

  it('shows base units for fractional units', () => {
    const tiers = [{ units: UNLIMITED, interval: 150, price: 100_000, ceil: true }]
    const tariff: Tariff = { ...TARIFF, tiers, access: 0 }
    const payments = [paid({ kind: 'units', amount: 25 })]
    expect(explain(lineOf({ chargedUnits: 250, tariff, payments }), 2)).toMatchObject([
      { step: 'price', units: 2.5, amount: '0.2' },
      { step: 'tier', units: 2.5, interval: 1.5, intervals: '2' },
      { step: 'bucket', units: 0.25 },
    ])
  })
})

describe('the funding sources of a line', () => {
  it('are named: groups, buckets, credit, the limit of the account, debt', () => {
    const counter = 'group/GOLD/0/CALLS/100'
    const payments = [
      paid({ kind: 'units', amount: 40, counter, left: 60, total: 100 }),
      paid({ amount: 250_000, counter, left: 750_000, total: 1_000_000, owner: 1 }),
      paid({ kind: 'units', amount: 5, counter, left: UNLIMITED_TOTAL, total: UNLIMITED_TOTAL }),
      paid({ amount: 1_500_000, prepaidIncludeId: 9, bucketId: 3 }),
      paid({ amount: 2, counter: 'credit' }),
      paid({ amount: 2, counter: 'credit', owner: 1, kind: 'limit' }),
    ]
    const own = { owner: 'subscriber', bucket: 1 }
    const group = { step: 'group', group: 'CALLS/100', holder: 'GOLD' }
    expect(explain(lineOf({ payments, debt: 12, accountDebt: 5 })).slice(1)).toEqual([
      { ...group, ...own, units: 40, left: '60', total: '100' },
      { ...group, owner: 'account', bucket: 1, money: '0.25', left: '0.75', total: '1' },
      { ...group, ...own, units: 5, left: 'UNLIMITED', total: 'UNLIMITED' },
      { step: 'bucket', owner: 'subscriber', bucket: 3, include: 9, money: '1.5' },
      { step: 'credit', ...own, money: '0.000002' },
      { step: 'limit', owner: 'account', bucket: 1, money: '0.000002' },
      { step: 'debt', money: '0.000007' },
      { step: 'debt', owner: 'account', money: '0.000005' },
    ])
  })
})

const mode = fc.constantFrom('up' as const, 'down' as const, 'nearest' as const)
const tariff: fc.Arbitrary<Tariff> = fc.record({
  tiers: fc
    .array(
      fc.record({
        units: fc.integer({ min: 1, max: 40 }),
        interval: fc.integer({ min: 1, max: 13 }),
        price: fc.integer({ min: 0, max: 5_000 }),
        ceil: fc.boolean(),
      }),
      { minLength: 1, maxLength: 4 },
    )
    .chain((tiers) =>
      fc
        .boolean()
        .map((endless) =>
          endless ? [...tiers.slice(0, -1), { ...tiers.at(-1)!, units: UNLIMITED }] : tiers,
        ),
    ),
  access: fc.constantFrom(0, 0, 999, 12_345),
  extraDigits: fc.integer({ min: 0, max: 6 }),
  terms: fc.option(
    fc.record({
      method: fc.constantFrom(...PRICING_METHODS),
      unitScale: fc.constantFrom(1, 10, 1_000),
      factor: fc.integer({ min: 0, max: 200 }),
      factorDigits: fc.integer({ min: 0, max: 3 }),
      minimum: fc.constantFrom(0, 0, 700, 30_000),
      rounding: fc.option(fc.record({ mode, step: fc.constantFrom(10, 10_000, 1_000_000) })),
    }),
  ),
})

const units = fc.integer({ min: 0, max: 150 })
const course: fc.Arbitrary<PricePosition> = fc.record({
  at: units,
  ahead: fc.constantFrom(0, 0, 7, 200),
  before: fc.constantFrom(0, 1, 30),
  access: fc.boolean(),
  credit: fc.constantFrom(0, 0, 500, 20_000),
})
const NOTHING_CARRIED = {
  others: [],
  pricedSold: 0,
  coveredSold: 0,
  payments: [],
  debt: 0,
  accountDebt: 0,
}
const line = fc
  .record({
    tariff,
    access: fc.boolean(),
    includedUnits: units,
    includedMoneyUnits: units,
    chargedUnits: units,
    isBack: fc.boolean(),
    carried: fc.option(fc.record({ priced: course, covered: course })),
    others: fc.array(
      fc.record({
        category: fc.constant('wholesale'),
        rateKey: fc.constant('W'),
        tariff,
        isAdded: fc.boolean(),
      }),
      { maxLength: 2 },
    ),
  })
  .map(({ isBack, carried: before, ...drawn }) => {
    // A refund carries over no earlier units.
    const carried = isBack || before === null ? null : { ...NOTHING_CARRIED, ...before }
    const sign = isBack ? -1 : 1
    const used = drawn.includedUnits + drawn.includedMoneyUnits + drawn.chargedUnits
    const added = drawn.others.filter(({ isAdded }) => isAdded)
    const charged = [{ tariff: drawn.tariff, units: drawn.chargedUnits }]
      .concat(added.map((other) => ({ tariff: other.tariff, units: used })))
      .reduce((sum, part, index) => {
        const from = index === 0 ? carried?.priced : null
        return sum + charge(part.tariff, part.units, drawn.access, from)
      }, 0)
    const includedMicros = charge(drawn.tariff, drawn.includedMoneyUnits, false, carried?.covered)
    const counts = {
      used,
      includedUnits: drawn.includedUnits,
      includedMoneyUnits: drawn.includedMoneyUnits,
      chargedUnits: drawn.chargedUnits,
    }
    const signed = Object.entries({ ...counts, charged, includedMicros }).map(
      ([name, value]) => [name, value === 0 ? 0 : sign * value] as const,
    )
    return lineOf({ ...drawn, carried, ...Object.fromEntries(signed) })
  })

/** An amount of the explanation: `-12.5` or `1/3`. */
function read(text: string): Fraction {
  const [over = '0', under] = text.split('/')
  const size = fromDecimal(over.replace('-', ''))
  const sign = fraction(over.startsWith('-') ? -1 : 1)
  const whole = times(size, sign)
  return under === undefined ? whole : times(whole, fraction(1, BigInt(under)))
}

/** Computes prices again from the steps alone. */
function recompute(steps: readonly RatingStep[]): { charge: Fraction; included: Fraction } {
  const sums = { charge: fraction(0), included: fraction(0), shown: fraction(0) }
  let [part, sum]: [keyof typeof sums, Fraction] = ['shown', fraction(0)]
  let stated = '0'
  const close = () => {
    expect(read(stated)).toEqual(add(sum, fraction(0)))
    sums[part] = add(sums[part], sum)
  }
  for (const step of steps) {
    if (step.step === 'price') {
      close()
      ;[part, sum, stated] = [step.part, fraction(0), step.amount]
    } else if (step.step === 'tier') {
      sum = add(sum, times(read(step.intervals), read(step.price)))
    } else if (step.step === 'access') {
      sum = add(sum, read(step.amount))
    } else if (step.step === 'percentage') {
      sum = times(sum, read(step.factor))
    } else if (step.step === 'minimum') {
      sum = read(step.amount)
    } else if (step.step === 'rounding') {
      sum = round(sum, read(step.to), step.mode)
    } else if (step.step === 'credited' || step.step === 'earlier') {
      sum = add(sum, read(step.amount))
    }
  }
  close()
  return sums
}

function round(sum: Fraction, to: Fraction, mode: string): Fraction {
  const sign = sum.over < 0n ? -1n : 1n
  const size = { over: sum.over * sign * to.under, under: sum.under * to.over }
  const below = size.over / size.under
  const steps = {
    'half-even': () => nearestEven(size),
    up: () => upward(size),
    down: () => below,
    nearest: () => (2n * (size.over - below * size.under) >= size.under ? below + 1n : below),
  }[mode]!()
  return times(fraction(steps * sign), to)
}

it('the steps of an explanation add up to the charge of the line for any price', () => {
  fc.assert(
    fc.property(line, (drawn) => {
      const sums = recompute(explain(drawn))
      expect(sums.charge).toEqual(add(fraction(drawn.counts.charged, 1_000_000), fraction(0)))
      expect(sums.included).toEqual(
        add(fraction(drawn.counts.includedMicros, 1_000_000), fraction(0)),
      )
    }),
    propertyRuns(2_000),
  )
})
