/** Published totals of accounts (17 % VAT), and what an invoice consists of. */
import { describe, expect, it } from 'vitest'
import { type AccountInvoice, computeAccount } from '../../../src/billing/cycle/compute.ts'
import { CycleError, type StoredRevision } from '../../../src/billing/cycle/input.ts'
import type { CreditLineDocument } from '../../../src/catalog/records/credit-line.ts'
import type { RealtimeLineDocument } from '../../../src/catalog/records/line-document.ts'
import {
  accountCycle,
  date,
  type Given,
  offer,
  subscriber,
} from '../../support/billing/account-cycle.ts'

function compute(given: Given): AccountInvoice {
  const invoice = computeAccount(accountCycle(given))
  if (invoice === null) throw new Error('no invoice')
  return invoice
}

/** Totals before and after tax. */
function totals(given: Given): [number, number] {
  const { before_vat, after_vat } = compute(given).invoice.totals
  return [before_vat, after_vat]
}

/** Within 1e-6: the published totals are binary, those of 58 differ by 9e-7. */
function isClose(found: readonly number[], before: number, after: number): void {
  const differences = [before - (found[0] ?? 0), after - (found[1] ?? 0)].map(Math.abs)
  expect(Math.max(...differences)).toBeLessThan(1e-6)
}

/** A discount in force. */
function adjustment(key: string, more: object): StoredRevision {
  return { key, from: date('2010-01-01'), to: date('2170-01-01'), ...more }
}

const ofPlan = (...names: string[]) => ({
  conditions: [{ subscriber: [{ fields: [{ field: 'plan', op: 'in', value: names }] }] }],
})
const ofService = (name: string) => ({
  conditions: [
    {
      subscriber: [
        { service: { any: [{ fields: [{ field: 'name', op: 'in', value: [name] }] }] } },
      ],
    },
  ],
})

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
      const subscribers = [subscriber(name, to === undefined ? { from } : { from, to })]
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
    const subscribers = [subscriber('P', { from: '2023-09-30' })]
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
      totals({ key: '202510', plans, subscribers: [subscriber('P', { from: '2025-09-13' })] }),
      12.59,
      14.7303,
    )
  })
})

describe('upfront with discounts', () => {
  const UP = offer('UP', 100, { upfront: true })

  /** A run, and the next one with its lines. */
  function twice(key: string, next: string, first: Partial<Given>, then: Partial<Given> = first) {
    const before = compute({ key, plans: [UP], ...first })
    const written = before.lines as unknown as readonly Record<string, unknown>[]
    return { before, after: compute({ key: next, plans: [UP], ...then, written }) }
  }

  function show({ lines }: AccountInvoice) {
    return lines.map(({ type, usaget, charge_op, is_upfront, charge_amount, line_id }) => [
      type === 'credit' ? usaget : type,
      charge_op,
      is_upfront,
      Number(Number(charge_amount).toFixed(6)),
      line_id.startsWith('difference/'),
    ])
  }

  it('a discount that begins in the paid cycle is prorated', () => {
    const discounts = [
      adjustment('D', {
        from: date('2026-01-10'),
        type: 'monetary',
        proration: 'yes',
        params: ofPlan('UP'),
        subject: { plan: { UP: { value: 10 } } },
      }),
    ]
    const { lines } = compute({
      key: '202601',
      plans: [UP],
      discounts,
      settings: { billableNextCycle: true },
      subscribers: [subscriber('UP', { from: '2026-01-01' })],
    })
    expect(lines.map(({ charge_amount }) => Number(charge_amount))).toEqual([
      100,
      expect.closeTo((-10 * 22) / 31, 9),
    ])
    expect(lines[1]).toMatchObject({ is_upfront: true, eligible_line: lines[0]?.stamp })
  })

  it('an unchanged account pays only the next cycle', () => {
    const charges = [
      adjustment('FEE', {
        type: 'percentage',
        params: ofPlan('UP'),
        subject: { plan: { UP: { value: 0.1 } } },
      }),
    ]
    const given = { charges, subscribers: [subscriber('UP', { from: '2025-11-01' })] }
    const { after } = twice('202512', '202601', given)
    expect(show(after)).toEqual([
      ['flat', 'charge', true, 100, false],
      ['conditional_charge', 'charge', true, 10, false],
    ])
  })

  it('a plan that ends after it was paid is credited with its conditional charge', () => {
    const charges = [
      adjustment('FEE', {
        type: 'percentage',
        proration: 'yes',
        params: ofPlan('UP'),
        subject: { plan: { UP: { value: 0.1 } } },
      }),
    ]
    const { after } = twice(
      '202512',
      '202601',
      { charges, subscribers: [subscriber('UP', { from: '2025-11-01' })] },
      { charges, subscribers: [subscriber('UP', { from: '2025-11-01', to: '2025-12-16' })] },
    )
    expect(show(after)).toEqual([
      ['flat', 'refund', false, -51.612903, true],
      ['conditional_charge', 'refund', false, -5.16129, true],
    ])
    expect(after.lines[1]).toMatchObject({ charged_billrun: '202601' })
    expect(after.invoice.totals.before_vat).toBeCloseTo(-56.77419355, 6)
  })

  it('a discount that began in the paid cycle is granted later', () => {
    const service = { name: 'OFF', from: date('2024-11-06 16:32:00') }
    const discounts = [
      adjustment('D', {
        type: 'monetary',
        proration: 'yes',
        params: ofService('OFF'),
        subject: { plan: { UP: { value: 16.806 } } },
      }),
    ]
    const services = [offer('OFF', 0)]
    const { after } = twice(
      '202411',
      '202412',
      { discounts, services, subscribers: [subscriber('UP', { from: '2024-01-01' })] },
      {
        discounts,
        services,
        subscribers: [subscriber('UP', { from: '2024-01-01' }, { services: [service] })],
      },
    )
    const granted = after.lines.filter(({ usaget }) => usaget === 'discount')
    expect(granted.map(({ charge_amount }) => Number(charge_amount))).toEqual([
      expect.closeTo(-14.005, 9),
      expect.closeTo(-16.806, 9),
    ])
    // The charge of November was not corrected: the discount names the stored one.
    expect(granted[0]).toMatchObject({
      is_upfront: false,
      eligible_line: expect.stringMatching(/^[0-9a-f]{32}$/),
    })
  })

  it('imported lines of the last cycle prevent charging it twice', () => {
    const imported = [
      {
        stamp: 'x',
        type: 'flat',
        sid: 2,
        aid: 1,
        plan: 'UP',
        name: 'UP',
        aprice: 100,
        full_price: 100,
        is_upfront: true,
        charge_op: 'charge',
        billrun: '202512',
        source: 'billrun',
        cycle: 0,
      },
      {
        stamp: 'y',
        type: 'credit',
        usaget: 'discount',
        sid: 2,
        aid: 1,
        key: 'D',
        aprice: -10,
        is_upfront: true,
        charge_op: 'charge',
        eligible_line: 'x',
      },
    ]
    const discounts = [
      adjustment('D', { params: ofPlan('UP'), subject: { plan: { UP: { value: 0.1 } } } }),
    ]
    const given = {
      key: '202601',
      plans: [UP],
      discounts,
      subscribers: [subscriber('UP', { from: '2025-01-01' })],
      written: imported,
    }
    expect(show(compute(given))).toEqual([
      ['flat', 'charge', true, 100, false],
      ['discount', 'charge', true, -10, false],
    ])
  })

  it('nothing is charged for the past without a previous run, if that is required', () => {
    const settings = { reconcileRequiresPreviousRun: true }
    const subscribers = [subscriber('UP', { from: '2025-01-01' })]
    isClose(totals({ key: '202601', plans: [UP], subscribers, settings }), 100, 117)
    isClose(totals({ key: '202601', plans: [UP], subscribers }), 200, 234)
  })

  it('differences of 0 are written only if that is set', () => {
    const given = { subscribers: [subscriber('UP', { from: '2025-01-01' })] }
    const settings = { generateZeroRefunds: true }
    const { after } = twice('202512', '202601', given, { ...given, settings })
    expect(show(after)).toEqual([
      ['flat', 'refund', false, 0, true],
      ['flat', 'charge', true, 100, false],
    ])
  })
})

function usage(more: object): RealtimeLineDocument {
  const line = {
    stamp: 'usage',
    type: 'realtime',
    sid: 2,
    aid: 1,
    usaget: 'call',
    usagev: 60,
    arate_key: 'CALLS',
    plan: 'PLAN_A',
    urt: date('2018-04-10'),
    aprice: 2,
    final_charge: 2.34,
    exact: { aprice: '2', tax: '0.34', final_charge: '2.34' },
    tax_data: {
      total_amount: 0.34,
      total_tax: 0.17,
      taxes: [
        {
          tax: 0.17,
          amount: 0.34,
          description: 'DEFAULT_VAT',
          key: 'DEFAULT_VAT',
          type: 'vat',
          pass_to_customer: 1,
        },
      ],
    },
    ...more,
  }
  return line as unknown as RealtimeLineDocument
}

const credit = (more: object) =>
  usage({
    stamp: 'credit',
    type: 'credit',
    usaget: 'charge',
    rate: 'FEE',
    ...more,
  }) as unknown as CreditLineDocument

describe('an invoice', () => {
  const subscribers = [subscriber('PLAN_A', { from: SINCE })]
  const given: Given = { key: '201805', plans: [A], subscribers }

  it('has the charges, the usage and the credits of the account', () => {
    const lines = [usage({}), credit({ sid: 0 })]
    const { invoice, lines: own } = compute({ ...given, more: { lines } })
    expect(own).toHaveLength(1)
    expect(invoice.totals).toMatchObject({
      before_vat: 104,
      after_vat: 121.68,
      after_vat_rounded: 121.68,
    })
    expect(invoice.subs.map(({ sid, totals: { before_vat } }) => [sid, before_vat])).toEqual([
      [0, 2],
      [2, 102],
    ])
    expect(invoice).toMatchObject({ aid: 1, billrun_key: '201805' })
  })

  it('has no prepaid usage: it was paid from balances', () => {
    const prepaid = [{ ...A, connection_type: 'prepaid' }]
    const { invoice } = compute({ ...given, plans: prepaid, more: { lines: [usage({})] } })
    expect(invoice.totals.before_vat).toBe(100)
  })

  it('is the same when it is computed again', () => {
    expect(compute(given)).toEqual(compute(given))
    const [line] = compute(given).lines
    expect(line).toMatchObject({
      type: 'flat',
      source: 'billrun',
      line_id: '2/flat/PLAN_A//201805/2018-04-01_2018-05-01/0',
      charge_op: 'charge',
      is_upfront: false,
      full_price: 100,
      charge_amount: '100',
      cycle: { from: 0, to: 'UNLIMITED', price: 100 },
      start: date('2018-04-01'),
      end: date('2018-05-01'),
      urt: date('2018-04-30 23:59:59'),
      exact: { aprice: '100', tax: '17', final_charge: '117' },
      explain: {
        rule: 'price of the cycle',
        from: '2018-04-01',
        to: '2018-05-01',
        factor: '1',
        fullPrice: '100',
      },
    })
  })

  it('is not made for an account without plans and lines', () => {
    expect(computeAccount(accountCycle({ key: '201805' }))).toBeNull()
    const ended = [subscriber('PLAN_A', { from: SINCE, to: '2018-04-01' })]
    expect(computeAccount(accountCycle({ ...given, subscribers: ended }))).toBeNull()
    const free = compute({ ...given, plans: [offer('PLAN_A', 0)] })
    expect(free.invoice.totals.after_vat_rounded).toBe(0)
  })

  it('contains remaining installments of a subscriber that has ended', () => {
    const laterInstallments = [credit({ stamp: 'later', billrun: '201807' })]
    const of = (to: string | undefined, more: object = {}, settings = {}) => {
      const times = to === undefined ? { from: SINCE } : { from: SINCE, to }
      const own = [subscriber('PLAN_A', times)]
      return compute({ ...given, subscribers: own, settings, more: { laterInstallments, ...more } })
    }
    expect(of('2018-04-20').prepone).toEqual(['later'])
    expect(of('2018-04-20').invoice.totals.charge?.before_vat).toBe(2)
    expect(of(undefined).prepone).toEqual([])
    expect(of('2018-05-20').prepone).toEqual([])
    expect(of('2018-04-20', {}, { preponeOnTermination: false }).prepone).toEqual([])
    expect(of(undefined, { mergedInstallments: [2] }).prepone).toEqual(['later'])
  })

  it('below 0 needs a reason', () => {
    const refund = usage({
      aprice: -200,
      final_charge: -234,
      exact: { aprice: '-200', tax: '-34', final_charge: '-234' },
    })
    expect(compute({ ...given, more: { lines: [refund] } }).invoice.totals.before_vat).toBe(-100)
  })

  it('names the missing tax', () => {
    const plans = [
      offer('PLAN_A', 100, {
        tax: [{ type: 'vat', taxation: 'custom', custom_tax: 'NONE', custom_logic: 'override' }],
      }),
    ]
    const failing = () => compute({ ...given, plans })
    expect(failing).toThrow(CycleError)
    expect(failing).toThrow(/^account 1: .*plan PLAN_A: no tax is in force/)
  })

  it.each([
    ['services.0.from must be a date', { services: [{ name: 'S', from: 'soon' }] }],
    ['services.0.quantity must be an integer', { services: [{ name: 'S', quantity: 0 }] }],
    ['overrides.0.key is missing', { overrides: [{ type: 'plan' }] }],
    ['plan must be a text', { plan: 5 }],
  ])('names the invalid field: %s', (reason, more) => {
    const failing = () =>
      compute({
        ...given,
        services: [offer('S', 1)],
        subscribers: [subscriber('PLAN_A', { from: SINCE }, more)],
      })
    expect(failing).toThrow(CycleError)
    expect(failing).toThrow(reason)
  })
})
