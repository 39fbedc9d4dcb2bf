import { describe, expect, it } from 'vitest'
import { dueDatesOf } from '../../../src/billing/run/due-dates.ts'
import { BILLRUN } from '../../../src/catalog/settings/money/billrun-settings.ts'

const invoice = {
  invoice_date: new Date('2026-05-31T22:00:00Z'),
  end_date: new Date('2026-05-31T22:00:00Z'),
  attributes: { invoice_type: 'regular' },
  account: { country: 'FR', tier: 2 },
}
const confirmed = new Date('2026-06-03T08:30:15Z')

function due(settings: object, of: object = invoice): [string, string] {
  const read = BILLRUN.read(settings)
  const { dueDate, notBefore } = dueDatesOf(of as never, confirmed, read, 'Europe/Paris')
  return [dueDate.toISOString(), notBefore.toISOString()]
}

describe('the due date', () => {
  it.each([
    [{}, '2026-06-14T22:00:00.000Z'],
    [{ due_date_interval: '+2 weeks' }, '2026-06-14T22:00:00.000Z'],
    [{ due_date_interval: '+1 month' }, '2026-06-30T22:00:00.000Z'],
    // Local midnight, although daylight saving has ended.
    [{ due_date_interval: '+6 months' }, '2026-11-30T23:00:00.000Z'],
  ])('of %j is %s', (settings, date) => {
    expect(due(settings)).toEqual([date, date])
  })

  it('is on the last day of a shorter month', () => {
    const of = { ...invoice, invoice_date: new Date('2026-01-30T23:00:00Z') }
    expect(due({ due_date_interval: '+1 month' }, of)[0]).toBe('2026-02-27T23:00:00.000Z')
  })

  const rule = (more: object) => ({
    due_date: [{ anchor_field: 'invoice_date', relative_time: '+1 day', ...more }],
  })
  it.each([
    [{ conditions: [{ field: 'account.country', op: 'eq', value: 'FR' }] }, true],
    [{ conditions: [{ field: 'account.country', op: 'ne', value: 'FR' }] }, false],
    [{ conditions: [{ field: 'account.country', op: 'in', value: ['DE', 'FR'] }] }, true],
    [{ conditions: [{ field: 'account.country', op: 'nin', value: ['FR'] }] }, false],
    [{ conditions: [{ field: 'account.tier', op: 'gte', value: 2 }] }, true],
    [{ conditions: [{ field: 'account.tier', op: 'gt', value: 2 }] }, false],
    [{ conditions: [{ field: 'account.tier', op: 'lt', value: 3 }] }, true],
    [{ conditions: [{ field: 'account.tier', op: 'lte', value: 1 }] }, false],
    [{ conditions: [{ field: 'account.none', op: 'gt', value: 0 }] }, false],
    [{ conditions: [{ field: 'account.none', op: 'exists', value: true }] }, false],
    [{ conditions: [{ field: 'account.tier', op: 'exists', value: true }] }, true],
    [{ invoice_type: ['regular'] }, true],
    [{ invoice_type: ['immediate'] }, false],
  ])('follows the first rule that holds: %j', (more, holds) => {
    const date = holds ? '2026-06-01T22:00:00.000Z' : '2026-06-14T22:00:00.000Z'
    expect(due(rule(more))[0]).toBe(date)
  })

  it('counts from the confirmation, by the second', () => {
    const rules = rule({ anchor_field: 'confirm_date' })
    expect(due(rules)[0]).toBe('2026-06-04T08:30:15.000Z')
  })

  it('has an earliest collection of its own', () => {
    const settings = { not_before: [{ anchor_field: 'end_date', relative_time: '+3 days' }] }
    expect(due(settings)).toEqual(['2026-06-14T22:00:00.000Z', '2026-06-03T22:00:00.000Z'])
  })

  it('has defaults if the stored settings are invalid', () => {
    expect(BILLRUN.read({ due_date_interval: 'soon' }).due_date_interval).toBe('+14 days')
    expect(BILLRUN.read(7)).toMatchObject({
      max_failed_percent: 1,
      upfront: { correct_tax: false },
    })
  })
})
