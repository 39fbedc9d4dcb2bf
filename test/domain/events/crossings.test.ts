/** Random walks against a model that moves an amount by the smallest step at a time. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Constant, constantFrom } from '../../../src/domain/events/constant.ts'
import { reachedConstant, reachedMultiple } from '../../../src/domain/events/crossings.ts'
import { groupBucket, ruleOf, rulesOf, Walk } from '../../support/domain/counter-walk.ts'
import { propertyRuns } from '../../support/domain/property-runs.ts'

/** Tenths of a unit, so that constants may lie between two amounts. */
const TENTHS = 10

function constantOf(tenths: number): Constant {
  const sign = tenths < 0 ? '-' : ''
  const size = Math.abs(tenths)
  return constantFrom(`${sign}${Math.floor(size / TENTHS)}.${size % TENTHS}`) as Constant
}

/** The constants that are met on the way, in order: by a rise when reached, by a fall when left. */
function metOnTheWay(from: number, to: number, isConstant: (tenths: number) => boolean): number[] {
  const met: number[] = []
  for (let at = from; at < to; at += 1) if (isConstant(at + 1)) met.push(at + 1)
  for (let at = from; at > to; at -= 1) if (isConstant(at - 1)) met.push(at - 1)
  return met
}

/** By a fall below it: the interval of a multiple begins with it. */
function leftOnTheWay(from: number, to: number, isConstant: (tenths: number) => boolean): number[] {
  const left: number[] = []
  for (let at = from; at > to; at -= 1) if (isConstant(at)) left.push(at)
  return left
}

const walk = fc.array(fc.integer({ min: -30, max: 40 }), { minLength: 1, maxLength: 30 })

describe('any walk of an amount', () => {
  it('reports a constant exactly when one lies on its way', () => {
    const constants = fc.uniqueArray(fc.integer({ min: -300, max: 600 }), { maxLength: 6 })
    fc.assert(
      fc.property(walk, constants, (amounts, tenths) => {
        const sorted = [...tenths].sort((a, b) => a - b)
        const compiled = sorted.map(constantOf)
        let before = 0
        for (const after of amounts) {
          const met = metOnTheWay(before * TENTHS, after * TENTHS, (at) => tenths.includes(at))
          const found = reachedConstant(before, after, 'units', compiled)
          expect(found?.reported ?? null).toBe(met.length === 0 ? null : (met.at(-1) ?? 0) / TENTHS)
          before = after
        }
      }),
      propertyRuns(600),
    )
  })

  it('reports a multiple exactly when one lies on its way', () => {
    fc.assert(
      fc.property(walk, fc.integer({ min: 1, max: 150 }), (amounts, step) => {
        const constant = constantOf(step)
        const isMultiple = (at: number) => at % step === 0
        let before = 0
        for (const after of amounts) {
          const [from, to] = [before * TENTHS, after * TENTHS]
          const met =
            from < to ? metOnTheWay(from, to, isMultiple) : leftOnTheWay(from, to, isMultiple)
          const last = met.at(-1)
          const found = reachedMultiple(before, after, 'units', constant)
          expect(found === null ? null : found + 0).toBe(
            last === undefined ? null : last / TENTHS + 0,
          )
          before = after
        }
      }),
      propertyRuns(600),
    )
  })

  it('reports percentages as the constants that they are', () => {
    const total = fc.integer({ min: 1, max: 40 })
    const percentages = fc.uniqueArray(fc.integer({ min: 1, max: 150 }), {
      minLength: 1,
      maxLength: 4,
    })
    fc.assert(
      fc.property(walk, total, percentages, (amounts, of, list) => {
        const rule = ruleOf(
          { type: 'reached_percentage', value: list.join(',') },
          'balance.groups.G.usagev',
        )
        const run = new Walk(rulesOf(rule), groupBucket('G', of))
        let before = 0
        for (const amount of amounts) {
          const after = Math.abs(amount)
          const isConstant = (at: number) => list.some((percentage) => percentage * of === at)
          const met = metOnTheWay(before * 100, after * 100, isConstant)
          const [found, ...more] = run.step(after - before)
          expect(more).toEqual([])
          const last = met.at(-1)
          expect(found?.match.reached ?? null).toBe(last === undefined ? null : last / 100)
          expect(found?.match.percentage ?? null).toBe(last === undefined ? null : last / of)
          before = after
        }
      }),
      propertyRuns(600),
    )
  })

  it('is exact for amounts up to 2^53', () => {
    const large = Number.MAX_SAFE_INTEGER
    const third = constantOf(1)
    expect(reachedMultiple(large - 1, large, 'money', third)).toBeNull()
    const one = constantFrom('0.000001') as Constant
    expect(reachedMultiple(large - 1, large, 'money', one)).toBe(Number('9007199254.740991'))
    expect(one.compare(1, 'money')).toBe(0)
    expect((constantFrom(String(large)) as Constant).compare(large - 1, 'units')).toBe(-1)
  })
})
