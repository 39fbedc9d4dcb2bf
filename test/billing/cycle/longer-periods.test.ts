/** Periods of several cycles, over many runs, against a model that walks through the days. */
import { describe, expect, it } from 'vitest'
import { computeAccount } from '../../../src/billing/cycle/compute.ts'
import type { StoredRevision } from '../../../src/billing/cycle/input.ts'
import { type BillingCalendar, cycleSpan, keyAfter, keyAt } from '../../../src/billing/cycle-key.ts'
import type { CycleLineDocument } from '../../../src/catalog/records/cycle-line.ts'
import { FOREVER_MS } from '../../../src/domain/time.ts'
import { Exact } from '../../../src/rating/line-tax.ts'
import {
  accountCycle,
  adjustment,
  compute,
  date,
  type Given,
  offer,
  ofPlan,
  subscriber,
} from '../../support/billing/account-cycle.ts'

const UTC: BillingCalendar = { zone: 'UTC', cycleDay: 1 }
const FOREVER = new Date(FOREVER_MS)
const DAY_MS = 86_400_000

/** What is known of the subscriber when a cycle is run. */
type Knowledge = (key: string) => readonly StoredRevision[]

/** All lines of the runs from one key to another, each of which knows the earlier ones. */
function runs(first: string, last: string, given: Omit<Given, 'key'>, known: Knowledge) {
  const lines: CycleLineDocument[] = []
  const done: string[] = []
  for (let key = first; key <= last; key = keyAfter(key)) {
    const all = known(key)
    const base = accountCycle({ ...given, key })
    const { cycle, next } = base
    const input = {
      ...base,
      subscribers: all.filter(({ from, to }) => +from < next.endMs && +to > cycle.startMs),
      written: lines.filter(({ billrun }) => billrun === keyAfter(key, -1)),
      periods: { account: base.account, subscribers: all, written: [...lines], runs: [...done] },
      hasPreviousRun: key !== first,
    }
    lines.push(...(computeAccount(input)?.lines ?? []))
    done.push(key)
  }
  return lines
}

function sum(lines: readonly CycleLineDocument[], isCharge = true): number {
  return lines
    .filter(({ type }) => (type !== 'credit') === isCharge)
    .reduce((all, line) => all.plus(line.charge_amount), new Exact(0))
    .toNumber()
}

function show(lines: readonly CycleLineDocument[]) {
  return lines.map((line) => {
    const amount = new Exact(line.charge_amount).toDecimalPlaces(6).toNumber()
    return `${line.billrun} ${line.type} ${line.charge_op} ${amount} ${line.explain.from} ${line.explain.to}`
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
      // Of 2024, which has 366 days.
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
    const of = (key: string, to?: string, written: object[] = [imported]) => {
      const subscribers = [since('2020-01-01', to)]
      const base = accountCycle({ ...given, key, subscribers })
      const periods = { account: base.account, subscribers, written: written as never[], runs: [] }
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

it('a supposed end of a year is seen by the invoice of its cycle', () => {
  const found = compute({
    key: '202502',
    calendar: UTC,
    plans: [offer('YEAR', 365, { ...YEAR, upfront: true })],
    subscribers: [since('2025-01-01', '2025-01-11')],
  })
  expect(sum(found.lines)).toBe(10)
})

/** Repeatable numbers in [0, 1). */
function randomFrom(seed: number): () => number {
  let state = seed * 7919 + 17
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return state / 2_147_483_648
  }
}

interface Stay {
  readonly from: number
  /** Null: it goes on. */
  readonly to: number | null
}

/** Number of the month in whose cycle a day is. */
function monthOf(number: number, cycleDay: number): number {
  const at = new Date(number * DAY_MS)
  const month = at.getUTCFullYear() * 12 + at.getUTCMonth()
  return at.getUTCDate() < cycleDay ? month - 1 : month
}

function firstDay(month: number, cycleDay: number): number {
  return Date.UTC(Math.floor(month / 12), month % 12, cycleDay) / DAY_MS
}

/** The same day of a later month, the last one of a shorter month. */
function laterDay(number: number, months: number): number {
  const at = new Date(number * DAY_MS)
  const month = at.getUTCFullYear() * 12 + at.getUTCMonth() + months
  const next = Date.UTC(Math.floor((month + 1) / 12), (month + 1) % 12, 1) / DAY_MS
  const first = Date.UTC(Math.floor(month / 12), month % 12, 1) / DAY_MS
  return Math.min(first + at.getUTCDate() - 1, next - 1)
}

interface Terms {
  readonly months: number
  readonly start: number | null
  readonly cycleDay: number
  /** Of the first period since the activation, and of the later ones. */
  readonly prices: readonly [number, number]
}

/** Begin and end of the period that contains a day. */
function periodOfDay(at: number, begin: number, { months, start, cycleDay }: Terms) {
  const year = new Date(begin * DAY_MS).getUTCFullYear()
  const anchor = start === null ? monthOf(begin, cycleDay) : year * 12 + start - 1
  const number = Math.floor((monthOf(at, cycleDay) - anchor) / months)
  const [first, after] = [number, number + 1].map((each) =>
    firstDay(anchor + each * months, cycleDay),
  )
  return [first as number, after as number] as const
}

/** The cost of a stay: of each day its part of the price of its period. */
function costOf({ from, to }: Stay, terms: Terms, end: number) {
  const { months, prices } = terms
  let cost = 0
  for (let at = from; at < Math.min(to ?? end, end); at += 1) {
    const [first, after] = periodOfDay(at, from, terms)
    cost += (at < laterDay(from, months) ? prices[0] : prices[1]) / (after - first)
  }
  return cost
}

describe('over many runs', () => {
  it.each(Array.from({ length: 150 }, (_, seed) => [seed]))(
    'the charges are the sum of the days (seed %i)',
    (seed) => {
      const random = randomFrom(seed)
      const whole = (max: number) => Math.floor(random() * max)
      const cycleDay = random() < 0.4 ? 1 : 1 + whole(28)
      const months = [2, 3, 6, 12][whole(4)] as number
      const start = random() < 0.5 ? null : 1 + whole(12)
      const terms: Terms = { months, start, cycleDay, prices: [365, random() < 0.5 ? 365 : 500] }
      const calendar = { ...UTC, cycleDay }
      const begin = Date.UTC(2024, whole(12), 1 + whole(28)) / DAY_MS
      const end = begin + 1 + whole(500)
      const stays: Stay[] = [{ from: begin, to: end }]
      // Another stay may begin later, and goes on.
      if (random() < 0.3) stays.push({ from: end + 1 + whole(90), to: null })
      const cut = begin + 1 + whole(400)
      // A wrong end is known for a time, and the right one late, within its period.
      const endKey: string = keyAt(end * DAY_MS - 1, calendar)
      const [periodFirst, periodAfter] = periodOfDay(end - 1, begin, terms)
      const late = keyAfter(endKey, whole(3))
      const isLate = cycleSpan(late, calendar).endMs / DAY_MS <= periodAfter
      const knownAt = isLate ? late : endKey
      const wrongFrom = Math.max(begin, periodFirst) + 1
      const wrong = random() < 0.4 ? wrongFrom + whole(periodAfter - wrongFrom) : null
      const known = (key: string): StoredRevision[] => {
        const spanEnd = cycleSpan(key, calendar).endMs / DAY_MS
        const told = key >= knownAt ? end : wrong !== null && wrong < spanEnd ? wrong : null
        return stays.flatMap(({ from, to }, index) => {
          if (from >= spanEnd) return []
          const until = index === 0 ? told : to
          const at = (number: number) => new Date(number * DAY_MS)
          const revision = (a: number, b: number | null): StoredRevision => ({
            ...subscriber('PLAN', { from: '2020-01-01' }, {}, calendar),
            from: at(a),
            to: b === null ? FOREVER : at(b),
            plan_activation: at(from),
            activation_date: at(begin),
            deactivation_date: FOREVER,
          })
          const isCut = index === 0 && cut > from && (until === null || cut < until)
          return isCut ? [revision(from, cut), revision(cut, until)] : [revision(from, until)]
        })
      }
      const recurrence = { frequency: months, ...(start !== null && { start }) }
      const prices = [
        [0, 1, terms.prices[0]],
        [1, null, terms.prices[1]],
      ] as const
      const isUpfront = random() < 0.5
      const discounts = [
        adjustment('D', {
          from: new Date(0),
          proration: 'yes',
          params: ofPlan('PLAN'),
          subject: { plan: { PLAN: { value: 0.2 } } },
        }),
      ]
      const plans = [offer('PLAN', prices, { recurrence, upfront: isUpfront })]
      const first = keyAt(begin * DAY_MS, calendar)
      // Up to the end of a period, so that all of it has been charged.
      const last = keyAfter(knownAt, 14)
      const given = { calendar, plans, discounts }
      // Of a stay that goes on only periods that are over.
      const lastEnd = cycleSpan(last, calendar).endMs / DAY_MS
      const lines = runs(first, last, given, known).filter((line) => line.charged_billrun <= last)
      const expected = stays.reduce((all, stay) => {
        const [periodStart, periodEnd] = periodOfDay(lastEnd - 1, stay.from, terms)
        return all + costOf(stay, terms, periodEnd <= lastEnd ? periodEnd : periodStart)
      }, 0)
      expect(sum(lines)).toBeCloseTo(expected, 6)
      expect(sum(lines, false)).toBeCloseTo(-0.2 * expected, 6)
    },
  )
})
