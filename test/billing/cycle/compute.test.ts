import { describe, expect, it } from 'vitest'
import { type AccountInvoice, computeAccount } from '../../../src/billing/cycle/compute.ts'
import { CycleError } from '../../../src/billing/cycle/input.ts'
import type { CreditLineDocument } from '../../../src/catalog/records/usage/credit-line.ts'
import type { RealtimeLineDocument } from '../../../src/catalog/records/usage/line-document.ts'
import {
  accountCycle,
  adjustment,
  compute,
  date,
  type Given,
  isClose,
  offer,
  ofPlan,
  ofService,
  subscribed,
  subscriber,
  totals,
} from '../../support/billing/account-cycle.ts'

const A = offer('PLAN_A', 100)
const SINCE = '2017-01-01'

describe('upfront with discounts', () => {
  const UP = offer('UP', 100, { upfront: true })

  /** A run, and the next one with its lines. */
  function twice(key: string, next: string, first: Partial<Given>, then: Partial<Given> = first) {
    const before = compute({ key, plans: [UP], ...first })
    const written = before.lines as unknown as readonly Record<string, unknown>[]
    return { before, after: compute({ key: next, plans: [UP], ...then, prior: written }) }
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
      subscribers: subscribed('UP', '2026-01-01'),
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
    const given = { charges, subscribers: subscribed('UP', '2025-11-01') }
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
      { charges, subscribers: subscribed('UP', '2025-11-01') },
      { charges, subscribers: subscribed('UP', '2025-11-01', '2025-12-16') },
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
      { discounts, services, subscribers: subscribed('UP', '2024-01-01') },
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
      subscribers: subscribed('UP', '2025-01-01'),
      prior: imported,
    }
    expect(show(compute(given))).toEqual([
      ['flat', 'charge', true, 100, false],
      ['discount', 'charge', true, -10, false],
    ])
  })

  it('nothing is charged for the past without a previous run, if that is required', () => {
    const settings = { reconcileRequiresPreviousRun: true }
    const subscribers = subscribed('UP', '2025-01-01')
    isClose(totals({ key: '202601', plans: [UP], subscribers, settings }), 100, 117)
    isClose(totals({ key: '202601', plans: [UP], subscribers }), 200, 234)
  })

  it('differences of 0 are written only if that is set', () => {
    const given = { subscribers: subscribed('UP', '2025-01-01') }
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
