import { describe, expect, it } from 'vitest'
import { moneyFormat } from '../../../src/billing/currency.ts'
import { checkCharges, checkNegative } from '../../../src/billing/cycle/checks.ts'
import type { ChargeLine } from '../../../src/billing/cycle/lines.ts'
import { Exact } from '../../../src/rating/line-tax.ts'
import { date, expected, offer, subscribed } from '../../support/billing/account-cycle.ts'

const GBP = moneyFormat(826)

const LINE = expected({
  key: '202004',
  plans: [offer('PLAN', 100)],
  subscribers: subscribed('PLAN', '2020-01-01'),
})[0] as ChargeLine

const check =
  (...changes: Partial<ChargeLine>[]) =>
  () =>
    checkCharges(
      1,
      changes.map((change) => ({ ...LINE, ...change })),
      false,
      GBP,
    )

const span = (from: string, to: string) => ({
  startMs: date(from).getTime(),
  endMs: date(to).getTime(),
})

describe('charges', () => {
  it('of different names, subscribers, services or days are permitted', () => {
    expect(
      check(
        { span: span('2020-03-01', '2020-03-10') },
        { span: span('2020-03-10', '2020-04-01') },
        { name: 'OTHER' },
        { sid: 3 },
        { kind: 'service', serviceId: '1' },
        { kind: 'service', serviceId: '2' },
        { op: 'refund', amount: new Exact(-100) },
      ),
    ).not.toThrow()
  })

  it('of one name must not contain a day twice', () => {
    expect(
      check({ span: span('2020-03-01', '2020-03-11') }, { span: span('2020-03-10', '2020-04-01') }),
    ).toThrow('account 1: subscriber 2, plan PLAN: two charges contain 2020-03-10')
  })

  it.each([
    [{ amount: new Exact('100.01') }, false],
    [{ amount: new Exact('-100.01'), op: 'refund' as const }, false],
    [{ amount: new Exact(200), quantity: 2 }, true],
    [{ amount: new Exact('200.01'), quantity: 2 }, false],
  ])('%j: %s', (change, isPermitted) => {
    if (isPermitted) expect(check(change)).not.toThrow()
    else expect(check(change)).toThrow('is above the full price 100 GBP ×')
  })
})

describe('a total', () => {
  it.each([
    ['-1', false, false],
    ['-1', true, true],
    ['0', false, true],
    ['-0', false, true],
    ['1', false, true],
  ])('of %s with a reason (%s): %s', (total, hasReason, isPermitted) => {
    const of = () => checkNegative(1, new Exact(total), hasReason, GBP)
    if (isPermitted) expect(of).not.toThrow()
    else expect(of).toThrow('account 1: invoice: the total -1 GBP is negative without')
  })
})
