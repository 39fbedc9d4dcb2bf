/** Eligibility for a discount by day, and the charges that it applies to. */
import { describe, expect, it } from 'vitest'
import type { AdjustmentLine } from '../../../../src/billing/cycle/lines.ts'
import type { Fields } from '../../../../src/domain/fields.ts'
import { cycle, daily, from, GOLD, IRON, lineOf, to, when } from '../../../support/billing/april.ts'
import {
  adjust,
  amountsOf,
  chargeOf,
  cycleOf,
  type GivenRevision,
  onAccount,
  onPlan,
  onSubscriber,
} from '../../../support/billing/cycle.ts'

/** Days of the discount per subscriber, as `5-10 20-31`. */
function daysOf(
  discount: Fields,
  subscribers: Record<number, readonly GivenRevision[]>,
  account?: readonly GivenRevision[],
): Record<number, string> {
  const lines = Object.keys(subscribers).map((sid) => lineOf(Number(sid)))
  const run = { cycle, discounts: [daily(discount)], lines, subscribers }
  const found = adjust({ ...run, ...(account && { account }) })
  const result: Record<number, string> = {}
  for (const { sid, span, amount } of found) {
    const dates = [span.startMs, span.endMs - 1].map((ms) => new Date(ms).getUTCDate())
    const [from = 0, to = 0] = dates
    expect(amount.toNumber()).toBe(from - to - 1)
    result[sid] = `${result[sid] === undefined ? '' : `${result[sid]} `}${from}-${to}`
  }
  return result
}

describe('the days of a discount', () => {
  it.each([
    ['without conditions', {}, [GOLD], '1-30'],
    ['of the definition', { from: '2026-04-10', to: '2026-04-20' }, [GOLD], '10-19'],
    ['begin within a day', { from: '2026-04-10 16:32:00' }, [GOLD], '10-30'],
    ['end within a day', { to: '2026-04-10 16:32:00' }, [GOLD], '1-10'],
    ['end at midnight', { to: '2026-04-10' }, [GOLD], '1-9'],
    ['of a plan', when(onPlan('GOLD')), [to('11'), from('11', IRON)], '1-10'],
    ['of a plan that changes', when(onPlan('GOLD')), [to('11 16:00:00'), IRON], '1-11'],
    ['of a condition that returns', when(onPlan('GOLD')), [to('06'), from('21')], '1-5 21-30'],
    [
      'of one of two conditions',
      when(onPlan('GOLD'), onSubscriber({ field: 'vip', op: 'eq', value: true })),
      [to('06'), { ...from('06', IRON), to: '2026-04-11' }, from('11', { ...IRON, vip: true })],
      '1-5 11-30',
    ],
    [
      'of both fields',
      when(
        onSubscriber(
          { field: 'plan', op: 'eq', value: 'GOLD' },
          { field: 'vip', op: 'eq', value: true },
        ),
      ),
      [to('06'), from('06', { ...GOLD, vip: true })],
      '6-30',
    ],
    [
      'before a date',
      when(onSubscriber({ field: 'plan_activation', op: 'lt', value: '2026-04-02' })),
      [{ ...GOLD, plan_activation: new Date('2026-04-01T00:00:00Z') }],
      '1-30',
    ],
    [
      'from a date that is not reached',
      when(onSubscriber({ field: 'plan_activation', op: '$gte', value: '2026-04-02' })),
      [{ ...GOLD, plan_activation: new Date('2026-04-01T00:00:00Z') }],
      undefined,
    ],
    [
      'beyond the cycle',
      when(onSubscriber({ field: 'deactivation_date', op: 'gt', value: '@cycle_end_date@' })),
      [{ ...GOLD, deactivation_date: new Date('2026-05-02T00:00:00Z') }],
      '1-30',
    ],
    [
      'until the plan ends',
      when(onSubscriber({ field: 'deactivation_date', op: 'eq', value: '@plan_deactivation@' })),
      [{ deactivation_date: new Date(5), plan_deactivation: new Date(5) }],
      '1-30',
    ],
    [
      'with a member of a list',
      when(onSubscriber({ field: 'imsi', op: 'in', value: ['2', '3'] })),
      [{ imsi: ['1', '2'] }],
      '1-30',
    ],
    [
      'without a member of a list',
      when(onSubscriber({ field: 'imsi', op: 'nin', value: ['2'] })),
      [{ imsi: ['1', '2'] }],
      undefined,
    ],
    [
      'in periods of a field',
      when(onSubscriber({ field: 'contract.dates', op: 'is', value: 'active' })),
      [
        {
          contract: {
            dates: [
              { from: '2026-03-10', to: '2026-04-11' },
              { from: new Date('2026-04-20T00:00:00Z'), to: new Date('2026-05-01T00:00:00Z') },
            ],
          },
        },
      ],
      '1-10 20-30',
    ],
    [
      'outside of periods of a field',
      when(onSubscriber({ field: 'contract.dates', op: 'is', value: 'notActive' })),
      [{ contract: { dates: [{ from: '2026-03-10', to: '2026-04-11' }] } }],
      '11-30',
    ],
  ])('%s', (_, discount, revisions, expected) => {
    expect(daysOf(discount, { 1: revisions })[1]).toBe(expected)
  })

  it('are those of its account', () => {
    const discount = when({
      ...onAccount({ field: 'vip', op: 'eq', value: true }),
      ...onPlan('GOLD'),
    })
    const account = [{ vip: true, to: '2026-04-21' }, { from: '2026-04-21' }]
    const subscribers = { 1: [from('11')], 2: [IRON] }
    expect(daysOf(discount, subscribers, account)).toEqual({ 1: '11-20' })
  })

  it('are those of a service of the account', () => {
    const fields = [{ field: 'name', op: 'eq', value: 'CLUB' }]
    const discount = when({ account: { service: { any: [{ fields }] } } })
    const services = [{ name: 'CLUB', from: new Date('2026-04-06T00:00:00Z') }]
    expect(daysOf(discount, { 1: [GOLD] }, [{ services }])).toEqual({ 1: '6-30' })
    expect(daysOf(discount, { 1: [GOLD] }, [{ services: ['OTHER'] }])).toEqual({})
  })

  it('need a service for each of the conditions', () => {
    const any = ['TV', 'NET'].map((value) => ({ fields: [{ field: 'name', op: 'eq', value }] }))
    const discount = when({ subscriber: [{ service: { any } }] })
    const net = { name: 'NET', from: '2026-04-11', to: '2026-04-21' }
    expect(daysOf(discount, { 1: [{ services: ['TV', net] }] })).toEqual({ 1: '11-20' })
    expect(daysOf(discount, { 1: [{ services: ['TV'] }] })).toEqual({})
  })
})

describe('numbers of subscribers', () => {
  const three = { 1: [GOLD], 2: [to('21')], 3: [from('11')], 4: [IRON] }

  it.each([
    [{ min_subscribers: 3 }, { 1: '11-20', 2: '11-20', 3: '11-20' }],
    [
      { min_subscribers: '2', max_subscribers: 2 },
      { 1: '1-10 21-30', 2: '1-10', 3: '21-30' },
    ],
    [{ max_subscribers: '2' }, { 1: '1-10 21-30', 2: '1-10', 3: '21-30' }],
    [{ min_subscribers: 4 }, {}],
    [
      { min_subscribers: '', max_subscribers: '' },
      { 1: '1-30', 2: '1-20', 3: '11-30' },
    ],
  ])('%j count each day', (params, expected) => {
    const discount = { params: { conditions: [onPlan('GOLD')], ...params } }
    expect(daysOf(discount, three)).toEqual(expected)
  })
})

describe('a number of cycles', () => {
  const service = (name: string) => ({
    any: [{ fields: [{ field: 'name', op: 'eq', value: name }] }],
  })
  const activated = (text: string) => ({ ...GOLD, plan_activation: new Date(`${text}T00:00:00Z`) })
  const tv = [{ name: 'TV', from: new Date('2026-01-21T00:00:00Z') }]

  it.each([
    ['of the plan', onPlan('GOLD'), [activated('2026-01-11')], '1-10'],
    ['of the plan, over', onPlan('GOLD'), [activated('2026-01-01')], undefined],
    ['of the plan, without a date', onPlan('GOLD'), [{ ...GOLD, from: '2026-01-16' }], '1-15'],
    ['of a service', { subscriber: [{ service: service('TV') }] }, [{ services: tv }], '1-20'],
    [
      'of plan and service: the later end',
      {
        subscriber: [{ ...(onPlan('GOLD')['subscriber'] as Fields[])[0], service: service('TV') }],
      },
      [{ ...activated('2026-01-26'), services: tv }],
      '1-25',
    ],
    ['of everybody', {}, [activated('2026-01-06')], '1-5'],
  ])('%s', (_, condition, revisions, expected) => {
    const discount = { params: { cycles: 3, conditions: [condition] } }
    expect(daysOf(discount, { 1: revisions })[1]).toBe(expected)
  })

  it('ends on the last day of a shorter month', () => {
    const february = cycleOf('202603')
    const lines = [chargeOf(february, { kind: 'service', name: 'S' })]
    const discount = {
      key: 'D',
      params: { cycles: 1, conditions: [onPlan('GOLD')] },
      subject: { monthly_fees: { value: 1 } },
    }
    const subscribers = { 1: [activated('2026-01-31')] }
    const [found] = adjust({ cycle: february, discounts: [discount], lines, subscribers })
    expect(new Date(found?.span.endMs ?? 0).toISOString()).toBe('2026-02-28T00:00:00.000Z')
  })
})

describe('what a discount applies to', () => {
  const shown = (lines: readonly AdjustmentLine[]) =>
    lines.map(({ eligibleLine, amount }) => [eligibleLine?.split('/')[2], amount.toNumber()])
  const plan = chargeOf(cycle, { name: 'GOLD' })
  const tv = chargeOf(cycle, { kind: 'service', name: 'TV' })
  const net = chargeOf(cycle, { kind: 'service', name: 'NET' })
  const services = ['TV', 'NET']
  const subscribers = { 1: [{ ...GOLD, services }] }
  const run = { cycle, lines: [plan, tv, net], subscribers }
  const fields = [{ field: 'name', op: 'eq', value: 'TV' }]
  const onBoth = {
    subscriber: [
      { fields: [{ field: 'plan', op: 'eq', value: 'GOLD' }], service: { any: [{ fields }] } },
    ],
  }

  it.each([
    [{ plan: { GOLD: { value: 1 } } }, [['GOLD', -1]]],
    [{ plan: { IRON: { value: 1 } } }, []],
    [
      { service: { TV: { value: 1 }, NET: { value: 2 } } },
      [
        ['TV', -1],
        ['NET', -2],
      ],
    ],
    [{ matched_plans: { value: 1 } }, [['GOLD', -1]]],
    [{ matched_services: { value: 1 } }, [['TV', -1]]],
    [
      { monthly_fees: { value: 1 } },
      [
        ['GOLD', -1],
        ['TV', -1],
        ['NET', -1],
      ],
    ],
    [
      { service: { TV: { value: 3 } }, matched_services: { value: 4 }, monthly_fees: { value: 2 } },
      [
        ['GOLD', -2],
        ['TV', -4],
        ['NET', -2],
      ],
    ],
    [{ general: { value: 5 } }, []],
    [{ customer_service: { TV: { value: 5 } } }, []],
    [{ monthly_fees: { value: 0 } }, []],
  ])('%j', (subject, expected) => {
    const discount = { key: 'D', type: 'monetary', ...when(onBoth), subject }
    expect(shown(adjust({ ...run, discounts: [discount] }))).toEqual(expected)
  })

  it('is never a correction, nor a charge of nothing', () => {
    const lines = [
      chargeOf(cycle, { name: 'GOLD', op: 'refund' }),
      chargeOf(cycle, { name: 'IRON', amount: 0 }),
      chargeOf(cycle, { name: 'TIN', amount: -5 }),
    ]
    const discounts = [{ key: 'D', subject: { monthly_fees: { value: 1 } } }]
    expect(adjust({ cycle, discounts, lines })).toEqual([])
  })

  it('the highest value of each day counts', () => {
    const revisions = [
      { ...to('11'), services },
      { ...from('11', IRON), services },
    ]
    const discount = {
      key: 'D',
      type: 'monetary',
      ...when(onPlan('GOLD'), onPlan('IRON')),
      subject: { matched_plans: { value: 60 }, monthly_fees: { value: 30 } },
    }
    const lines = [chargeOf(cycle, { name: 'GOLD' })]
    const found = adjust({ cycle, discounts: [discount], lines, subscribers: { 1: revisions } })
    expect(amountsOf(found)).toEqual([-20, -20])
  })
})
