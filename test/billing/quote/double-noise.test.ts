import { Decimal128 } from 'mongodb'
import { describe, expect, it } from 'vitest'
import { quoteCase } from '../../../src/billing/quote/quote-case.ts'
import {
  call,
  eventFields,
  type Json,
  prepaid,
  quoteCaseOf,
  rate,
  resultsOf,
  wallet,
} from '../../support/billing/quote/case-builder.ts'

/** 0.3 with the rounding error of doubles. */
const NOISE = 0.1 * 3
const TEXT = '0.30000000000000004'

const tier = (more: Json) => ({ rate: [{ to: 'UNLIMITED', interval: 1, price: 0, ...more }] })
const priced = (base: Json, more: Json = {}) =>
  quoteCaseOf({ catalogue: { rates: [rate('T01', 'call', base)], ...more }, events: [call(2)] })
const planned = (plan: Json) => priced(tier({ price: 1 }), { plans: [{ name: 'P', ...plan }] })

describe('a number with the rounding error of a double is read as the intended decimal', () => {
  it.each<[string, (noise: unknown) => Json, number]>([
    ['a price', (price) => priced(tier({ price })), 0.6],
    ['an access price', (access) => priced({ access, ...tier({ price: 1 }) }), 2.3],
    ['a minimum charge', (minimum_charge) => priced({ minimum_charge, ...tier({}) }), 0.3],
    ['an interval', (interval) => priced(tier({ interval, price: 1 })), 7],
    ['the price of a plan', (price) => planned({ rates: { T01: { call: tier({ price }) } } }), 0.6],
    ['a percentage', (percentage) => planned({ rates: { T01: { call: { percentage } } } }), 0.6],
    ['a group of money', (cost) => planned({ include: { groups: { G: { cost } } } }), 2],
    [
      'an override',
      (price) => ({
        ...planned({}),
        subscriber: {
          plan: 'P',
          overrides: [
            { type: 'plan', key: 'P', value: { rates: { T01: { call: tier({ price }) } } } },
          ],
        },
      }),
      0.6,
    ],
    ['units of usage', (usagev) => ({ ...quoteCaseOf(), events: [call(usagev as number)] }), 0.01],
  ])('%s', (_, of, aprice) => {
    for (const noise of [NOISE, TEXT]) expect(eventFields(of(noise), 'aprice')).toEqual([[aprice]])
  })

  it('in taxes, limits and balances', () => {
    const taxes = [{ key: 'DEFAULT_VAT', rate: NOISE }]
    const taxed = priced(tier({ price: 1 }), { taxes })
    expect(eventFields(taxed, 'final_charge')).toEqual([[2.6]])
    const limited = { ...quoteCaseOf(), subscriber: { plan: 'P', credit_limit: NOISE } }
    expect(eventFields(limited, 'granted')).toEqual([[30]])
    const paid = prepaid(NOISE)
    expect(eventFields(paid, 'granted')).toEqual([[30]])
    expect(resultsOf({ ...paid, expect: [{ aprice: NOISE }] })).toHaveLength(1)
    expect(quoteCase({ ...paid, expect: [{ aprice: NOISE }] }).ok).toBe(true)
    const buckets = [wallet(1 / 3)]
    const refused = quoteCase({ ...paid, subscriber: { plan: 'P', buckets } })
    expect(refused.error).toEqual({
      field: 'subscriber.buckets.0.value',
      why: 'has more than 6 decimals: 0.3333333333333333',
    })
  })

  it('and a number too far from any decimal is refused, with field and value', () => {
    const field = 'catalogue.rates.0.rates.call.BASE.rate.0.price'
    const why = 'has more than 12 decimals: 0.3333333333333333'
    expect(quoteCase(priced(tier({ price: 1 / 3 }))).error).toEqual({ field, why })
  })
})

it('a price may be a Decimal128 of the store', () => {
  const price = Decimal128.fromString('0.30')
  const [result] = resultsOf(priced(tier({ price })))
  expect(result?.aprice).toBe(0.6)
})
