/** Limits of discounts over charges in arrears, corrected charges and charges ahead of one run. */
import { describe, expect, it } from 'vitest'
import type { CycleLineDocument } from '../../../../src/catalog/records/money/cycle-line.ts'
import type { Fields } from '../../../../src/domain/fields.ts'
import { Exact } from '../../../../src/rating/line-tax.ts'
import {
  adjustment,
  compute,
  date,
  type Given,
  offer,
  ofService,
  subscriber,
} from '../../../support/billing/account-cycle.ts'

const ARREARS = offer('ARREARS', 100)
const AHEAD = offer('AHEAD', 100, { upfront: true })
const since = (from: string, more: Fields = {}) => subscriber('ARREARS', { from }, more)
const booked = (from = '2026-01-01') => ({ services: [{ name: 'AHEAD', from: date(from) }] })
const both = [since('2026-01-01', booked())]
const monthly = (more: Fields = {}) =>
  adjustment('D', { type: 'monetary', subject: { monthly_fees: { value: 30 } }, ...more })

const base = { plans: [ARREARS], services: [AHEAD], subscribers: both }

/** Amounts of the discounts of a run, with the operation of their line. */
function granted(given: Given) {
  return discountsOf(compute(given).lines)
}

function discountsOf(lines: readonly CycleLineDocument[]) {
  return lines
    .filter(({ usaget }) => usaget === 'discount')
    .map((line) => [
      line.charged_billrun,
      line.charge_op,
      new Exact(line.charge_amount).toDecimalPlaces(6).toNumber(),
    ])
}

/** The lines of the run before. */
const after = (given: Given) => ({ prior: compute(given).lines as unknown as Fields[] })

describe('the limits of a run', () => {
  it('are used up by arrears, then by missed charges, then ahead', () => {
    const given = (limit: number) => ({ ...base, key: '202603', discounts: [monthly({ limit })] })
    expect(granted(given(75))).toEqual([
      ['202603', 'charge', -30],
      ['202603', 'charge', -30],
      ['202604', 'charge', -15],
    ])
    expect(granted(given(45))).toEqual([
      ['202603', 'charge', -30],
      ['202603', 'charge', -15],
    ])
  })

  it.each([
    [0, 0],
    [1, 1],
    [2, 2],
    [3, 3],
    [-1, 3],
    ['', 3],
    [undefined, 3],
  ])('80: simultaneous_limit %j allows %i of 3 lines', (simultaneous_limit, count) => {
    const discounts = [monthly({ simultaneous_limit })]
    expect(granted({ ...base, key: '202603', discounts })).toHaveLength(count)
  })

  it('are for each run: what was charged before needs no correction', () => {
    const discounts = [monthly({ limit: 45, simultaneous_limit: 2 })]
    const first = { ...base, key: '202603', discounts, prior: [] }
    const second = { ...first, key: '202604', ...after(first) }
    const third = { ...first, key: '202605', ...after(second) }
    expect(granted(second)).toEqual([
      ['202604', 'charge', -30],
      ['202605', 'charge', -15],
    ])
    // Discounts that were granted ahead are not granted again.
    expect(granted(third)).toEqual([
      ['202605', 'charge', -30],
      ['202606', 'charge', -15],
    ])
  })

  it('are those of the definition that applies, if revisions of it follow each other', () => {
    const change = date('2026-03-01')
    const discounts = [
      { ...monthly({ limit: 20 }), to: change },
      { ...monthly({ limit: 70 }), from: change },
    ]
    expect(granted({ ...base, key: '202603', discounts })).toEqual([
      ['202603', 'charge', -20],
      ['202604', 'charge', -30],
    ])
  })

  it('are separate for a discount and a charge of one key', () => {
    const charge = monthly({ type: 'monetary', limit: 40 })
    const found = compute({
      ...base,
      key: '202603',
      discounts: [monthly({ limit: 40 })],
      charges: [charge],
    })
    const amounts = found.lines.filter(({ type }) => type === 'credit')
    expect(amounts.map(({ charge_amount: amount }) => amount)).toEqual(['-30', '30', '-10', '10'])
  })
})

describe('a corrected discount', () => {
  /** Paid ahead only. */
  const ahead = { plans: [offer('ARREARS', 0)], services: [AHEAD] }
  const discount = (limit: number, from: string) =>
    monthly({ limit, from: date(from), proration: 'yes' })
  const common = { ...ahead, subscribers: both }
  const run = (limit: number, from: string, before: Given) => {
    return { ...common, key: '202604', discounts: [discount(limit, from)], ...after(before) }
  }
  const first = (limit: number, from: string): Given => {
    const settings = { reconcileRequiresPreviousRun: true }
    return { ...common, key: '202603', discounts: [discount(limit, from)], settings, prior: [] }
  }

  it('counts with what exceeds the grant of the run before', () => {
    // 17 of 31 days were granted for March; then the discount begins on the first.
    const before = first(40, '2026-03-15')
    expect(granted(before)).toEqual([['202604', 'charge', -16.451613]])
    const more = 30 - 16.451613
    expect(granted(run(40, '2026-03-01', before))).toEqual([
      ['202604', 'refund', -13.548387],
      ['202605', 'charge', -Number((40 - more).toFixed(6))],
    ])
  })

  it('does not count if it is taken back, and is not limited by itself', () => {
    const before = first(30, '2026-03-01')
    expect(granted(before)).toEqual([['202604', 'charge', -30]])
    expect(granted(run(30, '2026-03-15', before))).toEqual([
      ['202604', 'refund', 13.548387],
      ['202605', 'charge', -30],
    ])
  })

  it('is taken back as far as the limit is lower now', () => {
    const before = first(30, '2026-03-01')
    expect(granted(run(20, '2026-03-01', before))).toEqual([
      ['202604', 'refund', 10],
      ['202605', 'charge', -20],
    ])
  })

  it('keeps what was granted without a common count', () => {
    // Another system granted 60 in its run.
    const granted30 = { type: 'credit', usaget: 'discount', sid: 2, key: 'D', aprice: -30 }
    const line = { ...granted30, billrun: '202603' }
    const charge = { type: 'service', sid: 2, name: 'AHEAD', aprice: 100, stamp: 'ahead' }
    const written = [
      { ...charge, is_upfront: true, charge_op: 'charge' },
      { ...line, is_upfront: false },
      { ...line, is_upfront: true, eligible_line: 'ahead' },
    ]
    const given = { ...base, key: '202604', discounts: [monthly({ limit: 40 })], prior: written }
    expect(granted(given)).toEqual([
      ['202604', 'charge', -30],
      ['202605', 'charge', -10],
    ])
  })
})

describe('conditions on services', () => {
  const gold = (more: Fields = {}) => offer('GOLD', 100, { include: { services: ['S'] }, ...more })
  const services = [offer('S', 20), offer('OTHER', 5)]
  const held = (from: string, more: Fields = {}) => [subscriber('GOLD', { from }, more)]
  const discount = (more: Fields = {}) =>
    adjustment('D', { type: 'monetary', params: ofService('S'), proration: 'yes', ...more })
  const amounts = (given: Given) => granted(given).map(([, , amount]) => amount)

  it('see those that the plan includes', () => {
    const given = { key: '202605', plans: [gold()], services, subscribers: held('2026-01-01') }
    const of = (subject: Fields) => amounts({ ...given, discounts: [discount({ subject })] })
    expect(of({ plan: { GOLD: { value: 10 } } })).toEqual([-10])
    expect(of({ matched_services: { value: 5 } })).toEqual([-5])
    expect(of({ service: { S: { value: 4 } } })).toEqual([-4])
    const plans = [gold({ include: { services: ['OTHER'] } })]
    const subject = { plan: { GOLD: { value: 10 } } }
    expect(amounts({ ...given, plans, discounts: [discount({ subject })] })).toEqual([])
  })

  it('see them on the days of the plan, and not after their own end', () => {
    const given = { key: '202605', plans: [gold()], services }
    const discounts = [discount({ subject: { plan: { GOLD: { value: 30 } } } })]
    expect(amounts({ ...given, discounts, subscribers: held('2026-04-16') })).toEqual([-15])
    const short = [offer('S', 20, { prorated: true, limit_cycles: 1 }), services[1] as never]
    const subscribers = held('2026-03-11')
    expect(amounts({ ...given, discounts, services: short, subscribers })).toEqual([-10])
    const cycles = [
      discount({
        params: { ...ofService('S'), cycles: 1 },
        subject: { plan: { GOLD: { value: 30 } } },
      }),
    ]
    expect(amounts({ ...given, discounts: cycles, subscribers })).toEqual([-10])
  })

  it('see them if they are not charged', () => {
    const given = { key: '202605', plans: [gold()], services, subscribers: held('2026-01-01') }
    const discounts = [discount({ subject: { plan: { GOLD: { value: 10 } } } })]
    expect(amounts({ ...given, discounts, settings: { chargeIncludedServices: false } })).toEqual([
      -10,
    ])
  })

  it('see them in the next cycle for charges ahead', () => {
    const plans = [gold({ upfront: true })]
    const given = { key: '202605', plans, services, subscribers: held('2026-05-01') }
    const discounts = [discount({ subject: { plan: { GOLD: { value: 10 } } } })]
    // The subscriber begins after the cycle, and is known.
    expect(amounts({ ...given, discounts, settings: { billableNextCycle: true } })).toEqual([-10])
  })

  it('of an assigned discount match them', () => {
    const subscribers = held('2026-01-01', { discounts: [{ key: 'D' }] })
    const params = ofService('OTHER')
    const discounts = [discount({ params, subject: { matched_services: { value: 5 } } })]
    expect(amounts({ key: '202605', plans: [gold()], services, subscribers, discounts })).toEqual([
      -5,
    ])
  })
})
