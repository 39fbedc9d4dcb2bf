/** An account against a simple model that walks through the days of the cycle. */
import { describe, expect, it } from 'vitest'
import { computeAccount } from '../../../src/billing/cycle/compute.ts'
import { cycleSpan } from '../../../src/billing/cycle/cycle-key.ts'
import type { StoredRevision } from '../../../src/billing/cycle/input.ts'
import type { CycleSpan } from '../../../src/billing/cycle/lines.ts'
import { Exact } from '../../../src/rating/line-tax.ts'
import { accountCycle, expected, offer, subscriber } from '../../support/billing/account-cycle.ts'

const DAY_MS = 86_400_000
const ZONE = 'UTC'
const UTC = { zone: ZONE, cycleDay: 1 }

/** Repeatable numbers in [0, 1). */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return state / 2_147_483_648
  }
}

interface Period {
  readonly plan: string
  readonly from: number
  readonly to: number
}

/** Different plans that follow each other, with gaps; days count from the start of the cycle. */
function periodsOf(random: () => number, days: number): Period[] {
  const periods: Period[] = []
  let at = Math.floor(random() * 10) - 5
  let last = 0
  while (at < days + 5 && periods.length < 5) {
    const length = 1 + Math.floor(random() * 15)
    last = (last + 1 + Math.floor(random() * 2)) % 3
    periods.push({ plan: `P${last}`, from: at, to: at + length })
    at += length + (random() < 0.3 ? 1 + Math.floor(random() * 5) : 0)
  }
  return periods
}

/** Price of a plan per cycle in a month since its activation. */
const TIERS = [
  { plan: 'P0', prices: [[0, null, 31]] },
  {
    plan: 'P1',
    prices: [
      [0, 1, 62],
      [1, null, 93],
    ],
  },
  { plan: 'P2', prices: [[0, null, 0.1]] },
] as const

function priceOn(plan: string, monthsSince: number): number {
  const tiers = TIERS.find((one) => one.plan === plan)?.prices ?? []
  const tier = tiers.find(([from, to]) => monthsSince >= from && (to === null || monthsSince < to))
  return tier?.[2] ?? 0
}

function monthsSince(startMs: number, atMs: number): number {
  const [start, at] = [new Date(startMs), new Date(atMs)]
  const months =
    (at.getUTCFullYear() - start.getUTCFullYear()) * 12 + at.getUTCMonth() - start.getUTCMonth()
  const last = new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 0)).getUTCDate()
  return at.getUTCDate() >= Math.min(start.getUTCDate(), last) ? months : months - 1
}

/** A service that is held within the cycle, and a discount on plan P0. */
interface Extras {
  readonly service: Omit<Period, 'plan'> & { readonly quantity: number }
  readonly discount: Omit<Period, 'plan'>
}

const SERVICE_PRICE = 12.4
const DISCOUNT = 0.2
const TAX = 0.17

function within(random: () => number, days: number): Omit<Period, 'plan'> {
  const from = Math.floor(random() * days)
  return { from, to: from + 1 + Math.floor(random() * (days - from)) }
}

/** The cost of one day, before tax. */
function dayCost(day: number, periods: readonly Period[], extras: Extras, cycle: CycleSpan) {
  const isOn = ({ from, to }: Omit<Period, 'plan'>) => day >= from && day < to
  const period = periods.find(isOn)
  if (period === undefined) return 0
  const startMs = cycle.startMs + period.from * DAY_MS
  const price = priceOn(period.plan, monthsSince(startMs, cycle.startMs + day * DAY_MS))
  const { service, discount } = extras
  const services = isOn(service) ? SERVICE_PRICE * service.quantity : 0
  const granted = period.plan === 'P0' && isOn(discount) ? price * DISCOUNT : 0
  return price - granted + services
}

function accountOf(periods: readonly Period[], { service, discount }: Extras, cycle: CycleSpan) {
  const at = (day: number) => new Date(cycle.startMs + day * DAY_MS)
  const services = [
    { name: 'S', from: at(service.from), to: at(service.to), quantity: service.quantity },
  ]
  const subscribers = periods.map(
    ({ plan, from, to }): StoredRevision => ({
      ...subscriber(plan, { from: '2024-01-01' }),
      from: at(from),
      to: at(to),
      plan_activation: at(from),
      activation_date: new Date(0),
      deactivation_date: new Date('2170-01-01'),
      services,
    }),
  )
  const conditions = [{ subscriber: [{ fields: [{ field: 'plan', op: 'in', value: ['P0'] }] }] }]
  const discounts = [
    {
      key: 'D',
      from: at(discount.from),
      to: at(discount.to),
      proration: 'yes',
      params: { conditions },
      subject: { plan: { P0: { value: DISCOUNT } } },
    },
  ]
  return {
    subscribers,
    discounts,
    plans: TIERS.map(({ plan, prices }) => offer(plan, prices)),
    services: [offer('S', SERVICE_PRICE, { quantitative: true })],
  }
}

describe('the invoice of an account', () => {
  it.each(Array.from({ length: 200 }, (_, seed) => [seed]))(
    'is the sum of its days (seed %i)',
    (seed) => {
      const random = randomFrom(seed + 1)
      const month = 1 + Math.floor(random() * 12)
      const cycleDay = random() < 0.5 ? 1 : 1 + Math.floor(random() * 28)
      const calendar = { ...UTC, cycleDay }
      const key = `2024${String(month).padStart(2, '0')}`
      const cycle = cycleSpan(key, calendar)
      const periods = periodsOf(random, cycle.days)
      const quantity = 1 + Math.floor(random() * 3)
      const extras = {
        service: { ...within(random, cycle.days), quantity },
        discount: within(random, cycle.days),
      }
      let expected = 0
      for (let day = 0; day < cycle.days; day += 1) {
        expected += dayCost(day, periods, extras, cycle) / cycle.days
      }
      const given = { key, calendar, ...accountOf(periods, extras, cycle) }
      const found = computeAccount(accountCycle(given))
      expect(found?.invoice.totals.before_vat).toBeCloseTo(expected, 9)
      expect(found?.invoice.totals.after_vat).toBeCloseTo(expected * (1 + TAX), 9)
      const sum = (amount: 'aprice' | 'final_charge') =>
        (found?.lines ?? []).reduce((all, { exact }) => all.plus(exact[amount]), new Exact(0))
      expect(found?.invoice.totals.exact).toMatchObject({
        before_vat: sum('aprice').toString(),
        after_vat: sum('final_charge').toString(),
      })
    },
  )
})

describe('proration', () => {
  it.each(Array.from({ length: 100 }, (_, seed) => [seed]))(
    'of any partition of a cycle adds up to the whole (seed %i)',
    (seed) => {
      const random = randomFrom(seed + 1000)
      const cycleDay = 1 + Math.floor(random() * 28)
      const zone = ['UTC', 'Asia/Jerusalem', 'America/New_York'][seed % 3] as string
      const calendar = { zone, cycleDay }
      const key = `20${24 + (seed % 3)}${String(1 + Math.floor(random() * 12)).padStart(2, '0')}`
      const cycle = cycleSpan(key, calendar)
      const cuts = Array.from({ length: 1 + Math.floor(random() * 6) }, () =>
        Math.floor(random() * cycle.days),
      )
      const days = [...new Set([0, ...cuts, cycle.days])].sort((one, other) => one - other)
      const price = Math.floor(random() * 100_000) / 100
      const plans = days.map((day) => offer(`P${day}`, price))
      const starts = days.map((day) => startOfDay(cycle.startMs, day, calendar.zone))
      const subscribers = days.slice(0, -1).map(
        (day, index): StoredRevision => ({
          ...subscriber(`P${day}`, { from: '2020-01-01' }, {}, calendar),
          from: new Date(starts[index] as number),
          to: new Date(starts[index + 1] as number),
        }),
      )
      const lines = expected({ key, calendar, plans, subscribers })
      expect(lines).toHaveLength(days.length - 1)
      const sum = lines.reduce((all, { amount }) => all.plus(amount), new Exact(0))
      // Each amount has 12 decimals.
      expect(sum.minus(price).abs().toNumber()).toBeLessThan(1e-11)
      const shares = lines.map(({ span }) => span.endMs - span.startMs)
      expect(shares.reduce((all, share) => all + share, 0)).toBe(cycle.endMs - cycle.startMs)
    },
  )
})

/** Midnights are at most a day and an hour apart. */
function startOfDay(startMs: number, day: number, zone: string): number {
  const guess = startMs + day * DAY_MS
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    hour: 'numeric',
  })
  for (const shift of [0, 3_600_000, -3_600_000]) {
    if (Number(format.format(guess + shift)) === 0) return guess + shift
  }
  throw new Error('no midnight')
}
