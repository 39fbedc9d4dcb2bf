/**
 * Published totals of accounts, with 17 % VAT, within 1e-6. They are sums of binary numbers: that
 * of 58 differs by 9e-7, those of 42734 and 42736 depend on a price with ten decimals and are
 * compared with 5e-6. 42737 and 42738 are whole cycles, and exact.
 */
import { describe, expect, it } from 'vitest'
import {
  adjustment,
  compute,
  date,
  isClose,
  offer,
  ofPlan,
  ofService,
  subscribed,
  subscriber,
  totals,
} from '../../support/billing/account-cycle.ts'

const A = offer('PLAN_A', 100)
const B = offer('PLAN_B', 100, {
  prorated_start: false,
  prorated_end: false,
  prorated_termination: false,
})
const F = offer('PLAN_F', 100)
const SINCE = '2017-01-01'

describe('a published total', () => {
  const TT = adjustment('TT', {
    params: ofPlan('PLAN_A'),
    subject: { plan: { PLAN_A: { value: 0.1 } } },
  })

  it('7: two subscribers, one with a discount of 10 %', () => {
    const subscribers = [
      subscriber('PLAN_A', { from: SINCE }, { sid: 2 }),
      subscriber('PLAN_B', { from: SINCE }, { sid: 3 }),
    ]
    const { invoice } = compute({ key: '201805', plans: [A, B], discounts: [TT], subscribers })
    const of = invoice.subs.map(({ totals: own }) => [own.before_vat, own.after_vat])
    expect(of).toEqual([
      [90, 105.3],
      [100, 117],
    ])
  })

  it('11: a plan until 05-15', () => {
    const subscribers = [subscriber('PLAN_F', { from: '2018-05-01', to: '2018-05-15' })]
    isClose(totals({ key: '201806', plans: [F], subscribers }), 45.16129032, 52.83870968)
  })

  it('13: a plan with an included service', () => {
    const plans = [offer('PLAN_D', 100, { include: { services: ['SERVICE_A'] } })]
    const services = [offer('SERVICE_A', 100)]
    const subscribers = [subscriber('PLAN_D', { from: SINCE })]
    isClose(totals({ key: '201806', plans, services, subscribers }), 200, 234)
  })

  it('16: four plans with services that are charged once', () => {
    const periods = { DAY: '+1 day', YEAR: '+1 year', MONTH: '+1 month', WEEK: '+1 week' }
    const services = Object.entries(periods).map(([name, balance_period]) =>
      offer(name, name === 'YEAR' ? 100 : 10, { balance_period, prorated: false }),
    )
    const subscribers = services.map(({ name }, index) =>
      subscriber(
        'PLAN_B',
        { from: SINCE },
        { sid: index + 2, services: [{ name, from: date('2018-05-10') }] },
      ),
    )
    isClose(totals({ key: '201806', plans: [B], services, subscribers }), 530, 620.1)
  })

  it('28: a quantity of 2, only in the first cycle', () => {
    const services = [offer('IPHONEX', [[0, 1, 1000]], { prorated: false, quantitative: true })]
    const held = [{ name: 'IPHONEX', from: date('2018-06-14'), quantity: 2 }]
    const subscribers = [subscriber('PLAN_B', { from: SINCE }, { services: held })]
    isClose(totals({ key: '201807', plans: [B], services, subscribers }), 2100, 2457)
  })

  it.each([
    ['36', '201807', 200, 234],
    ['37', '201808', 100, 117],
  ])('%s: a service for one cycle, %s', (_, key, before, after) => {
    const services = [offer('S', [[0, 1, 100]], { prorated: false })]
    const held = [{ name: 'S', from: date('2018-06-01') }]
    const subscribers = [subscriber('PLAN_B', { from: SINCE }, { services: held })]
    isClose(totals({ key, plans: [B], services, subscribers }), before, after)
  })

  it('40: a service of a subscriber that ends on 03-06', () => {
    const services = [offer('SERVICE_B', 100)]
    const held = [{ name: 'SERVICE_B', from: date('2019-01-01') }]
    const subscribers = [subscriber('FREE', { from: SINCE, to: '2019-03-06' }, { services: held })]
    const [, after] = totals({ key: '201904', plans: [offer('FREE', 0)], services, subscribers })
    expect(after).toBeCloseTo(18.870967742, 6)
  })

  it.each([
    ['48', 'TTF', '2020-03-10', undefined, 63.87096774, 74.72903226],
    ['50', 'TFF', '2020-03-10', undefined, 63.87096774, 74.72903226],
    ['52', 'TTT', '2020-03-10', undefined, 63.87096774, 74.72903226],
    ['54', 'TTF', '2020-03-10', '2020-03-21', 63.87096774, 74.72903226],
    ['56', 'TFF', '2020-03-10', '2020-03-21', 63.87096774, 74.72903226],
    ['58', 'TTT', '2020-03-10', '2020-03-20 23:00:00', 31.935483864, 37.36451703],
  ])(
    '%s: %s from %s to %s with an inherited discount of 10',
    (_, name, from, to, before, after) => {
      const [start, end, termination] = [...name].map((letter) => letter === 'T')
      const plans = [
        offer(name, 100, {
          prorated_start: start,
          prorated_end: end,
          prorated_termination: termination,
        }),
      ]
      const discounts = [
        adjustment('D', {
          type: 'monetary',
          proration: 'inherited',
          params: ofPlan(name),
          subject: { plan: { [name]: { value: 10 } } },
        }),
      ]
      const subscribers = subscribed(name, from, to)
      isClose(totals({ key: '202004', plans, discounts, subscribers }), before, after)
    },
  )

  it('66: a plan until 07-31', () => {
    const subscribers = [subscriber('TTT2', { from: '2020-07-01', to: '2020-07-31' })]
    isClose(
      totals({ key: '202008', plans: [offer('TTT2', 100)], subscribers }),
      96.774193548,
      113.225806452,
    )
  })

  it('72: services that give 20 % of the plan while they are held', () => {
    const held = [
      { name: 'ABCD', from: date('2020-12-01'), to: date('2021-01-15 16:16:00') },
      { name: 'EFG', from: date('2020-12-01'), to: date('2021-01-17 16:16:00') },
    ]
    const discounts = held.map(({ name }) =>
      adjustment(`OF_${name}`, {
        params: ofService(name),
        subject: { plan: { AZ: { value: 0.2 } } },
      }),
    )
    const given = {
      key: '202102',
      plans: [offer('AZ', 100)],
      services: [offer('ABCD', 100), offer('EFG', 100)],
      discounts,
      subscribers: [subscriber('AZ', { from: SINCE }, { services: held })],
    }
    isClose(totals(given), 182.5806452, 213.61935484)
  })

  it.each([
    ['42741', '202403', 200, 234],
    ['42742', '202406', 300, 351],
    ['42743', '202408', 0, 0],
  ])('%s: three tiers in %s', (_, key, before, after) => {
    const services = [
      offer('S', [
        [0, 2, 100],
        [2, 5, 200],
        [5, 7, 300],
      ]),
    ]
    const held = [{ name: 'S', from: date('2023-12-01') }]
    const subscribers = [subscriber('FREE', { from: '2023-12-01' }, { services: held })]
    isClose(totals({ key, plans: [offer('FREE', 0)], services, subscribers }), before, after)
  })

  it.each([
    ['42737', '202401', 100, 117],
    ['42738', '202411', 200, 234],
  ])('%s: one service, its first or second tier in %s', (_, key, before, after) => {
    const services = [
      offer('S', [
        [0, 10, 100],
        [10, null, 200],
      ]),
    ]
    const held = [{ name: 'S', from: date('2023-12-01') }]
    const subscribers = [subscriber('FREE', { from: '2023-12-01' }, { services: held })]
    const found = totals({ key, plans: [offer('FREE', 0)], services, subscribers })
    expect(found).toEqual([before, after])
  })

  it('94: a conditional charge of 50 for each of two subscribers', () => {
    const charges = [
      adjustment('FEE', {
        type: 'monetary',
        params: ofPlan('PLAN_A'),
        subject: { general: { value: 50 } },
      }),
    ]
    const subscribers = [2, 3].map((sid) => subscriber('PLAN_A', { from: SINCE }, { sid }))
    isClose(totals({ key: '202106', plans: [A], charges, subscribers }), 300, 351)
  })

  it('183: a service with a discount of 95 %', () => {
    const discounts = [
      adjustment('D', { params: ofService('S'), subject: { service: { S: { value: 0.95 } } } }),
    ]
    const subscribers = [
      subscriber('FREE', { from: SINCE }, { services: [{ name: 'S', from: date('2020-01-01') }] }),
    ]
    isClose(
      totals({
        key: '202108',
        plans: [offer('FREE', 0)],
        services: [offer('S', 100)],
        discounts,
        subscribers,
      }),
      5,
      5.85,
    )
  })

  // The published price has ten decimals, the published total eight.
  it.each([
    ['42734', '2023-10-31 02:00:00', 0, 0],
    ['42736', '2023-10-30 02:00:00', 0.82437276, 0.96451613],
  ])('%s: free until %s, over a change of the clocks', (_, to, before, after) => {
    const discounts = [
      adjustment('FREE', {
        from: date('2023-09-30'),
        to: date(to),
        params: ofPlan('P'),
        subject: { plan: { P: { value: 1 } } },
      }),
    ]
    const subscribers = subscribed('P', '2023-09-30')
    const found = totals({
      key: '202311',
      plans: [offer('P', 25.55555556)],
      discounts,
      subscribers,
    })
    expect(found[0]).toBeCloseTo(before, 5)
    expect(found[1]).toBeCloseTo(after, 5)
  })

  it('42776: a price of 12.59 that is not prorated', () => {
    const plans = [
      offer('P', 12.59, {
        prorated_start: false,
        prorated_end: false,
        prorated_termination: false,
      }),
    ]
    isClose(
      totals({ key: '202510', plans, subscribers: subscribed('P', '2025-09-13') }),
      12.59,
      14.7303,
    )
  })
})
