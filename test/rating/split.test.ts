import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { splitByTime } from '../../src/rating/split.ts'
import { propertyRuns } from '../domain/property-runs.ts'

describe('usage over a boundary', () => {
  it.each([
    ['half of the time before it', 10, 0, 50, 100, 5],
    ['the remainder falls to the later part', 3, 0, 50, 100, 1],
    ['a call whose seconds are its units', 61_000, 0, 60_999, 61_000, 60_999],
    ['nothing before it', 7, 50, 50, 100, 0],
    ['a report that begins after it', 7, 60, 50, 100, 0],
    ['all of it before', 7, 0, 100, 100, 7],
    ['no time at all', 7, 50, 50, 50, 0],
    ['more than doubles hold', Number.MAX_SAFE_INTEGER, 0, 1, 3, 3002399751580330],
  ])('%s', (_what, used, from, boundary, to, before) => {
    expect(splitByTime(used, from, boundary, to)).toBe(before)
  })

  it('never gives more than there is, nor less to a later boundary', () => {
    const ms = fc.integer({ min: 0, max: 1e13 })
    fc.assert(
      fc.property(fc.maxSafeNat(), ms, ms, ms, (used, from, one, other) => {
        const [first, second] = [Math.min(one, other), Math.max(one, other)]
        const to = from + 1e12
        const [before, later] = [first, second].map((at) => splitByTime(used, from, at, to))
        expect(before! >= 0 && before! <= later! && later! <= used).toBe(true)
      }),
      propertyRuns(500),
    )
  })
})
