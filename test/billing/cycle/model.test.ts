/** An account against a simple model that walks through the days of the cycle. */
import { describe, expect, it } from 'vitest'
import type { StoredRevision } from '../../../src/billing/cycle/input.ts'
import { cycleSpan } from '../../../src/billing/cycle-key.ts'
import { offer, subscriber, total, wanted } from '../../support/billing/account-cycle.ts'

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

describe('the charges of an account', () => {
  it.each(Array.from({ length: 200 }, (_, seed) => [seed]))(
    'are those of each day (seed %i)',
    (seed) => {
      const random = randomFrom(seed + 1)
      const month = 1 + Math.floor(random() * 12)
      const cycleDay = random() < 0.5 ? 1 : 1 + Math.floor(random() * 28)
      const calendar = { ...UTC, cycleDay }
      const key = `2024${String(month).padStart(2, '0')}`
      const cycle = cycleSpan(key, calendar)
      const periods = periodsOf(random, cycle.days)
      let expected = 0
      for (let day = 0; day < cycle.days; day += 1) {
        const period = periods.find(({ from, to }) => day >= from && day < to)
        if (period === undefined) continue
        const [startMs, atMs] = [period, { from: day }].map(
          ({ from }) => cycle.startMs + from * DAY_MS,
        ) as [number, number]
        expected += priceOn(period.plan, monthsSince(startMs, atMs)) / cycle.days
      }
      const subscribers = periods.map(({ plan, from, to }): StoredRevision => {
        const [start, end] = [from, to].map((day) => new Date(cycle.startMs + day * DAY_MS))
        return {
          ...subscriber(plan, { from: '2024-01-01' }),
          from: start as Date,
          to: end as Date,
          plan_activation: start,
          activation_date: new Date(0),
          deactivation_date: new Date('2170-01-01'),
        }
      })
      const plans = TIERS.map(({ plan, prices }) => offer(plan, prices))
      const lines = wanted({ key, calendar, plans, subscribers })
      expect(total(lines)).toBeCloseTo(expected, 9)
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
      const lines = wanted({ key, calendar, plans, subscribers })
      expect(lines).toHaveLength(days.length - 1)
      const sum = lines.reduce((all, { amount }) => all.plus(amount), lines[0]!.amount.times(0))
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
