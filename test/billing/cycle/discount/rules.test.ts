/** Exclusions, proration, limits and order of discounts. */
import { describe, expect, it } from 'vitest'
import type { Fields } from '../../../../src/domain/fields.ts'
import { cycle, daily, from, GOLD, IRON, lineOf, to, when } from '../../../support/billing/april.ts'
import { adjust, amountsOf, chargeOf, cycleOf, onPlan } from '../../../support/billing/cycle.ts'

describe('exclusions', () => {
  const discount = (key: string, priority: number, more: Fields = {}) => ({
    key,
    type: 'monetary',
    priority,
    subject: { monthly_fees: { value: 30 } },
    ...more,
  })
  const lines = [lineOf(1), lineOf(2)]
  const subscribers = { 1: [GOLD], 2: [IRON] }
  const keys = (discounts: readonly Fields[]) =>
    adjust({ cycle, discounts, lines, subscribers }).map(
      ({ key, sid, amount }) => `${key} ${sid} ${amount}`,
    )

  it('are per subscriber and day', () => {
    const half = { from: '2026-04-16', excludes: ['B'], ...when(onPlan('GOLD')) }
    const both = [discount('B', 1), discount('A', 2, half)]
    expect(keys(both)).toEqual(['A 1 -15', 'B 1 -15', 'B 2 -30'])
  })

  it('work on one that comes first, too', () => {
    const both = [discount('B', 3), discount('A', 2, { excludes: ['B'] })]
    expect(keys(both)).toEqual(['A 1 -30', 'A 2 -30'])
  })

  it('have no effect where the excluding one is excluded itself', () => {
    const all = [
      discount('A', 3, { excludes: ['B'] }),
      discount('B', 2, { excludes: ['C'] }),
      discount('C', 1),
    ]
    expect(keys(all)).toEqual(['A 1 -30', 'A 2 -30', 'C 1 -30', 'C 2 -30'])
  })
})

describe('proration', () => {
  /** 11 to 20 April. */
  const line = (prorated: [boolean, boolean]) =>
    chargeOf(cycle, { name: 'P', from: '2026-04-11', to: '2026-04-21', fullPrice: 3000, prorated })
  const found = (fields: Fields, prorated: [boolean, boolean] = [true, true]) =>
    amountsOf(
      adjust({
        cycle,
        discounts: [
          { key: 'D', type: 'monetary', subject: { plan: { P: { value: 30 } } }, ...fields },
        ],
        lines: [line(prorated)],
      }),
    )

  it.each([
    ['inherited from a whole charge', {}, [true, true], -10],
    ['inherited, start', { proration: 'inherited' }, [true, false], -20],
    ['inherited, end', { proration: 'inherited' }, [false, true], -20],
    ['inherited from one without', {}, [false, false], -30],
    ['yes', { proration: 'yes' }, [false, false], -10],
    ['yes, not at the start', { proration: 'yes', prorated_start: 'false' }, [true, true], -20],
    ['yes, not at the end', { proration: 'yes', prorated_end: false }, [true, true], -20],
    ['no', { proration: 'no' }, [true, true], -30],
    ['no, although it begins later', { proration: 'no', from: '2026-04-15' }, [true, true], -30],
    ['yes, it begins later', { proration: 'yes', from: '2026-04-15' }, [true, true], -6],
  ] as const)('%s', (_, fields, prorated, expected) => {
    expect(found(fields, [...prorated])).toEqual([expected])
  })

  it('no: is granted once, however often the conditions change', () => {
    const discount = daily({ proration: 'no', ...when(onPlan('GOLD')) })
    const revisions = [to('06'), { ...from('06', IRON), to: '2026-04-21' }, from('21')]
    const run = { cycle, discounts: [discount], lines: [lineOf()], subscribers: { 1: revisions } }
    expect(amountsOf(adjust(run))).toEqual([-30])
  })

  it('of the charged amount: by the days of the charge', () => {
    const fields = { type: 'percentage', percentage_on_field: 'aprice' }
    const subject = { plan: { P: { value: 0.1 } } }
    expect(found({ ...fields, subject })).toEqual([-100])
    expect(found({ ...fields, subject, from: '2026-04-16' })).toEqual([-50])
  })
})

describe('limits', () => {
  const lines = [lineOf(1), lineOf(2)]

  it('of money are for the whole invoice', () => {
    const found = adjust({ cycle, discounts: [daily({ limit: '45' })], lines })
    expect(amountsOf(found)).toEqual([-30, -15])
    expect(found[1]?.uncappedAmount?.toNumber()).toBe(-30)
    expect(found[1]?.explain.notes).toContain('30 GBP is reduced to what is left: 15 GBP')
  })

  it('apply to conditional charges, which may be higher than the line', () => {
    const charge = { key: 'C', type: 'percentage', subject: { monthly_fees: { value: 1 } } }
    const discounts = [{ key: 'D', subject: { monthly_fees: { value: 1 } } }]
    const found = adjust({ cycle, discounts, charges: [{ ...charge, limit: 4000 }], lines })
    expect(amountsOf(found)).toEqual([-3000, -3000, 3000, 1000])
    expect(found[2]).toMatchObject({ kind: 'conditional_charge', sid: 1 })
  })
})

it('the charge of the next cycle is discounted by its own days', () => {
  const next = cycleOf('202606')
  const line = chargeOf(next, { name: 'P', isUpfront: true })
  const discount = {
    key: 'D',
    type: 'monetary',
    from: '2026-05-10',
    subject: { plan: { P: { value: 10 } } },
  }
  const [found] = adjust({ cycle, discounts: [discount], lines: [line] })
  expect(found).toMatchObject({ cycle: next, isUpfront: true })
  expect(found?.amount.toNumber()).toBeCloseTo((-10 * 22) / 31, 10)
  expect(found?.explain).toMatchObject({
    rule: 'amount',
    entity: { kind: 'discount', key: 'D' },
    from: '2026-05-10',
    to: '2026-06-01',
    factor: '22/31',
  })
})

it('the order is by priority, then by the end', () => {
  const discount = (key: string, more: Fields) => daily({ key, ...more })
  const discounts = [
    discount('LOW', { priority: '1' }),
    discount('SOON', { priority: 5, to: '2027-01-01' }),
    discount('LATE', { priority: '5', to: '2028-01-01' }),
    discount('NEGATIVE', { priority: -1 }),
    discount('NONE', {}),
  ]
  const found = adjust({ cycle, discounts, lines: [lineOf()] })
  expect(found.map(({ key }) => key)).toEqual(['LATE', 'SOON', 'LOW', 'NONE', 'NEGATIVE'])
})
