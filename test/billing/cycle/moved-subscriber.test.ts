/** A subscriber that moves to another account: the day of the move is charged once. */
import { describe, expect, it } from 'vitest'
import type { StoredRevision } from '../../../src/billing/cycle/input.ts'
import {
  charged,
  date,
  type Given,
  offer,
  subscriber,
  total,
} from '../../support/billing/account-cycle.ts'

const UTC = { zone: 'UTC', cycleDay: 1 }
const at = (text: string) => date(text, UTC)

/** Revisions of subscriber 2, each until the next one: [from, account, plan, fields]. */
function revisions(...all: readonly (readonly [string, number, string, object?])[]) {
  return all.map(([from, aid, plan, more = {}], index): StoredRevision => {
    const next = all[index + 1]?.[0]
    const to = next === undefined ? at('2170-01-01') : at(next)
    const since = at('2023-01-01')
    const dates = { activation_date: since, plan_activation: since, from: at(from), to }
    return subscriber(plan, { from }, { aid, ...dates, ...more }, UTC)
  })
}

/** Charges of the run of February 2024 in each account, as [amount, from, to]. */
function february(all: readonly StoredRevision[], given: Partial<Given> = {}) {
  return [1, 2].map((aid) => {
    const own = all.filter((one) => one['aid'] === aid)
    const elsewhere = all.filter((one) => one['aid'] !== aid)
    const of = { plans: [offer('PLAN', 29), offer('OTHER', 29)], calendar: UTC, ...given }
    const lines = charged({ ...of, key: '202403', subscribers: own, elsewhere })
    return lines
      .filter(({ cycle }) => cycle.key === '202403')
      .map(({ amount, explain }) => [amount.toNumber(), explain.from, explain.to])
  })
}

describe('the day of a move', () => {
  it('within it is charged to the account before', () => {
    const moved = revisions(['2023-01-01', 1, 'PLAN'], ['2024-02-10 12:00:00', 2, 'PLAN'])
    expect(february(moved)).toEqual([
      [[10, '2024-02-01', '2024-02-11']],
      [[19, '2024-02-11', '2024-03-01']],
    ])
  })

  it('at its begin is charged to the account after', () => {
    const moved = revisions(['2023-01-01', 1, 'PLAN'], ['2024-02-10', 2, 'PLAN'])
    expect(february(moved)).toEqual([
      [[9, '2024-02-01', '2024-02-10']],
      [[20, '2024-02-10', '2024-03-01']],
    ])
  })

  it('to another plan is charged for both plans', () => {
    const moved = revisions(['2023-01-01', 1, 'PLAN'], ['2024-02-10 12:00:00', 2, 'OTHER'])
    expect(february(moved).map((lines) => lines.map(([amount]) => amount))).toEqual([[10], [20]])
  })

  it('is charged once if it moves there and back, and once of each service', () => {
    const services = [{ name: 'SERVICE', from: at('2023-01-01'), to: at('2170-01-01') }]
    const moved = revisions(
      ['2023-01-01', 1, 'PLAN', { services }],
      ['2024-02-10 12:00:00', 2, 'PLAN', { services }],
      ['2024-02-10 15:00:00', 1, 'PLAN', { services }],
      ['2024-02-20 15:00:00', 2, 'PLAN', { services }],
    )
    const given = { services: [offer('SERVICE', 58)] }
    const all = february(moved, given)
    const sum = (lines: readonly (readonly unknown[])[]) =>
      lines.reduce((amount, [one]) => amount + Number(one), 0)
    expect(all.map(sum)).toEqual([20 * 3, 9 * 3])
  })

  it('paid ahead is credited to the one, and charged to the other', () => {
    const plans = [offer('PLAN', 29, { upfront: true })]
    const moved = revisions(['2023-01-01', 1, 'PLAN'], ['2024-02-10 12:00:00', 2, 'PLAN'])
    const whole = {
      ...{ stamp: 'a', type: 'flat', sid: 2, name: 'PLAN', plan: 'PLAN', aprice: 29 },
      ...{ is_upfront: true, charge_op: 'charge', cycle: { from: 0 } },
      ...{ start: at('2024-02-01'), end: at('2024-03-01') },
    }
    const [credited] = february(moved, { plans, prior: [whole] })
    const [, missed] = february(moved, { plans, prior: [] })
    expect([credited, missed]).toEqual([
      [[-19, '2024-02-11', '2024-03-01']],
      [[19, '2024-02-11', '2024-03-01']],
    ])
  })

  it('is charged once of a year', () => {
    const plans = [offer('PLAN', 366, { recurrence: { frequency: 12, start: 1 } })]
    const moved = revisions(['2024-01-01', 1, 'PLAN'], ['2024-02-10 12:00:00', 2, 'PLAN'])
    const of = (aid: number, key: string) => {
      const elsewhere = moved.filter((one) => one['aid'] !== aid)
      const subscribers = moved.filter((one) => one['aid'] === aid)
      return total(charged({ key, plans, calendar: UTC, subscribers, elsewhere }))
    }
    expect([of(1, '202403'), of(2, '202501')]).toEqual([41, 366 - 41])
  })
})
