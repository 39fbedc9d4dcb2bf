/** Discounts against a model that counts day by day, and bounds that always hold. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Exact } from '../../../../src/catalog/records/money/exact-amount.ts'
import { adjust, chargeOf, cycleOf, onPlan } from '../../../support/billing/cycle.ts'
import { propertyRuns } from '../../../support/domain/property-runs.ts'

const cycle = cycleOf('202605')
const DAYS = 30
const date = (day: number) => {
  return day < DAYS ? `2026-04-${String(day + 1).padStart(2, '0')}` : '2026-05-01'
}

/** Hours after midnight at which things change: the day counts for what was before, and after. */
const anyDay = fc.integer({ min: 0, max: DAYS - 1 })

interface Part {
  value: number
  isSequential: boolean
  from: number
  to: number
  /** Whether only days with the plan count. */
  isOnPlan: boolean
}

const anyPart: fc.Arbitrary<Part> = fc
  .record({
    value: fc.integer({ min: 1, max: 100 }),
    isSequential: fc.boolean(),
    days: fc.tuple(anyDay, anyDay),
    isOnPlan: fc.boolean(),
  })
  .map(({ days: [one, other], ...rest }) => {
    return { ...rest, from: Math.min(one, other), to: Math.max(one, other) + 1 }
  })

const anyCase = fc.record({
  fullPrice: fc.integer({ min: 1, max: 100_000 }).map((cents) => cents / 100),
  plans: fc.array(fc.boolean(), { minLength: DAYS, maxLength: DAYS }),
  parts: fc.array(anyPart, { minLength: 1, maxLength: 5 }),
  days: fc.tuple(anyDay, anyDay),
})

type Case = {
  fullPrice: number
  plans: boolean[]
  parts: Part[]
  days: [number, number]
}

/** One revision per day. */
function revisionsOf(plans: readonly boolean[]) {
  return plans.map((isGold, day) => {
    return { plan: isGold ? 'GOLD' : 'IRON', from: date(day), to: date(day + 1) }
  })
}

function found({ fullPrice, plans, parts, days }: Case) {
  const [from, to] = [Math.min(...days), Math.max(...days) + 1]
  const line = chargeOf(cycle, {
    kind: 'service',
    name: 'S',
    fullPrice,
    from: date(from),
    to: date(to),
  })
  const discounts = parts.map((part, index) => ({
    key: `D${index}`,
    priority: parts.length - index,
    from: date(part.from),
    to: date(part.to),
    params: { conditions: part.isOnPlan ? [onPlan('GOLD')] : [] },
    subject: { service: { S: { value: part.value / 100, sequential: part.isSequential } } },
  }))
  const subscribers = { 1: revisionsOf(plans) }
  return { line, lines: adjust({ cycle, discounts, lines: [line], subscribers }) }
}

/** Amounts per discount and interval of days, and what every day has lost, in order. */
function model({ fullPrice, plans, parts, days }: Case): number[] {
  const [first, end] = [Math.min(...days), Math.max(...days) + 1]
  const ofDay = fullPrice / DAYS
  const lost = new Array<number>(DAYS).fill(0)
  let left = ofDay * (end - first)
  const amounts: number[] = []
  for (const part of parts) {
    const isDay = (day: number) =>
      day >= first &&
      day < end &&
      day >= part.from &&
      day < part.to &&
      (!part.isOnPlan || plans[day] === true)
    for (let day = 0; day < DAYS; day += 1) {
      if (!isDay(day) || isDay(day - 1)) continue
      const interval: number[] = []
      for (let next = day; isDay(next); next += 1) interval.push(next)
      const open = interval.reduce(
        (sum, each) => sum + ofDay - (part.isSequential ? (lost[each] ?? 0) : 0),
        0,
      )
      const expected = (Math.max(open, 0) * part.value) / 100
      const amount = Math.min(expected, left)
      if (amount < 1e-9) continue
      left -= amount
      amounts.push(amount)
      for (const each of interval) lost[each] = (lost[each] ?? 0) + amount / interval.length
    }
  }
  return amounts
}

describe('percentage discounts', () => {
  it('are those of a model that counts day by day', () => {
    fc.assert(
      fc.property(anyCase, (given) => {
        const { lines } = found(given)
        const amounts = lines.map(({ amount }) => -amount.toNumber())
        const expected = model(given)
        const visible = amounts.filter((amount) => amount >= 1e-9)
        expect(visible.length).toBe(expected.length)
        for (const [index, amount] of visible.entries()) {
          expect(Math.abs(amount - (expected[index] ?? 0))).toBeLessThan(1e-8)
        }
      }),
      propertyRuns(2000),
    )
  })

  it('take no charge below 0, and have at most 12 decimals', () => {
    fc.assert(
      fc.property(anyCase, (given) => {
        const { line, lines } = found(given)
        const left = lines.reduce((sum, { amount }) => sum.plus(amount), new Exact(line.amount))
        expect(left.isNegative() && !left.isZero()).toBe(false)
        for (const { amount } of lines) {
          expect(amount.isNegative()).toBe(true)
          expect(amount.decimalPlaces()).toBeLessThanOrEqual(12)
        }
      }),
      propertyRuns(2000),
    )
  })
})
