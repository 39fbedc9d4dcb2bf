/** Exchanges by prices that fall, with refunds, top-ups and changes of plan. */
import fc from 'fast-check'
import { UNLIMITED } from '../../../src/domain/pricing/tier.ts'
import type { Tariff } from '../../../src/domain/tariff.ts'
import { PLAIN_TERMS } from '../../../src/domain/tariff-terms.ts'
import { SMALL, tariffOf, tariffWithTerms } from '../domain/arbitraries.ts'

/** Steps of a price, of 10 to 0 micros a unit, half of which only fall. */
const falling: fc.Arbitrary<Tariff> = fc
  .record({
    sizes: fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 2, maxLength: 4 }),
    prices: fc.array(fc.integer({ min: 0, max: 10 }), { minLength: 5, maxLength: 5 }),
    method: fc.constantFrom('volume' as const, 'volume' as const, 'graduated_flat' as const),
    access: fc.constantFrom(0, 0, 7),
    onlyFalls: fc.boolean(),
  })
  .map(({ sizes, prices, method, access, onlyFalls }) => ({
    tiers: [...sizes, UNLIMITED].map((units, index) => ({
      units,
      interval: 1,
      price:
        (onlyFalls ? prices.toSorted((a, b) => b - a) : prices)[index]! *
        (method === 'volume' ? 1 : 10),
      ceil: true,
    })),
    access,
    extraDigits: 0,
    terms: { ...PLAIN_TERMS, method },
  }))

/** Products and balances of a subscriber whose account has another one. */
export const exchangeSetUp = fc.record({
  tariff: fc.oneof(falling, falling, falling, tariffWithTerms(SMALL), tariffOf(SMALL)),
  groups: fc.array(
    fc.record({
      kind: fc.constantFrom('units' as const, 'totalCost' as const, 'totalCost' as const),
      sharing: fc.constantFrom('none' as const, 'shared' as const),
      total: fc.nat({ max: 60 }),
    }),
    { maxLength: 3 },
  ),
  money: fc.array(
    fc.record({
      slot: fc.constantFrom(0 as const, 0 as const, 1 as const),
      amount: fc.oneof(fc.constant(0), fc.nat({ max: 120 })),
      priority: fc.nat({ max: 2 }),
      days: fc.constantFrom(20, null, null),
    }),
    { minLength: 1, maxLength: 3 },
  ),
  units: fc.option(fc.nat({ max: 20 })),
  creditLimit: fc.option(fc.nat({ max: 300 })),
  accountCreditLimit: fc.option(fc.nat({ max: 500 })),
  plan: fc.constantFrom('PREPAID', 'POSTPAID'),
})

const usaget = fc.constantFrom('data', 'data', 'sms')
const few = fc.nat({ max: 14 })
const none = fc.constant(0)

function reportOf(more: { asked?: fc.Arbitrary<number>; usaget?: fc.Arbitrary<string> } = {}) {
  const asked = more.asked ?? fc.oneof(none, few)
  const session = fc.constantFrom('a', 'b')
  return fc.record({
    act: fc.constant('report' as const),
    session,
    usaget: more.usaget ?? usaget,
    used: few,
    asked,
  })
}

const topUp = fc.record({
  act: fc.constant('topUp' as const),
  which: fc.nat({ max: 3 }),
  amount: fc.nat({ max: 90 }),
})
const wait = fc.record({ act: fc.constant('wait' as const), days: fc.constantFrom(1, 16, 32) })
/** The plan of the subscriber changes, or the other subscriber follows. */
const change = fc.record({ act: fc.constantFrom('plan' as const, 'other' as const) })
const other = fc.record({ act: fc.constant('other' as const) })
const moneyBack = fc.record({
  act: fc.constant('refund' as const),
  event: fc.constant('care'),
  usaget: fc.constant('money'),
  count: fc.integer({ min: 1, max: 60 }),
})
const step = fc.oneof(
  reportOf(),
  reportOf(),
  reportOf(),
  fc.record({
    act: fc.constantFrom('release' as const, 'expire' as const),
    session: fc.constantFrom('a', 'b'),
  }),
  fc.record({
    act: fc.constantFrom('event' as const, 'refund' as const),
    event: fc.constantFrom('e', 'f'),
    usaget,
    count: fc.oneof(few, fc.constant(-1)),
  }),
  fc.record({
    act: fc.constant('refund' as const),
    event: fc.constantFrom('e', 'f', 'care'),
    usaget: fc.constantFrom('data', 'sms', 'money', 'money'),
    count: fc.oneof(few, fc.nat({ max: 100 }), fc.constant(-1)),
  }),
  topUp,
  fc.oneof(wait, change),
)
const calls = reportOf({ asked: none, usaget: fc.constant('data') })
const ofCounters = fc.oneof(calls, calls, calls, moneyBack, fc.oneof(wait, wait, other))
const overUse = reportOf({ asked: none })
const ofDebt = fc.oneof(overUse, overUse, overUse, topUp, fc.oneof(topUp, moneyBack, wait))

/** Any steps, or those that move counters, or debt. */
export const exchangeSteps = fc.oneof(
  fc.array(step, { minLength: 2, maxLength: 25 }),
  fc.array(ofCounters, { minLength: 4, maxLength: 16 }),
  fc.array(ofDebt, { minLength: 4, maxLength: 20 }),
)

export type ExchangeSetUp = typeof exchangeSetUp extends fc.Arbitrary<infer T> ? T : never
export type ExchangeStep = typeof exchangeSteps extends fc.Arbitrary<(infer T)[]> ? T : never
