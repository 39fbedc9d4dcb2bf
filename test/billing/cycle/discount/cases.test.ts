/** Published cases of discounts. Amounts are compared with 1e-6: the published ones are binary. */
import { describe, expect, it } from 'vitest'
import {
  adjust,
  amountsOf,
  chargeOf,
  cycleOf,
  type GivenCharge,
  onAccount,
  onPlan,
} from '../../../support/billing/cycle.ts'

/** April 2019: 30 days. */
const april = cycleOf('201905')
const monetary = { type: 'monetary', proration: 'yes' }
const percentage = { type: 'percentage', proration: 'yes' }
const line = (given: GivenCharge) => chargeOf(april, given)

/** Sequential percentages of plan P, in order of their priority. */
const sequential = (...parts: [value: number, from?: string, to?: string][]) =>
  parts.map(([value, from, to], index) => ({
    ...percentage,
    key: `D${index}`,
    priority: 10 - index,
    subject: { plan: { P: { value, sequential: true } } },
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
  }))

describe('discounts on plans and services', () => {
  it('5: are limited by the number of subscribers, and by the charge', () => {
    const discount = {
      ...monetary,
      key: 'MAX',
      params: { max_subscribers: 5, conditions: [onPlan('MIN_MAX')] },
      subject: { matched_plans: { value: 100 } },
    }
    const lines = [
      line({ sid: 19, name: 'MIN_MAX' }),
      line({ sid: 20, name: 'ABC', to: '2019-04-05', amount: 16.666564 }),
      line({ sid: 20, name: 'MIN_MAX', from: '2019-04-05', to: '2019-04-10', amount: 16.666564 }),
      line({ sid: 20, name: 'ABC', from: '2019-04-10', amount: 70 }),
      line({ sid: 21, name: 'ABC', to: '2019-04-05', amount: 16.666564 }),
      line({ sid: 21, name: 'MIN_MAX', from: '2019-04-05', amount: 83.333325 }),
    ]
    const subscribers = {
      19: [{ plan: 'MIN_MAX' }],
      20: [
        { plan: 'ABC', to: '2019-04-05' },
        { plan: 'MIN_MAX', from: '2019-04-05', to: '2019-04-10' },
        { plan: 'ABC', from: '2019-04-10' },
      ],
      21: [
        { plan: 'ABC', to: '2019-04-05' },
        { plan: 'MIN_MAX', from: '2019-04-05' },
      ],
    }
    const found = adjust({ cycle: april, discounts: [discount], lines, subscribers })
    expect(found.map(({ sid }) => sid)).toEqual([19, 20, 21])
    expect(amountsOf(found)).toEqual([-100, -16.666564, -83.333325])
    expect(found[0]?.uncappedAmount).toBeUndefined()
    expect(found[2]?.uncappedAmount?.toNumber()).toBeCloseTo(-86.666667, 6)
  })

  it('29, 33: on monthly fees need something to pay', () => {
    const discounts = [{ ...monetary, key: 'FEES', subject: { monthly_fees: { value: 100 } } }]
    const run = { cycle: april, discounts, lines: [line({ name: 'P' })] }
    expect(amountsOf(adjust(run))).toEqual([-100])
    const lines = [line({ name: 'P', fullPrice: 0 }), line({ kind: 'service', name: 'S' })]
    const found = adjust({ ...run, lines })
    expect(found.map(({ eligibleLine }) => eligibleLine)).toEqual([lines[1]?.id])
    expect(amountsOf(found)).toEqual([-100])
  })

  it.each([
    ['monetary', 10, 100, -100],
    ['monetary', 10, 95, -90],
    ['percentage', 0.1, 95, -900],
    ['monetary', 10, 9, undefined],
  ])('41: of a %s value %d for every 10 units, of %d', (type, value, quantity, expected) => {
    const operations = [
      { name: 'recurring_by_quantity', params: [{ name: 'quantity', value: 10 }] },
    ]
    const discounts = [{ key: 'Q', type, subject: { service: { S: { value, operations } } } }]
    const lines = [line({ kind: 'service', name: 'S', fullPrice: 100, quantity })]
    expect(amountsOf(adjust({ cycle: april, discounts, lines }))[0]).toBe(expected)
  })

  it('48: sequential ones take what is left', () => {
    const discounts = sequential([0.25], [0.2], [0.5])
    const found = adjust({ cycle: april, discounts, lines: [line({ name: 'P' })] })
    expect(amountsOf(found)).toEqual([-25, -15, -30])
  })

  it('50: what an earlier one took is the same on each of its days', () => {
    const discounts = sequential(
      [0.1, '2019-04-12', '2019-04-30'],
      [0.2, '2019-04-10', '2019-04-21'],
      [0.3, '2019-04-01', '2019-04-16'],
    )
    const found = adjust({
      cycle: april,
      discounts,
      lines: [line({ name: 'P', fullPrice: 300 })],
    })
    expect(amountsOf(found)).toEqual([-18, -20.2, -40.494545])
  })

  it('56, 57: monetary ones are never sequential', () => {
    const money = (value: number) => ({
      ...monetary,
      key: 'MONEY',
      priority: 20,
      subject: { plan: { P: { value, sequential: true } } },
    })
    const run = { cycle: april, lines: [line({ name: 'P' })] }
    expect(amountsOf(adjust({ ...run, discounts: [money(30)] }))).toEqual([-30])
    const discounts = [money(25), ...sequential([0.2], [0.5])]
    expect(amountsOf(adjust({ ...run, discounts }))).toEqual([-25, -15, -30])
  })

  it.each([50, 60])('59, 62: nothing is left after 50 %% and %d', (value) => {
    const subject = (amount: number) => ({ plan: { P: { value: amount } } })
    const discounts = [
      { ...percentage, key: 'HALF', priority: 3, subject: subject(0.5) },
      { ...monetary, key: 'MONEY', priority: 2, subject: subject(value) },
      { ...monetary, key: 'LAST', priority: 1, subject: subject(10) },
    ]
    const found = adjust({ cycle: april, discounts, lines: [line({ name: 'P' })] })
    expect(amountsOf(found)).toEqual([-50, -50])
    expect(found.at(-1)?.uncappedAmount?.toNumber()).toBe(value === 60 ? -60 : undefined)
  })

  it('64: each for its days', () => {
    const discounts = [
      {
        ...monetary,
        key: 'FIRST',
        to: '2019-04-16',
        priority: 2,
        subject: { plan: { P: { value: 50 } } },
      },
      {
        ...percentage,
        key: 'SECOND',
        from: '2019-04-16',
        subject: { plan: { P: { value: 0.5 } } },
      },
    ]
    const found = adjust({ cycle: april, discounts, lines: [line({ name: 'P' })] })
    expect(amountsOf(found)).toEqual([-25, -25])
  })

  it('66: is of the price of a whole cycle, by the days of the charge', () => {
    const december = cycleOf('202101')
    const lines = [
      chargeOf(december, { name: 'P', to: '2020-12-10' }),
      chargeOf(december, { name: 'P', from: '2020-12-10', fullPrice: 200 }),
    ]
    const discounts = [{ ...percentage, key: 'D', subject: { plan: { P: { value: 0.2 } } } }]
    const found = adjust({ cycle: december, discounts, lines })
    expect(amountsOf(found)).toEqual([-5.806452, -28.387097])
  })

  it.each([
    ['70: 1 subscriber', 100, [1], [-10, -10]],
    ['71: 2 subscribers', 100, [1, 2], [-10, -10, -10]],
    ['73: 2 subscribers', 20, [1, 2], [-10, -10]],
    ['74: 2 subscribers', 25, [1, 2], [-10, -10, -5]],
  ] as const)('%s of an account with a service for %d', (_, fullPrice, sids, expected) => {
    const discount = {
      ...monetary,
      key: 'D',
      params: { conditions: [onAccount({ field: 'aid', op: 'eq', value: 1 })] },
      subject: { customer_service: { A: { value: 10 } }, monthly_fees: { value: 3 } },
    }
    const lines = [line({ sid: 0, kind: 'service', name: 'A', fullPrice })]
    const subscribers = Object.fromEntries(sids.map((sid) => [sid, [{ plan: 'P' }]]))
    const found = adjust({ cycle: april, discounts: [discount], lines, subscribers })
    expect(amountsOf(found)).toEqual(expected)
    expect(found.map(({ causeSid }) => causeSid)).toEqual([0, ...sids].slice(0, expected.length))
  })

  it('80: has as many lines as it may have', () => {
    const lines = [line({ sid: 1, name: 'P' }), line({ sid: 2, name: 'P' })]
    const discount = { ...monetary, key: 'D', subject: { plan: { P: { value: 10 } } } }
    const found = (limit: unknown) =>
      amountsOf(
        adjust({ cycle: april, discounts: [{ ...discount, simultaneous_limit: limit }], lines }),
      )
    expect(found(1)).toEqual([-10])
    expect(found('1')).toEqual([-10])
    expect(found(0)).toEqual([])
    expect(found(-1)).toEqual([-10, -10])
    expect(found('')).toEqual([-10, -10])
    expect(found(undefined)).toEqual([-10, -10])
  })

  it.each([
    ['6', { field: 'street', op: 'eq', value: 'abc' }, { street: 'abc' }, true],
    ['6', { field: 'street', op: 'eq', value: 'abc' }, { street: 'z' }, false],
    ['7', { field: 'street', op: 'ne', value: 'z' }, { street: 'abc' }, true],
    ['7', { field: 'street', op: '$ne', value: 'z' }, {}, true],
    ['7', { field: 'street', op: 'ne', value: 'z' }, { street: 'z' }, false],
    ['8', { field: 'street', op: 'regex', value: 'z' }, { street: 'az' }, true],
    ['8', { field: 'street', op: 'regex', value: '/^z$/' }, { street: 'az' }, false],
  ])('%s: is for accounts whose %j is %j: %s', (_, condition, account, isMet) => {
    const discount = {
      ...percentage,
      key: 'D',
      params: { conditions: [onAccount(condition)] },
      subject: { monthly_fees: { value: 0.1 } },
    }
    const lines = [line({ name: 'P' })]
    const found = adjust({ cycle: april, discounts: [discount], lines, account: [account] })
    expect(amountsOf(found)).toEqual(isMet ? [-10] : [])
  })
})
