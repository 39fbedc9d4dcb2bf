import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { splitByTime } from '../../src/rating/boundaries.ts'
import { propertyRuns } from '../support/domain/property-runs.ts'

describe('usage over boundaries', () => {
  it.each([
    ['half of the time before the boundary', 10, [0, 50, 100], [5, 5]],
    ['the later of two parts has the remainder', 3, [0, 50, 100], [1, 2]],
    [
      'the later part has the remainder, also if the earlier one needs less of it',
      10,
      [0, 67, 100],
      [6, 4],
    ],
    ['a call whose seconds are its units', 61_000, [0, 60_999, 61_000], [60_999, 1]],
    ['nothing before the boundary', 7, [50, 50, 100], [0, 7]],
    ['a report that begins after the boundary', 7, [60, 50, 100], [0, 7]],
    ['all of it before the boundary', 7, [0, 100, 100], [7, 0]],
    ['no time at all', 7, [50, 50, 50], [0, 7]],
    ['three equal parts: the last one has the remainder', 10, [0, 1, 2, 3], [3, 3, 4]],
    ['three equal parts: the last two have the remainders', 11, [0, 1, 2, 3], [3, 4, 4]],
    ['the largest remainder of all parts', 10, [0, 67, 82, 100], [7, 1, 2]],
    ['no units for the small parts before it', 100, [0, 6, 12, 1000], [0, 1, 99]],
    [
      'more units than a double represents exactly',
      2 ** 53 - 1,
      [0, 1, 3],
      [3002399751580330, 6004799503160661],
    ],
  ])('%s', (_what, used, instants, parts) => {
    expect(splitByTime(used, instants)).toEqual(parts)
  })

  it('has parts that equal their quota, rounded up or down, and add up to the whole', () => {
    const span = fc.integer({ min: 0, max: 1e12 })
    const spans = fc.array(span, { minLength: 1, maxLength: 6 })
    fc.assert(
      fc.property(fc.maxSafeNat(), spans, (used, lengths) => {
        const instants = [0]
        for (const length of lengths) instants.push((instants.at(-1) ?? 0) + length)
        const whole = BigInt(instants.at(-1) ?? 0)
        const parts = splitByTime(used, instants)
        expect(parts.reduce((sum, part) => sum + BigInt(part), 0n)).toBe(BigInt(used))
        if (whole === 0n) return
        for (const [index, part] of parts.entries()) {
          const quota = BigInt(used) * BigInt(lengths[index] ?? 0)
          const below = BigInt(part) * whole - quota
          expect(below > -whole && below < whole).toBe(true)
        }
      }),
      propertyRuns(500),
    )
  })
})
