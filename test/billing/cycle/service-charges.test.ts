import { describe, expect, it } from 'vitest'
import { CycleError } from '../../../src/billing/cycle/input.ts'
import {
  date,
  expected,
  type Given,
  offer,
  shown,
  subscribed,
  subscriber,
  total,
} from '../../support/billing/account-cycle.ts'

const PLAN = offer('PLAN', 100)

describe('services', () => {
  const held = (services: readonly object[], more = {}) => [
    subscriber('PLAN', { from: '2020-01-01' }, { services, ...more }),
  ]
  const FREE = offer('PLAN', 0)
  /** Charges of a free plan with a service at 31. */
  const chargesOf = (key: string, entries: readonly object[]) =>
    expected({ key, plans: [FREE], services: [offer('S', 31)], subscribers: held(entries) })

  it.each([
    ['2020-03-11', undefined, 21],
    ['2020-03-11', '2020-03-21', 10],
    ['2020-03-11', '2020-03-21 10:00:00', 11],
    ['2019-01-01', undefined, 31],
  ])('from %s to %s: %i days of 31', (from, to, days) => {
    const entry = { name: 'S', from: date(from), ...(to !== undefined && { to: date(to) }) }
    const lines = chargesOf('202004', [entry])
    expect(total(lines)).toBeCloseTo(days, 9)
    expect(lines[1]).toMatchObject({ kind: 'service', name: 'S', plan: 'PLAN' })
  })

  it.each([
    ['2024-11-30', '2024-12-01', false],
    ['2024-11-30', '2024-12-02', true],
    ['2024-11-29', '2024-11-30', false],
    ['2024-11-30', undefined, true],
    ['2025-01-01', undefined, false],
    ['2025-01-02', undefined, false],
  ])('from %s to %s in the cycle of December 2024: %s', (from, to, isCharged) => {
    const entry = { name: 'S', from: date(from), ...(to !== undefined && { to: date(to) }) }
    const lines = chargesOf('202501', [entry])
    expect(lines.length).toBe(isCharged ? 2 : 1)
  })

  it('are charged once if they have a period of their own', () => {
    const periods = ['+1 day', '+1 year', '+1 month', '+1 week']
    const services = periods.map((period, index) =>
      offer(`S${index}`, index === 1 ? 100 : 10, { balance_period: period }),
    )
    const entries = services.map(({ name }) => ({ name, from: date('2018-05-20 10:00:00') }))
    const given = {
      plans: [offer('PLAN', 400)],
      services,
      subscribers: held(entries).map((each) => ({
        ...each,
        from: date('2018-01-01'),
        activation_date: date('2018-01-01'),
      })),
    }
    expect(total(expected({ ...given, key: '201806' }))).toBe(530)
    expect(total(expected({ ...given, key: '201807' }))).toBe(400)
  })

  it('multiply the price by the quantity only if they are quantitative', () => {
    const entry = { name: 'S', from: date('2020-01-01'), quantity: 3 }
    const of = (quantitative: boolean) =>
      total(
        expected({
          key: '202004',
          plans: [FREE],
          services: [offer('S', 10, { quantitative })],
          subscribers: held([entry]),
        }),
      )
    expect(of(true)).toBe(30)
    expect(of(false)).toBe(10)
  })

  it('that a plan includes begin and end with it', () => {
    const plans = [offer('PLAN', 100, { include: { services: ['S'] } })]
    const given: Given = {
      key: '202004',
      plans,
      services: [offer('S', 100)],
      subscribers: subscribed('PLAN', '2020-03-11'),
    }
    expect(total(expected(given))).toBeCloseTo((200 * 21) / 31, 9)
    const settings = { chargeIncludedServices: false }
    expect(total(expected({ ...given, settings }))).toBeCloseTo((100 * 21) / 31, 9)
  })

  it('of the account are charged to subscriber 0', () => {
    const account = { services: [{ name: 'S', from: date('2020-03-11') }] }
    const lines = expected({ key: '202004', services: [offer('S', 31)], account })
    expect(lines).toHaveLength(1)
    expect(lines[0]).toMatchObject({ sid: 0, plan: '', name: 'S' })
    expect(total(lines)).toBe(21)
  })

  it('end after `limit_cycles`', () => {
    const service = offer('S', 31, { limit_cycles: 1 })
    const given = {
      plans: [FREE],
      services: [service],
      subscribers: held([{ name: 'S', from: date('2020-02-11') }]),
    }
    expect(total(expected({ ...given, key: '202004' }))).toBeCloseTo(10, 9)
    expect(total(expected({ ...given, key: '202005' }))).toBe(0)
  })

  it('with different ids are charged separately, those with one id once per day', () => {
    const entry = { name: 'S', from: date('2020-01-01') }
    const entries = [{ ...entry, service_id: 1 }, { ...entry, service_id: 2 }, entry, entry]
    const lines = chargesOf('202004', entries)
    expect(lines.map(({ serviceId }) => serviceId)).toEqual([undefined, '1', '2', undefined, '#2'])
    const again = [
      { ...entry, service_id: 1, to: date('2020-03-10 10:00:00') },
      { ...entry, service_id: 1, from: date('2020-03-10 10:00:00') },
    ]
    const parts = chargesOf('202004', again)
    expect(total(parts)).toBeCloseTo(31, 9)
  })
})

describe('a price that changes within the cycle', () => {
  const revisions = (price_change?: string) => [
    offer('PLAN', 31, { to: date('2020-03-11'), _id: 'one' }),
    offer('PLAN', 62, {
      from: date('2020-03-11'),
      _id: 'two',
      ...(price_change && { price_change }),
    }),
  ]

  it('is the one at the end of the charged period', () => {
    const subscribers = subscribed('PLAN', '2020-01-01')
    const lines = expected({ key: '202004', plans: revisions(), subscribers })
    expect(shown(lines)).toEqual([['PLAN', 62, '2020-03-01 2020-04-01 1']])
    const ended = subscribed('PLAN', '2020-01-01', '2020-03-09')
    expect(shown(expected({ key: '202004', plans: revisions(), subscribers: ended }))).toEqual([
      ['PLAN', 8, '2020-03-01 2020-03-09 8/31'],
    ])
  })

  it('splits the period with `by_day`', () => {
    const subscribers = subscribed('PLAN', '2020-01-01')
    const lines = expected({ key: '202004', plans: revisions('by_day'), subscribers })
    expect(shown(lines)).toEqual([
      ['PLAN', 10, '2020-03-01 2020-03-11 10/31'],
      ['PLAN', 42, '2020-03-11 2020-04-01 21/31'],
    ])
    expect(lines.map(({ explain }) => explain.entity.revision)).toEqual(['one.0', 'two.0'])
  })
})

describe('overrides', () => {
  const price = (amount: number) => ({ price: [{ from: 0, to: 'UNLIMITED', price: amount }] })
  const inGroup = (value: string) => {
    const condition = { field: 'group', op: 'eq', value }
    return { type: 'plan', key: 'PLAN', condition, value: price(5) }
  }
  const of = (overrides: readonly object[], account: readonly object[] = []) => {
    const entry = { name: 'S', from: date('2020-01-01') }
    const services = [1, 2].map((service_id) => ({ ...entry, service_id }))
    return expected({
      key: '202004',
      plans: [offer('PLAN', 100, { group: 'A' })],
      services: [offer('S', 10)],
      subscribers: [subscriber('PLAN', { from: '2020-01-01' }, { overrides, services })],
      account: { overrides: account },
    }).map(({ amount }) => amount.toNumber())
  }

  it.each([
    [[], [100, 10, 10]],
    [[{ type: 'plan', key: 'PLAN', value: price(50) }], [50, 10, 10]],
    [[{ type: 'plan', key: 'OTHER', value: price(50) }], [100, 10, 10]],
    [[{ type: 'service', key: 'S', value: price(5) }], [100, 5, 5]],
    [[{ type: 'service', key: 'S', id: '2', value: price(5) }], [100, 10, 5]],
    [[inGroup('A')], [5, 10, 10]],
    [[inGroup('B')], [100, 10, 10]],
    [[{ type: 'discount', key: 'PLAN', value: { limit: 5 } }], [100, 10, 10]],
  ])('%j: %j', (overrides, amounts) => {
    expect(of(overrides)).toEqual(amounts)
  })

  it('of the subscriber replace those of the account', () => {
    const own = { type: 'plan', key: 'PLAN', value: price(50) }
    const account = { type: 'plan', key: 'PLAN', value: price(70) }
    expect(of([own], [account])[0]).toBe(50)
    expect(of([], [account])[0]).toBe(70)
  })

  it('replace the price for a number of cycles', () => {
    const value = {
      price: [
        { from: 0, to: 3, price: 1 },
        { from: 3, to: 'UNLIMITED', price: 2 },
      ],
    }
    expect(of([{ type: 'plan', key: 'PLAN', value }])[0]).toBe(1)
  })
})

describe('an account cannot be computed if', () => {
  const failing = (given: Partial<Given>) => () =>
    expected({
      key: '202004',
      plans: [PLAN],
      subscribers: subscribed('PLAN', '2020-01-01'),
      ...given,
    })

  it.each([
    ['a plan is missing', { plans: [] }, 'account 1: plan PLAN: does not exist'],
    [
      'a plan has ended',
      { plans: [offer('PLAN', 1, { to: date('2020-02-01') })] },
      'account 1: plan PLAN: has no revision in force since 2020-02-01, but is held',
    ],
    [
      'a price is invalid',
      { plans: [offer('PLAN', 1, { price: [{ from: 0, to: 'UNLIMITED', price: 'much' }] })] },
      'account 1: plan PLAN: price.0.price must be a number or decimal text',
    ],
    [
      'an included service is missing',
      { plans: [offer('PLAN', 1, { include: { services: ['S'] } })] },
      'account 1: service S: does not exist',
    ],
  ])('%s', (_, given, message) => {
    expect(failing(given)).toThrow(CycleError)
    expect(failing(given)).toThrow(message)
  })
})
