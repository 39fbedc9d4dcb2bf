import { describe, expect, it } from 'vitest'
import { moneyFormat } from '../../../src/billing/currency.ts'
import type { StoredRevision } from '../../../src/billing/cycle/input.ts'
import type { ChargeLine } from '../../../src/billing/cycle/lines.ts'
import { correctedCharges, differences } from '../../../src/billing/cycle/reconcile.ts'
import { priorLinesFor } from '../../../src/billing/cycle/written.ts'
import {
  accountCycle,
  date,
  expected,
  type Given,
  offer,
  subscribed,
  subscriber,
  total,
} from '../../support/billing/account-cycle.ts'

const PLAN = offer('PLAN', 100, { upfront: true })

/** Stored lines of what a run of the previous cycle charged ahead. */
function stored(lines: readonly ChargeLine[]) {
  return lines.map((line) => ({
    stamp: line.id,
    type: line.kind,
    sid: line.sid,
    name: line.name,
    plan: line.plan,
    aprice: line.amount.toNumber(),
    full_price: line.fullPrice.toNumber(),
    is_upfront: true,
    charge_op: 'charge',
    start: new Date(line.span.startMs),
    end: new Date(line.span.endMs),
    cycle: line.tier,
  }))
}

/** Charges of a run: corrections of the cycle, and what it charges ahead. */
function run(given: Given) {
  const { cycle, prior: written } = accountCycle(given)
  const due = expected(given, 'due')
  const corrections = {
    aid: 1,
    cycle,
    keepsZero: false,
    entityOf: () => ({}),
    money: moneyFormat(826),
  }
  return {
    corrections: correctedCharges(due, priorLinesFor(written, cycle).charges, corrections),
    ahead: expected(given, 'ahead'),
  }
}

function show(lines: readonly ChargeLine[]) {
  return lines.map(({ name, op, amount, explain }) => [
    name,
    op,
    Number(amount.toFixed(6)),
    `${explain.from} ${explain.to}`,
  ])
}

const revisions = (...all: StoredRevision[]) => all

/** A run for January, after one that has charged the plan ahead for December. */
function inJanuary(plans: StoredRevision[], subscribers: StoredRevision[]) {
  const before = { key: '202512', plans: [PLAN], subscribers: subscribed('PLAN', '2025-01-01') }
  return run({ key: '202601', plans, subscribers, prior: stored(run(before).ahead) })
}

describe('a plan paid ahead', () => {
  it('is charged for the next cycle up to a known end', () => {
    const given = {
      key: '202601',
      plans: [PLAN],
      subscribers: subscribed('PLAN', '2025-01-01', '2026-01-16'),
    }
    expect(show(run(given).ahead)).toEqual([['PLAN', 'charge', 48.387097, '2026-01-01 2026-01-16']])
    expect(run(given).ahead[0]).toMatchObject({ isUpfront: true, cycle: { key: '202602' } })
  })

  it('is not charged ahead if it ends before, or begins after the next cycle', () => {
    const of = (from: string, to?: string) =>
      run({ key: '202601', plans: [PLAN], subscribers: subscribed('PLAN', from, to) }).ahead
    expect(of('2025-01-01', '2026-01-01')).toEqual([])
    expect(of('2026-02-01')).toEqual([])
    expect(total(of('2026-01-31'))).toBeCloseTo(100 / 31, 9)
  })

  it('is charged for the cycle too if no run did', () => {
    const given = { key: '202601', plans: [PLAN], subscribers: subscribed('PLAN', '2020-01-01') }
    const { corrections, ahead } = run(given)
    expect(show(corrections)).toEqual([['PLAN', 'charge', 100, '2025-12-01 2026-01-01']])
    expect(corrections[0]?.explain.notes).toEqual(['the previous run did not charge it'])
    expect(show(ahead)).toEqual([['PLAN', 'charge', 100, '2026-01-01 2026-02-01']])
  })

  it('of two plans that follow each other is charged for both', () => {
    const given = {
      key: '202607',
      plans: [PLAN, offer('OTHER', 100, { upfront: true })],
      subscribers: revisions(
        subscriber('PLAN', { from: '2026-07-01' }, { to: date('2026-07-15') }),
        subscriber('OTHER', { from: '2026-07-15' }),
      ),
    }
    expect(total(run(given).ahead)).toBeCloseTo(100, 9)
    expect(show(run(given).ahead)).toEqual([
      ['PLAN', 'charge', 45.16129, '2026-07-01 2026-07-15'],
      ['OTHER', 'charge', 54.83871, '2026-07-15 2026-08-01'],
    ])
  })

  it('that changes to one outside of the window ends there', () => {
    const { corrections, ahead } = run({
      key: '202608',
      plans: [PLAN],
      subscribers: [subscriber('PLAN', { from: '2026-01-01' }, { to: date('2026-08-15') })],
    })
    expect(total(corrections) + total(ahead)).toBeCloseTo(145.16129, 5)
  })

  it('with two periods is corrected by the difference of each', () => {
    const periods = (firstTo: string, secondFrom: string) =>
      revisions(
        subscriber('PLAN', { from: '2026-07-01', to: firstTo }),
        subscriber('PLAN', { from: secondFrom }),
      )
    const before = {
      key: '202607',
      plans: [PLAN],
      subscribers: periods('2026-07-10', '2026-07-20'),
    }
    const { ahead } = run(before)
    expect(total(ahead)).toBeCloseTo((100 * 21) / 31, 9)
    const after = run({
      key: '202608',
      plans: [PLAN],
      subscribers: periods('2026-07-05', '2026-07-12'),
      prior: stored(ahead),
    })
    expect(show(after.corrections)).toEqual([
      ['PLAN', 'refund', -16.129032, '2026-07-05 2026-07-10'],
      ['PLAN', 'refund', 25.806452, '2026-07-12 2026-07-20'],
    ])
    expect(total(after.corrections) + total(after.ahead)).toBeCloseTo(100 + 300 / 31, 9)
  })

  it('after one in arrears is charged from the day of the change', () => {
    const given = {
      key: '202511',
      plans: [offer('OLD', 33.605), offer('NEW', 33.605, { upfront: true })],
      subscribers: revisions(
        subscriber('OLD', { from: '2025-01-01' }, { to: date('2025-10-29 17:39:00') }),
        subscriber('NEW', { from: '2025-10-29 17:39:00' }),
      ),
    }
    expect(total(expected(given))).toBeCloseTo(31.436935484, 9)
    expect(total(run(given).corrections)).toBeCloseTo(3.252096774, 9)
    expect(total(run(given).ahead)).toBe(33.605)
  })

  it('that ends after it was paid is credited', () => {
    const after = inJanuary([PLAN], subscribed('PLAN', '2025-01-01', '2025-12-16'))
    expect(show(after.corrections)).toEqual([
      ['PLAN', 'refund', -51.612903, '2025-12-16 2026-01-01'],
    ])
    expect(after.corrections[0]).toMatchObject({ isUpfront: false })
    expect(after.corrections[0]?.explain.notes).toEqual([
      'wanted 48.387096774194 GBP for 2025-12-01 to 2025-12-16',
      'the previous run charged 100 GBP for 2025-12-01 to 2026-01-01',
      'difference -51.612903225806 GBP',
    ])
    expect(after.ahead).toEqual([])
  })

  it('that was replaced from the start is credited in full', () => {
    const { corrections } = inJanuary(
      [PLAN, offer('OTHER', 31, { upfront: true })],
      subscribed('OTHER', '2025-12-01'),
    )
    expect(show(corrections)).toEqual([
      ['OTHER', 'charge', 31, '2025-12-01 2026-01-01'],
      ['PLAN', 'refund', -100, '2025-12-01 2026-01-01'],
    ])
  })

  it('with a lower price in the meantime is corrected for the period', () => {
    const { corrections } = inJanuary(
      [offer('PLAN', 70, { upfront: true })],
      subscribed('PLAN', '2025-01-01'),
    )
    expect(show(corrections)).toEqual([['PLAN', 'refund', -30, '2025-12-01 2026-01-01']])
  })

  it('without the future is charged for the whole next cycle', () => {
    const settings = { fullFraction: true }
    const of = (from: string, to: string) =>
      run({
        key: '202601',
        settings,
        plans: [PLAN],
        subscribers: subscribed('PLAN', from, to),
      }).ahead
    expect(total(of('2025-01-01', '2026-01-16'))).toBe(100)
    expect(total(of('2026-01-10', '2026-03-01'))).toBe(0)
    expect(total(of('2025-01-01', '2026-01-01'))).toBe(0)
  })
})

describe('lines of the previous run', () => {
  const { cycle } = accountCycle({ key: '202601' })

  it('of other systems are read', () => {
    const line = {
      type: 'flat',
      sid: 2,
      plan: 'PLAN',
      name: 'PLAN',
      aprice: 100,
      is_upfront: true,
      charge_op: 'charge',
      billrun: '202512',
      cycle: 0,
    }
    expect(priorLinesFor([line], cycle).charges).toMatchObject([
      { key: '2/flat/PLAN/', tier: 0, span: { startMs: cycle.startMs, endMs: cycle.endMs } },
    ])
  })

  it.each([
    ['in arrears', { is_upfront: false }],
    ['that correct', { charge_op: 'refund' }],
    ['of a longer period', { charged_billrun: '202612' }],
    ['of another kind', { type: 'credit', usaget: 'charge' }],
  ])('%s are not of this cycle', (_, more) => {
    const line = {
      type: 'flat',
      sid: 2,
      name: 'PLAN',
      aprice: 100,
      is_upfront: true,
      charge_op: 'charge',
      ...more,
    }
    expect(priorLinesFor([line], cycle)).toMatchObject({ charges: [], adjustments: [] })
  })

  it('without an amount are refused', () => {
    const line = { type: 'flat', sid: 2, name: 'PLAN', is_upfront: true, charge_op: 'charge' }
    expect(() => priorLinesFor([line], cycle)).toThrow(
      'line 0 of the previous run: aprice is missing',
    )
  })
})

describe('the difference of lines', () => {
  it('to themselves is empty', () => {
    const lines = expected(
      { key: '202601', plans: [PLAN], subscribers: subscribed('PLAN', '2025-12-10') },
      'due',
    )
    const comparable = lines.map(({ id, span, amount }) => ({ key: id, span, amount, tier: 0 }))
    expect(differences(comparable, comparable)).toEqual([])
    expect(differences(comparable, comparable, true)).toHaveLength(1)
  })
})
