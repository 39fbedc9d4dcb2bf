/** Charges of longer periods over many runs, against a model that walks through the days. */
import { describe, expect, it } from 'vitest'
import { cycleSpan, keyAfter, keyAt } from '../../../src/billing/cycle/cycle-key.ts'
import type { StoredRevision } from '../../../src/billing/cycle/input.ts'
import { adjustment, offer, ofPlan, subscriber } from '../../support/billing/account-cycle.ts'
import { FOREVER, runs, sum, UTC } from '../../support/billing/runs.ts'

const DAY_MS = 86_400_000

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
  /** Null if it goes on. */
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
  /** Prices of the first period since the activation, and of the later ones. */
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
      // A stay that goes on counts with the periods that are over.
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
