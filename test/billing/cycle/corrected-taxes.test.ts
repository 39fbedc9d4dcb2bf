import { describe, expect, it } from 'vitest'
import type { AccountInvoice } from '../../../src/billing/cycle/compute.ts'
import { importedLine } from '../../../src/catalog/records/money/imported-line.ts'
import type { TaxContext } from '../../../src/rating/price.ts'
import {
  adjustment,
  compute,
  date,
  type Given,
  offer,
  ofPlan,
  subscriber,
} from '../../support/billing/account-cycle.ts'
import { taxationOf } from '../../support/billing/cycle.ts'

const UTC = { zone: 'UTC', cycleDay: 1 }

/** One tax whose rate changes: [rate, since] in order. */
function vat(...rates: readonly (readonly [string, string])[]): TaxContext {
  const revisions = rates.map(([rate, since], index) => {
    const [revision] = taxationOf({ VAT: rate }).taxes.get('VAT') ?? []
    if (revision === undefined) throw new Error('no tax')
    const next = rates[index + 1]?.[1]
    const toMs = next === undefined ? revision.toMs : date(next, UTC).getTime()
    return { ...revision, fromMs: date(since, UTC).getTime(), toMs }
  })
  return { ...taxationOf({ VAT: '0' }), taxes: new Map([['VAT', revisions]]) }
}

const RAISED = vat(['0.19', '2020-01-01'], ['0.25', '2024-02-10'])
const MONTH = offer('PLAN', 100, { upfront: true })
const yearly = (price: number) =>
  offer('PLAN', price, { upfront: true, recurrence: { frequency: 12, start: 1 } })

const TENTH = adjustment('TENTH', {
  ...ofPlan('PLAN'),
  subject: { plan: { PLAN: { value: 0.1 } } },
})
const whole = (mode: string) => ({ rounding_type: mode, rounding_decimals: 0 })

/** `prior`: lines of a run before, as it stores them. */
type Changed = Omit<Given, 'key' | 'prior'> & { readonly prior?: readonly object[] }

function run(key: string, given: Changed): AccountInvoice {
  const of = { calendar: UTC, plans: [MONTH], taxation: RAISED, ...given }
  return compute({ ...of, key } as Given)
}

/** The lines of a run, as it stores them, except those that it charges ahead. */
function corrections({ lines }: AccountInvoice) {
  return lines
    .filter(({ is_upfront: ahead }) => !ahead)
    .map((line) => [
      line.type === 'credit' ? line.key : line.name,
      Number(line.final_charge.toFixed(2)),
      line.tax_data.taxes.map(({ tax }) => tax),
    ])
}

const ending = (to?: string, from = '2023-01-01') => [
  subscriber('PLAN', to === undefined ? { from } : { from, to }, {}, UTC),
]
/** Lines of the run of January, which charged ahead for February, at 19 %. */
const charged = (more: Changed = {}) => run('202402', { subscribers: ending(), ...more }).lines

/** As from the file of another system. */
const imported = (line: object) => importedLine(JSON.parse(JSON.stringify(line)), 'UTC')

describe('a correction has the taxes of the line that it corrects', () => {
  it.each([
    ['2024-02-01', -119],
    ['2024-02-16', -57.45],
  ])('of a month that ended on %s', (to, amount) => {
    const written = charged().filter(({ is_upfront: ahead }) => ahead)
    expect(written.map(({ final_charge: total }) => total)).toEqual([119])
    const after = run('202403', { subscribers: ending(to), prior: written })
    expect(corrections(after)).toEqual([['PLAN', amount, [0.19]]])
  })

  it('but a plan that was not charged has those in force', () => {
    const other = subscriber('OTHER', { from: '2024-02-16' }, {}, UTC)
    const plans = [MONTH, offer('OTHER', 58, { upfront: true })]
    const subscribers = [{ ...ending()[0], to: other.from }, other] as Given['subscribers'] & object
    expect(corrections(run('202403', { plans, subscribers, prior: charged() }))).toEqual([
      ['PLAN', -57.45, [0.19]],
      ['OTHER', 35, [0.25]],
    ])
  })

  it('also a part of it that now has a price of its own', () => {
    const dear = offer('PLAN', 200, { upfront: true, price_change: 'by_day' })
    const change = date('2024-02-16', UTC)
    const plans = [
      { ...offer('PLAN', 100, { upfront: true, price_change: 'by_day' }), to: change },
      { ...dear, from: change },
    ]
    const written = charged()
    const found = corrections(run('202403', { plans, subscribers: ending(), prior: written }))
    expect(found.map(([, , rates]) => rates)).toEqual([[0.19], [0.19]])
  })

  it('of a year with a discount', () => {
    const taxation = vat(['0.25', '2020-01-01'], ['0.07', '2025-02-10'])
    const given = { taxation, plans: [yearly(1200)], discounts: [TENTH] }
    const since = (to?: string) => ending(to, '2025-01-01')
    const before = run('202502', { ...given, subscribers: since() })
    expect(before.invoice.totals.after_vat).toBe(1350)
    const after = run('202503', {
      ...given,
      subscribers: since('2025-02-21'),
      prior: before.lines,
    })
    // 314 of 365 days of 1200 less 10 %, at 25 %.
    expect(after.invoice.totals.after_vat).toBeCloseTo((-1350 * 314) / 365, 9)
    expect(after.invoice.totals.after_vat_rounded).toBe(-1161.37)
  })

  it('and so has a discount that is granted on it later', () => {
    const discounts = [
      adjustment('LATE', { ...ofPlan('PLAN'), subject: { plan: { PLAN: { value: 1 } } } }),
    ]
    const after = run('202403', { discounts, subscribers: ending(), prior: charged() })
    expect(corrections(after)).toEqual([['LATE', -119, [0.19]]])
  })

  it('none if it had none', () => {
    const written = charged({ plans: [{ ...MONTH, tax: [{ type: 'vat', taxation: 'no' }] }] })
    const after = run('202403', { subscribers: ending('2024-02-01'), prior: written })
    expect(corrections(after)).toEqual([['PLAN', -100, []]])
  })

  it('that of an embedded tax is within the amount', () => {
    const taxation = vat(['0.19', '2020-01-01'])
    const [revision] = taxation.taxes.get('VAT') ?? []
    const embedded = { ...taxation, taxes: new Map([['VAT', [{ ...revision, isEmbedded: true }]]]) }
    const written = charged({ taxation: embedded as TaxContext })
    const [line] = run('202403', { subscribers: ending('2024-02-01'), prior: written }).lines
    expect(line).toMatchObject({ aprice: -119, final_charge: -119 })
  })

  it('also its rounding rules, and those of its discount', () => {
    const taxation = vat(['0', '2020-01-01'])
    const rounded = (plan: string, discount: string) => ({
      taxation,
      plans: [offer('PLAN', 33.4, { upfront: true, rounding_rules: whole(plan) })],
      discounts: [{ ...TENTH, rounding_rules: whole(discount) }],
    })
    const ahead = (given: Changed) => charged(given).filter(({ is_upfront: is }) => is)
    const written = ahead(rounded('up', 'up'))
    expect(written.map((line) => line.final_charge)).toEqual([34, -3])
    const subscribers = ending('2024-02-01')
    for (const now of [rounded('nearest', 'nearest'), rounded('None', 'None')]) {
      const after = run('202403', { ...now, subscribers, prior: written })
      expect(corrections(after).map(([, amount]) => amount)).toEqual([-34, 3])
    }
    const plain = ahead(rounded('None', 'None'))
    const after = run('202403', { ...rounded('up', 'up'), subscribers, prior: plain })
    expect(corrections(after).map(([, amount]) => amount)).toEqual([-33.4, 3.34])
    const former = written.map(({ rounding_rules: _, ...line }) => line)
    const unknown = run('202403', { ...rounded('up', 'up'), subscribers, prior: former })
    expect(corrections(unknown)[0]?.[1]).toBe(-34)
  })

  it('also that of another system, whose rules round the signed number', () => {
    const rounded = (mode: string) => ({
      taxation: vat(['0.19', '2020-01-01']),
      plans: [offer('PLAN', 33.4, { upfront: true, rounding_rules: whole(mode) })],
      discounts: [TENTH],
    })
    const exported = charged(rounded('up')).filter(({ is_upfront: ahead }) => ahead)
    expect(exported.map((line) => line.final_charge)).toEqual([40, -4])
    const written = exported.map((line) => {
      const ofDiscount = { rounding_rules: { ...line.rounding_rules, rounding_type: 'down' } }
      return imported({ ...line, ...(line.type === 'credit' && ofDiscount) })
    })
    const after = run('202403', {
      ...rounded('None'),
      subscribers: ending('2024-02-01'),
      prior: written,
    })
    expect(corrections(after).map(([, amount]) => amount)).toEqual([-40, 4])
  })

  it('also that of another system with an embedded tax', () => {
    const [revision] = vat(['0.19', '2020-01-01']).taxes.get('VAT') ?? []
    const embedded = new Map([['VAT', [{ ...revision, isEmbedded: true }]]])
    const taxation = { ...taxationOf({ VAT: '0' }), taxes: embedded } as TaxContext
    const [line] = charged({ taxation }).filter(({ is_upfront: ahead }) => ahead)
    const written = [imported({ ...line })]
    const [back] = run('202403', { subscribers: ending('2024-02-01'), prior: written }).lines
    expect(back).toMatchObject({ aprice: -119, final_charge: -119 })
  })

  it('that of another system is in force now, if its taxes were not imported', () => {
    const written = charged().map(({ tax_data: _, ...line }) => line)
    const after = run('202403', { subscribers: ending('2024-02-01'), prior: written })
    expect(corrections(after)).toEqual([['PLAN', -125, [0.25]]])
  })
})

describe('an extension of what was paid ahead', () => {
  const cents = (amount: number) => Number(amount.toFixed(2))

  it('has the taxes of its own days, with its discounts', () => {
    const discounts = [TENTH]
    const written = charged({ discounts, subscribers: ending('2024-02-16') })
    const after = run('202403', { discounts, subscribers: ending(), prior: written })
    expect(corrections(after)).toEqual([
      ['PLAN', cents((125 * 14) / 29), [0.25]],
      ['TENTH', cents((-12.5 * 14) / 29), [0.25]],
    ])
  })

  it('is before other taxes come into force', () => {
    const written = charged({ subscribers: ending('2024-02-06') })
    const after = run('202403', { subscribers: ending('2024-02-09'), prior: written })
    expect(corrections(after)).toEqual([['PLAN', cents((119 * 3) / 29), [0.19]]])
  })

  it('leaves the days before it their taxes if their price has changed', () => {
    const written = charged({ subscribers: ending('2024-02-16') })
    const plans = [offer('PLAN', 200, { upfront: true })]
    const after = run('202403', { plans, subscribers: ending(), prior: written })
    expect(corrections(after)).toEqual([
      ['PLAN', cents((119 * 15) / 29), [0.19]],
      ['PLAN', cents((250 * 14) / 29), [0.25]],
    ])
  })

  it('of a year is a charge of its own for the runs after it', () => {
    const discounts = [TENTH]
    const plans = [yearly(366)]
    const given = (to: string) => ({ plans, discounts, subscribers: ending(to, '2024-01-01') })
    const first = run('202402', given('2024-02-16')).lines
    const extended = run('202403', { ...given('2024-05-01'), prior: first })
    expect(corrections(extended)).toEqual([
      ['PLAN', 93.75, [0.25]],
      ['TENTH', -9.38, [0.25]],
    ])
    const written = [...first, ...extended.lines]
    expect(corrections(run('202404', { ...given('2024-05-01'), prior: written }))).toEqual([])
    expect(corrections(run('202404', { ...given('2024-04-01'), prior: written }))).toEqual([
      ['PLAN', -37.5, [0.25]],
      ['TENTH', 3.75, [0.25]],
    ])
    const shorter = run('202404', { ...given('2024-02-06'), prior: written })
    expect(corrections(shorter)).toEqual([
      ['PLAN', -11.9, [0.19]],
      ['PLAN', -93.75, [0.25]],
      ['TENTH', 1.19, [0.19]],
      ['TENTH', 9.38, [0.25]],
    ])
  })
})

describe('a change of the tax alone', () => {
  const settings = { correctTax: true }

  it('leaves what was paid ahead as it is, and is told', () => {
    const after = run('202403', { subscribers: ending(), prior: charged() })
    expect(corrections(after)).toEqual([])
    expect(after.taxChanges).toEqual([
      {
        sid: 2,
        kind: 'plan',
        name: 'PLAN',
        cycle: '202403',
        charged: '119',
        in_force: '125',
        difference: '6',
      },
    ])
  })

  it('is corrected by the rate at the end of the supply, if the setting says so', () => {
    const discounts = [TENTH]
    const written = charged({ discounts })
    const after = run('202403', { settings, discounts, subscribers: ending(), prior: written })
    expect(corrections(after)).toEqual([
      ['PLAN', 125, [0.25]],
      ['PLAN', -119, [0.19]],
      ['TENTH', -12.5, [0.25]],
      ['TENTH', 11.9, [0.19]],
    ])
    expect(after.taxChanges).toEqual([])
  })

  it('of a part of the month is corrected for that part', () => {
    const given = { settings, subscribers: ending('2024-02-16'), prior: charged() }
    expect(corrections(run('202403', given))).toEqual([
      ['PLAN', Number(((125 * 15) / 29).toFixed(2)), [0.25]],
      ['PLAN', -119, [0.19]],
    ])
  })

  it('after the supply is none', () => {
    const given = { settings, subscribers: ending('2024-02-06'), prior: charged() }
    const after = run('202403', given)
    const left = Number(((-119 * 24) / 29).toFixed(2))
    expect([corrections(after), after.taxChanges]).toEqual([[['PLAN', left, [0.19]]], []])
  })

  it('of a year that ended early is corrected once', () => {
    const taxation = vat(['0.19', '2020-01-01'], ['0.25', '2024-06-01'])
    const plans = [yearly(366)]
    const since = (to: string) => ending(to, '2024-01-01')
    const given = { taxation, plans, settings, subscribers: since('2024-07-01') }
    const { lines } = run('202402', given)
    const ended = run('202407', { ...given, prior: lines })
    expect(corrections(ended)).toEqual([
      ['PLAN', 227.5, [0.25]],
      ['PLAN', -216.58, [0.19]],
    ])
    const written = [...lines, ...ended.lines]
    const later = { ...given, subscribers: since('2024-06-21'), prior: written }
    expect(corrections(run('202408', later))).toEqual([['PLAN', -12.5, [0.25]]])
  })

  it('of a year is corrected when the year is over', () => {
    const taxation = vat(['0.19', '2020-01-01'], ['0.25', '2024-06-01'])
    const given = {
      taxation,
      plans: [yearly(1200)],
      subscribers: ending(undefined, '2024-01-01'),
      settings,
    }
    const before = run('202402', given)
    const written = before.lines
    expect(corrections(run('202408', { ...given, prior: written }))).toEqual([])
    const last = corrections(run('202501', { ...given, prior: written }))
    expect(last).toEqual([
      ['PLAN', 1500, [0.25]],
      ['PLAN', -1428, [0.19]],
    ])
  })
})
