/** Periods of several cycles, over many runs. */
import { describe, expect, it } from 'vitest'
import { computeAccount } from '../../../src/billing/cycle/compute.ts'
import type { StoredRevision } from '../../../src/billing/cycle/input.ts'
import type { CycleLineDocument } from '../../../src/catalog/records/money/cycle-line.ts'
import { Exact } from '../../../src/rating/line-tax.ts'
import {
  accountCycle,
  adjustment,
  compute,
  date,
  offer,
  subscriber,
} from '../../support/billing/account-cycle.ts'
import { FOREVER, runs, sum, UTC } from '../../support/billing/runs.ts'

function show(lines: readonly CycleLineDocument[]) {
  return lines.map((line) => {
    const { billrun, type, charge_op: op, explain } = line
    const amount = new Exact(line.charge_amount).toDecimalPlaces(6).toNumber()
    return `${billrun} ${type} ${op} ${amount} ${explain.from} ${explain.to}`
  })
}

const day = (text: string) => date(text, UTC)
const YEAR = { recurrence: { frequency: 12, start: 1 } }
const since = (from: string, to?: string) =>
  subscriber('YEAR', to === undefined ? { from } : { from, to }, {}, UTC)

describe('a year paid ahead', () => {
  const given = { calendar: UTC, plans: [offer('YEAR', 365, { ...YEAR, upfront: true })] }

  it('is credited from its end, once', () => {
    const known = (key: string) => [
      key < '202505' ? since('2024-12-20') : since('2024-12-20', '2025-04-11'),
    ]
    expect(show(runs('202412', '202602', given, known))).toEqual([
      // The year 2024 has 366 days.
      '202501 flat charge 11.967213 2024-12-20 2025-01-01',
      '202501 flat charge 365 2025-01-01 2026-01-01',
      '202505 flat refund -265 2025-04-11 2026-01-01',
    ])
  })

  it('whose end becomes known late, and moves, is corrected each time', () => {
    const ends: Record<string, string> = { 202506: '2025-04-11', 202507: '2025-05-01' }
    const known = (key: string) => {
      const found = Object.entries(ends).findLast(([from]) => from <= key)
      return [since('2025-01-01', found?.[1])]
    }
    expect(show(runs('202501', '202602', given, known))).toEqual([
      '202502 flat charge 365 2025-01-01 2026-01-01',
      '202506 flat refund -265 2025-04-11 2026-01-01',
      '202507 flat refund 20 2025-04-11 2025-05-01',
    ])
  })

  it('is credited in full if the plan was replaced from its begin', () => {
    const plans = [...given.plans, offer('OTHER', 31)]
    const other = { ...since('2025-01-01'), plan: 'OTHER' }
    const known = (key: string) => [key < '202503' ? since('2025-01-01') : other]
    const lines = runs('202501', '202503', { ...given, plans }, known)
    expect(show(lines)).toEqual([
      '202502 flat charge 365 2025-01-01 2026-01-01',
      '202503 flat charge 31 2025-02-01 2025-03-01',
      '202503 flat refund -365 2025-01-01 2026-01-01',
    ])
    expect(lines.at(-1)).toMatchObject({ corrects: lines[0]?.stamp })
  })

  it('is credited in full if the plan had ended before', () => {
    const known = (key: string) => [
      key < '202602' ? since('2025-01-01') : since('2025-01-01', '2026-01-01'),
    ]
    expect(show(runs('202501', '202603', given, known))).toEqual([
      '202502 flat charge 365 2025-01-01 2026-01-01',
      '202601 flat charge 365 2026-01-01 2027-01-01',
      '202602 flat refund -365 2026-01-01 2027-01-01',
    ])
  })

  it('has the price with which it began', () => {
    const later = { ...offer('YEAR', 730, { ...YEAR, upfront: true }), from: day('2025-06-01') }
    const before = { ...(given.plans[0] as StoredRevision), to: later.from }
    const known = () => [since('2025-01-01')]
    const lines = runs('202501', '202601', { ...given, plans: [before, later] }, known)
    expect(show(lines)).toEqual([
      '202502 flat charge 365 2025-01-01 2026-01-01',
      '202601 flat charge 730 2026-01-01 2027-01-01',
    ])
  })

  it('that another system charged is not charged again, but credited', () => {
    const imported = {
      source: 'billrun',
      type: 'flat',
      aid: 1,
      sid: 2,
      plan: 'YEAR',
      name: 'YEAR',
      aprice: 365,
      is_upfront: true,
      charge_op: 'charge',
      billrun: '202412',
      start: day('2025-01-01'),
      end: day('2026-01-01'),
    }
    const of = (key: string, to?: string, prior: object[] = [imported]) => {
      const subscribers = [since('2020-01-01', to)]
      const base = accountCycle({ ...given, key, subscribers })
      const periods = { account: base.account, subscribers, prior: prior as never[], runs: [] }
      const found = computeAccount({ ...base, periods })
      return show(found?.lines ?? [])
    }
    expect(of('202504')).toEqual([])
    expect(of('202504', '2025-03-02')).toEqual(['202504 flat refund -305 2025-03-02 2026-01-01'])
    // Without it, what fell due long ago was charged by somebody.
    expect(of('202504', undefined, [])).toEqual([])
    expect(of('202502', undefined, [])).toEqual(['202502 flat charge 365 2025-01-01 2026-01-01'])
  })

  it('has a discount that is corrected with it', () => {
    const discounts = [
      adjustment('D', { proration: 'yes', subject: { plan: { YEAR: { value: 0.1 } } } }),
    ]
    const known = (key: string) => [
      key < '202505' ? since('2025-01-01') : since('2025-01-01', '2025-04-11'),
    ]
    const lines = runs('202501', '202602', { ...given, discounts }, known)
    expect(show(lines)).toEqual([
      '202502 flat charge 365 2025-01-01 2026-01-01',
      '202502 credit charge -36.5 2025-01-01 2026-01-01',
      '202505 flat refund -265 2025-04-11 2026-01-01',
      '202505 credit refund 26.5 2025-04-11 2026-01-01',
    ])
  })

  it('with more of a service is charged for the rest of the year', () => {
    const services = [offer('S', 365, { ...YEAR, upfront: true, quantitative: true })]
    const entry = (from: string, to: Date, quantity: number) => ({
      name: 'S',
      from: day(from),
      to,
      quantity,
    })
    const held = (services: object[]) => [{ ...since('2025-01-01'), plan: 'NONE', services }]
    const known = (key: string) =>
      key < '202505'
        ? held([entry('2025-01-01', FOREVER, 1)])
        : held([
            { ...entry('2025-01-01', day('2025-04-11'), 1), service_id: 1 },
            { ...entry('2025-04-11', FOREVER, 3), service_id: 1 },
          ])
    const id = (key: string) =>
      known(key).map((one) => ({
        ...one,
        services: (one.services as object[]).map((each) => ({ ...each, service_id: 1 })),
      }))
    const lines = runs(
      '202501',
      '202602',
      { calendar: UTC, plans: [offer('NONE', 0)], services },
      id,
    )
    const own = lines.filter(({ type }) => type === 'service')
    expect(show(own)).toEqual([
      '202502 service charge 365 2025-01-01 2026-01-01',
      '202505 service refund -265 2025-04-11 2026-01-01',
      '202505 service charge 795 2025-04-11 2026-01-01',
      '202601 service charge 1095 2026-01-01 2027-01-01',
    ])
  })
})

describe('a year in arrears', () => {
  const given = { calendar: UTC, plans: [offer('YEAR', 365, YEAR)] }

  it('is charged whole if the revision of the subscriber changed meanwhile', () => {
    const known = () => [
      { ...since('2020-01-01'), to: day('2025-06-10') },
      { ...since('2020-01-01'), from: day('2025-06-10'), firstname: 'New' },
    ]
    expect(show(runs('202504', '202602', given, known))).toEqual([
      '202601 flat charge 365 2025-01-01 2026-01-01',
    ])
  })

  it('that ended is charged with the cycle in which that becomes known, and corrected', () => {
    const ends: Record<string, string> = { 202506: '2025-04-11', 202508: '2025-04-01' }
    const known = (key: string) => {
      const found = Object.entries(ends).findLast(([from]) => from <= key)
      return [since('2025-01-01', found?.[1])]
    }
    expect(show(runs('202502', '202602', given, known))).toEqual([
      '202506 flat charge 100 2025-01-01 2025-04-11',
      '202508 flat refund -10 2025-04-01 2025-04-11',
    ])
  })

  it('that did not end after all is charged with its last cycle for the rest', () => {
    const known = (key: string) => [
      key === '202505' ? since('2025-01-01', '2025-04-11') : since('2025-01-01'),
    ]
    expect(show(runs('202502', '202601', given, known))).toEqual([
      '202505 flat charge 100 2025-01-01 2025-04-11',
      '202601 flat refund 265 2025-04-11 2026-01-01',
    ])
  })
})

it('a plan that was held before, and is gone, does not hinder a year', () => {
  const gone = { ...since('2024-06-01', '2025-01-01'), plan: 'GONE' }
  const found = compute({
    key: '202502',
    calendar: UTC,
    plans: [offer('YEAR', 365, { ...YEAR, upfront: true })],
    subscribers: [since('2025-01-01')],
    more: {
      periods: { account: [], subscribers: [gone, since('2025-01-01')], prior: [], runs: [] },
    },
  })
  expect(sum(found.lines)).toBe(365)
})

it('a supposed end of a year is seen by the invoice of its cycle', () => {
  const found = compute({
    key: '202502',
    calendar: UTC,
    plans: [offer('YEAR', 365, { ...YEAR, upfront: true })],
    subscribers: [since('2025-01-01', '2025-01-11')],
  })
  expect(sum(found.lines)).toBe(10)
})
