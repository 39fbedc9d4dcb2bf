/**
 * Published totals of cycles with discounts, conditional charges and rounding. Amounts are compared
 * with 1e-6: the published ones are binary.
 */
import { describe, expect, it } from 'vitest'
import type { Fields } from '../../../../src/domain/fields.ts'
import {
  adjust,
  amountsOf,
  chargeOf,
  cycleOf,
  onAccount,
  onPlan,
  taxed,
  totalsOf,
} from '../../../support/billing/cycle.ts'

const onService = (name: string): Fields => ({
  subscriber: [{ service: { any: [{ fields: [{ field: 'name', op: 'in', value: [name] }] }] } }],
})

describe('a service that is free for 3 cycles', () => {
  const PRICE = '63.1383472609'
  const FREE = {
    key: 'FREE',
    priority: 2,
    params: { cycles: 3, conditions: [onService('S')] },
    subject: { matched_services: { value: 1 } },
    excludes: ['PART'],
  }
  const PART = {
    key: 'PART',
    priority: 1,
    params: { conditions: [onService('S')] },
    subject: { service: { S: { value: 0.14 } } },
  }

  it.each([
    ['77', '202104', '2020-12-01', [FREE], 63.138347, 73.871866],
    ['80', '202101', '2020-12-02', [FREE], 2.036721, 2.382963],
    ['81', '202104', '2020-12-02', [FREE], 61.101626, 71.488903],
    ['87', '202104', '2020-12-02', [PART, FREE], 52.547399, 61.480456],
  ])('%s: in cycle %s, from %s', (_, key, from, discounts, before, after) => {
    const cycle = cycleOf(key)
    const lines = [chargeOf(cycle, { kind: 'service', name: 'S', fullPrice: PRICE })]
    const services = [{ name: 'S', from: new Date(`${from}T00:00:00Z`) }]
    const subscribers = { 1: [{ plan: 'P', services }] }
    const run = { cycle, discounts, lines, subscribers }
    expect(totalsOf(taxed(run))).toEqual({ before, after })
  })
})

it('72: each of two services gives 20 % of a plan while it is held', () => {
  const cycle = cycleOf('202102')
  const held = { ABCD: '2021-01-15 16:16:00', EFG: '2021-01-17 16:16:00' }
  const discounts = Object.keys(held).map((name) => ({
    key: `OF_${name}`,
    params: { conditions: [onService(name)] },
    subject: { plan: { AZ: { value: 0.2 } } },
  }))
  const services = Object.entries(held).map(([name, to]) => ({ name, from: '2020-01-01', to }))
  const lines = [
    chargeOf(cycle, { name: 'AZ' }),
    ...Object.entries(held).map(([name, to]) => chargeOf(cycle, { kind: 'service', name, to })),
  ]
  const run = { cycle, discounts, lines, subscribers: { 1: [{ plan: 'AZ', services }] } }
  expect(totalsOf(taxed(run))).toEqual({ before: 182.580645, after: 213.619355 })
})

it('94: a monetary charge for each subscriber', () => {
  const cycle = cycleOf('202106')
  const lines = [1, 2].map((sid) => chargeOf(cycle, { sid, name: 'P' }))
  const charge = {
    key: 'C',
    type: 'monetary',
    params: { conditions: [onPlan('P')] },
    subject: { general: { value: 50 } },
  }
  const subscribers = { 1: [{ plan: 'P' }], 2: [{ plan: 'P' }], 3: [{ plan: 'Q' }] }
  const run = { cycle, charges: [charge], lines, subscribers }
  expect(totalsOf(taxed(run))).toEqual({ before: 300, after: 351 })
  expect(adjust(run).map(({ sid, amount }) => [sid, amount.toNumber()])).toEqual([
    [1, 50],
    [2, 50],
  ])
  const params = { conditions: [onAccount({ field: 'aid', op: 'eq', value: 1 })] }
  const once = adjust({ ...run, charges: [{ ...charge, params }] })
  expect(once.map(({ sid, amount }) => [sid, amount.toNumber()])).toEqual([[0, 50]])
})

it('183: 95 % of a service', () => {
  const cycle = cycleOf('202108')
  const lines = [chargeOf(cycle, { kind: 'service', name: 'S' })]
  const discounts = [{ key: 'D', subject: { service: { S: { value: '0.95' } } } }]
  expect(totalsOf(taxed({ cycle, discounts, lines }))).toEqual({ before: 5, after: 5.85 })
})

describe('a free trial over a change to standard time', () => {
  const cycle = cycleOf('202311', 'Europe/Berlin')
  const PRICE = '25.55555556'
  const discounts = [
    {
      key: 'TRIAL',
      from: '2023-09-30',
      to: '2023-10-30 02:00:00',
      subject: { service: { S: { value: 1 } } },
    },
  ]

  it.each([
    ['42734', '2023-10-30 02:00:00', 0, 0],
    ['42736', undefined, 0.824373, 0.964516],
  ])('%s: until %s', (_, to, before, after) => {
    const lines = [
      chargeOf(cycle, { kind: 'service', name: 'S', fullPrice: PRICE, ...(to && { to }) }),
    ]
    expect(totalsOf(taxed({ cycle, discounts, lines }))).toEqual({ before, after })
  })
})

describe('overrides of a discount', () => {
  const cycle = cycleOf('202206')
  const lines = [chargeOf(cycle, { name: 'P' })]
  const general = {
    key: 'D',
    type: 'monetary',
    params: { conditions: [onPlan('P')] },
    subject: { plan: { P: { value: 100 } } },
  }
  const FALSE = { conditions: [onAccount({ field: 'aid', op: 'nin', value: [1] })] }
  const override = (value: Fields, more: Fields = {}) => ({
    overrides: [{ type: 'discount', key: 'D', value, ...more }],
  })
  const subject = (value: number) => ({ subject: { plan: { P: { value } } } })
  const found = (...revisions: Fields[]) => {
    const subscribers = { 1: revisions.map((one) => ({ plan: 'P', ...one })) }
    return adjust({ cycle, discounts: [general], lines, subscribers })
  }

  it('42757: the last revision counts for the whole cycle', () => {
    const adjusted = found(
      { to: '2022-05-16', ...override(subject(10)) },
      { from: '2022-05-16', ...override(subject(20)) },
    )
    expect(amountsOf(adjusted)).toEqual([-20])
    expect(adjusted[0]?.key).toBe('SUBSCRIBER_DISCOUNT_D_SID_1')
  })

  it('42759: whose conditions are not met, take the discount away', () => {
    expect(found(override({ ...subject(10), params: FALSE }))).toEqual([])
  })

  it('do not apply if the discount does not meet their condition', () => {
    const condition = { field: 'type', op: 'eq', value: 'percentage' }
    expect(amountsOf(found(override(subject(10), { condition })))).toEqual([-100])
  })

  it('of the account are for all subscribers, and those of a subscriber come after', () => {
    const account = [override(subject(30))]
    const two = [1, 2].map((sid) => chargeOf(cycle, { sid, name: 'P' }))
    const own = override({ type: 'percentage', ...subject(0.5) })
    const subscribers = { 1: [{ plan: 'P' }], 2: [{ plan: 'P', ...own }] }
    const all = adjust({ cycle, discounts: [general], lines: two, account, subscribers })
    expect(all.map(({ sid, key, amount }) => [sid, key, amount.toNumber()])).toEqual([
      [1, 'D', -30],
      [2, 'SUBSCRIBER_DISCOUNT_D_SID_2', -50],
    ])
  })

  it('42767: a subscriber has it whatever its conditions', () => {
    const discounts = [{ ...general, params: FALSE }]
    const subscribers = { 1: [{ plan: 'P', discounts: [{ key: 'D' }] }] }
    const run = { cycle, discounts, lines, subscribers }
    expect(totalsOf(taxed(run))).toEqual({ before: 0, after: 0 })
    const half = [{ plan: 'P', to: '2022-05-11', discounts: [{ key: 'D' }] }]
    expect(amountsOf(adjust({ ...run, subscribers: { 1: half } }))).toEqual([-32.258065])
  })

  it('a subscriber has definitions of its own', () => {
    const own = { key: 'OWN', type: 'monetary', excludes: ['D'], priority: 5, ...subject(7) }
    const adjusted = found({ discounts: [own] })
    expect(adjusted.map(({ key }) => key)).toEqual(['SUBSCRIBER_DISCOUNT_OWN_SID_1'])
    expect(amountsOf(adjusted)).toEqual([-7])
    const replaced = found({ discounts: [{ ...general, ...subject(8) }] })
    expect(amountsOf(replaced)).toEqual([-8])
  })
})

describe('the rounding of a plan, 10 of 29 days', () => {
  const cycle = cycleOf('202403')

  it.each([
    ['42746', 'down', 2, 'monetary', 10, 40.34, undefined, 36.31],
    ['42748', 'nearest', 2, 'monetary', 10, 40.34, undefined, 36.31],
    ['42750', 'up', 2, 'percentage', 1, 40.35, 34.48717948718, 0],
    ['42752', 'down', 3, 'percentage', 1, 40.344, 34.482051282, 0],
    ['42754', 'nearest', 3, 'percentage', 1, 40.345, 34.482905983, 0],
  ] as const)(
    '%s: %s to %d decimals, %s %d',
    (_, mode, decimals, type, value, charge, price, total) => {
      const entity = { rounding_rules: { rounding_type: mode, rounding_decimals: decimals } }
      const lines = [chargeOf(cycle, { name: 'P', from: '2024-02-20', entity })]
      const discounts = [{ key: 'D', type, subject: { plan: { P: { value } } } }]
      const run = taxed({ cycle, discounts, lines })
      const [plan] = run.charges
      expect(plan?.tax.final_charge).toBe(charge)
      if (price !== undefined) expect(plan?.tax.aprice).toBeCloseTo(price, 9)
      expect(totalsOf(run).after).toBe(total)
      if (total === 0) expect(totalsOf(run).before).toBe(0)
      else expect(totalsOf(run).before).toBeCloseTo(31.034188, 6)
    },
  )
})
