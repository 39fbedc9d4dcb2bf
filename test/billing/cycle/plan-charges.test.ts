import { describe, expect, it } from 'vitest'
import {
  CALENDAR,
  charged,
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

/** Plan with switches of start, end and termination: T or F each. */
function switched(name: string) {
  const [start, end, termination] = [...name].map((letter) => letter === 'T')
  const switches = { prorated_start: start, prorated_end: end, prorated_termination: termination }
  return offer(name, 100, switches)
}

describe('a plan in arrears', () => {
  it.each([
    ['11: until 05-15', '201806', '2018-05-01', '2018-05-15', 14 / 31],
    ['until 05-15 16:16', '201806', '2018-05-01', '2018-05-15 16:16:00', 15 / 31],
    ['11: from 05-01 to the end of 05-14', '201806', '2018-05-01', '2018-05-15', 14 / 31],
    ['40: until 03-06', '201904', '2019-01-01', '2019-03-06', 5 / 31],
    ['58: until 03-20 23:00', '202004', '2020-03-10', '2020-03-20 23:00:00', 11 / 31],
    ['66: until 07-31', '202008', '2020-07-01', '2020-07-31', 30 / 31],
    ['a whole cycle', '202004', '2020-01-01', undefined, 1],
    ['the last day', '202004', '2020-03-31 23:59:59', undefined, 1 / 31],
    ['the whole cycle and no more', '202004', '2020-03-01', '2020-04-01', 1],
  ])('%s in %s', (_, key, from, to, factor) => {
    const lines = expected({ key, plans: [PLAN], subscribers: subscribed('PLAN', from, to) })
    expect(total(lines)).toBeCloseTo(100 * factor, 10)
    expect(lines).toHaveLength(1)
    expect(lines[0]).toMatchObject({ kind: 'flat', op: 'charge', isUpfront: false, plan: 'PLAN' })
  })

  it('is not charged in cycles without a day of it', () => {
    const given = { plans: [PLAN], subscribers: subscribed('PLAN', '2020-03-01', '2020-04-01') }
    expect(expected({ ...given, key: '202003' })).toEqual([])
    expect(expected({ ...given, key: '202005' })).toEqual([])
  })

  it.each([
    ['TTF', '2020-03-10', undefined, 22],
    ['TFF', '2020-03-10', undefined, 22],
    ['TTT', '2020-03-10', undefined, 22],
    ['TTF', '2020-03-10', '2020-03-21', 22],
    ['TFF', '2020-03-10', '2020-03-21', 22],
    ['TTT', '2020-03-10', '2020-03-21', 11],
    ['TFT', '2020-03-10', '2020-03-21', 11],
    ['FTT', '2020-03-10', '2020-03-21', 20],
    ['FFF', '2020-03-10', '2020-03-21', 31],
    ['FFF', '2020-03-10', undefined, 31],
    ['FTF', '2020-02-10', '2020-03-21', 31],
  ])('%s from %s until %s: %i days of 31', (name, from, to, days) => {
    const subscribers = subscribed(name, from, to)
    const lines = expected({ key: '202004', plans: [switched(name)], subscribers })
    expect(total(lines)).toBeCloseTo((100 * days) / 31, 9)
  })

  it.each([
    ['TTF', 13],
    ['TFT', 31],
    ['TFF', 31],
  ])('%s that is changed on 03-14: %i days of 31', (name, days) => {
    const ends = { to: date('2020-03-14'), deactivation_date: date('2170-01-01') }
    const lines = expected({
      key: '202004',
      plans: [switched(name), PLAN],
      subscribers: [
        subscriber(name, { from: '2020-01-01' }, ends),
        subscriber('PLAN', { from: '2020-03-14' }),
      ],
    })
    expect(total(lines.filter((line) => line.name === name))).toBeCloseTo((100 * days) / 31, 9)
    expect(total(lines.filter((line) => line.name === 'PLAN'))).toBeCloseTo(1800 / 31, 9)
  })

  it('that is changed within a day counts that day for both plans', () => {
    const lines = expected({
      key: '202511',
      plans: [PLAN, offer('OTHER', 31)],
      subscribers: [
        subscriber('PLAN', { from: '2025-01-01' }, { to: date('2025-10-29 17:39:00') }),
        subscriber('OTHER', { from: '2025-10-29 17:39:00' }),
      ],
    })
    expect(shown(lines)).toEqual([
      ['PLAN', 93.548387, '2025-10-01 2025-10-30 29/31'],
      ['OTHER', 3, '2025-10-29 2025-11-01 3/31'],
    ])
  })

  it('continues over revisions of the subscriber', () => {
    const lines = expected({
      key: '202004',
      plans: [PLAN],
      subscribers: [
        subscriber('PLAN', { from: '2020-01-01' }, { to: date('2020-03-10 12:00:00') }),
        subscriber(
          'PLAN',
          { from: '2020-03-10 12:00:00' },
          { plan_activation: date('2020-01-01') },
        ),
      ],
    })
    expect(shown(lines)).toEqual([['PLAN', 100, '2020-03-01 2020-04-01 1']])
  })

  it('that ends and begins within a day counts the day once', () => {
    const lines = expected({
      key: '202004',
      plans: [PLAN],
      subscribers: [
        subscriber('PLAN', { from: '2020-01-01', to: '2020-03-10 12:00:00' }),
        subscriber('PLAN', { from: '2020-03-10 18:00:00' }),
      ],
    })
    expect(shown(lines)).toEqual([
      ['PLAN', 32.258065, '2020-03-01 2020-03-11 10/31'],
      ['PLAN', 67.741935, '2020-03-11 2020-04-01 21/31'],
    ])
  })

  it.each([
    [1, '202404', 31],
    [10, '202405', 30],
    [28, '202403', 29],
  ])('costs the full price of a whole cycle from day %i (%s, %i days)', (cycleDay, key, days) => {
    const calendar = { ...CALENDAR, cycleDay }
    const lines = expected({
      key,
      calendar,
      plans: [PLAN],
      subscribers: subscribed('PLAN', '2020-01-01'),
    })
    expect(total(lines)).toBe(100)
    expect(lines[0]?.cycle.days).toBe(days)
  })

  it('from day 10 with fractions of calendar months', () => {
    const given: Given = {
      key: '202405',
      calendar: { ...CALENDAR, cycleDay: 10 },
      plans: [PLAN],
      subscribers: subscribed('PLAN', '2024-04-10'),
    }
    expect(total(expected(given))).toBe(100)
    const byMonth = expected({ ...given, settings: { calendarMonthFractions: true } })
    expect(total(byMonth)).toBeCloseTo(100 * (21 / 30 + 9 / 31), 9)
  })
})

describe('a price by months since the activation', () => {
  const tiers = offer('TIERS', [
    [0, 2, 100],
    [2, 5, 200],
    [5, 7, 300],
  ])
  it.each([
    ['202403', [200]],
    ['202406', [300]],
    ['202408', []],
  ])('in %s', (key, amounts) => {
    const lines = expected({ key, plans: [tiers], subscribers: subscribed('TIERS', '2023-12-01') })
    expect(lines.map(({ amount }) => amount.toNumber())).toEqual(amounts)
  })

  it('has a line per tier in the month between them', () => {
    const lines = expected({
      key: '202404',
      plans: [tiers],
      subscribers: subscribed('TIERS', '2024-01-15'),
    })
    expect(shown(lines)).toEqual([
      ['TIERS', 45.16129, '2024-03-01 2024-03-15 14/31'],
      ['TIERS', 109.677419, '2024-03-15 2024-04-01 17/31'],
    ])
    expect(lines.map(({ tier }) => tier)).toEqual([
      { from: 0, to: 2 },
      { from: 2, to: 5 },
    ])
  })

  it('counts cycles if the start is not prorated', () => {
    const phone = offer('PHONE', [[0, 1, 1000]], { prorated: false, quantitative: true })
    const services = [{ name: 'PHONE', from: date('2018-06-20'), quantity: 2 }]
    const given = {
      plans: [PLAN],
      services: [phone],
      subscribers: [subscriber('PLAN', { from: '2018-01-01' }, { services })],
    }
    expect(total(expected({ ...given, key: '201807' }))).toBe(2100)
    expect(total(expected({ ...given, key: '201808' }))).toBe(100)
  })
})

describe('periods of several months', () => {
  const yearly = offer('YEAR', 365, { recurrence: { frequency: 12, start: 1 } })

  it.each([
    ['202501', '2020-01-01', undefined, 365],
    ['202412', '2020-01-01', undefined, 0],
    ['202502', '2020-01-01', undefined, 0],
    ['202601', '2025-07-02', undefined, 183],
    ['202504', '2020-01-01', '2025-03-02', 60],
    ['202505', '2020-01-01', '2025-03-02', 0],
  ])('in %s since %s until %s: %d', (key, from, to, amount) => {
    const lines = charged({ key, plans: [yearly], subscribers: subscribed('YEAR', from, to) })
    expect(total(lines)).toBeCloseTo(amount, 9)
  })

  it('begin with the cycle of the activation without a start', () => {
    const quarterly = offer('QUARTER', 90, { recurrence: { frequency: 3 } })
    const keys = ['202502', '202503', '202504', '202505', '202506', '202507']
    const amounts = keys.map((key) =>
      total(charged({ key, plans: [quarterly], subscribers: subscribed('QUARTER', '2025-02-01') })),
    )
    expect(amounts).toEqual([0, 0, 0, 90, 0, 0])
  })

  it('paid ahead are charged before they begin', () => {
    const plans = [{ ...yearly, upfront: true }]
    const of = (key: string, from: string) => {
      const lines = charged({ key, plans, subscribers: subscribed('YEAR', from) })
      return lines.map(({ isUpfront, amount }) => [isUpfront, amount.toDecimalPlaces(9).toNumber()])
    }
    expect(of('202501', '2020-01-01')).toEqual([[true, 365]])
    expect(of('202503', '2020-01-01')).toEqual([])
    // No run has charged it.
    expect(of('202502', '2020-01-01')).toEqual([[false, 365]])
    // The rest of the period in which it began.
    expect(of('202508', '2025-07-02')).toEqual([[false, 183]])
  })
})
