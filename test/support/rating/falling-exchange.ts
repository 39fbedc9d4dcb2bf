/** Exchanges by prices that fall, with refunds, top-ups and changes of plan. */
import fc from 'fast-check'
import { UNLIMITED } from '../../../src/domain/pricing/tier.ts'
import type { Tariff } from '../../../src/domain/tariff.ts'
import { PLAIN_TERMS } from '../../../src/domain/tariff-terms.ts'
import { SMALL, tariffOf, tariffWithTerms } from '../domain/arbitraries.ts'

const SESSIONS = ['a', 'b', 'c', 'd']

/** Steps of a price that mostly fall: 10 to 0 micros a unit. */
const falling: fc.Arbitrary<Tariff> = fc
  .record({
    sizes: fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 2, maxLength: 4 }),
    prices: fc.array(fc.integer({ min: 0, max: 10 }), { minLength: 5, maxLength: 5 }),
    method: fc.constantFrom('volume' as const, 'volume' as const, 'graduated_flat' as const),
    access: fc.constantFrom(0, 0, 7),
  })
  .map(({ sizes, prices, method, access }) => ({
    tiers: [...sizes, UNLIMITED].map((units, index) => ({
      units,
      interval: 1,
      price: prices[index]! * (method === 'volume' ? 1 : 10),
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

const session = fc.constantFrom(...SESSIONS)
const event = fc.constantFrom('e', 'f')
const usaget = fc.constantFrom('data', 'data', 'sms')
const few = fc.nat({ max: 14 })
const report = fc.record({
  act: fc.constant('report' as const),
  session,
  usaget,
  used: few,
  asked: fc.oneof(fc.constant(0), few),
})
export const exchangeStep = fc.oneof(
  { weight: 8, arbitrary: report },
  {
    weight: 1,
    arbitrary: fc.record({ act: fc.constantFrom('release' as const, 'expire' as const), session }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ act: fc.constant('event' as const), event, usaget, count: few }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      act: fc.constant('refund' as const),
      event: fc.constantFrom('e', 'f', 'care', 'care'),
      usaget: fc.constantFrom('data', 'sms', 'money', 'money'),
      count: fc.oneof(few, fc.nat({ max: 100 }), fc.constant(-1)),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      act: fc.constant('topUp' as const),
      which: fc.nat({ max: 2 }),
      amount: fc.nat({ max: 90 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ act: fc.constant('wait' as const), days: fc.constantFrom(1, 16, 31) }),
  },
  { weight: 1, arbitrary: fc.record({ act: fc.constant('plan' as const) }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant('other' as const) }) },
)

export type ExchangeSetUp = typeof exchangeSetUp extends fc.Arbitrary<infer T> ? T : never
export type ExchangeStep = typeof exchangeStep extends fc.Arbitrary<infer T> ? T : never
