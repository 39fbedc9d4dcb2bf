import { expect, it } from 'vitest'
import { powersUpTo, ticksBetween } from '../src/parts/ticks.ts'

it.each([
  [0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1]],
  [0, 0.12, [0, 0.05, 0.1]],
  [-11, 21, [-10, 0, 10, 20]],
  [0, 900, [0, 200, 400, 600, 800]],
  [0, 0, [0]],
])('from %d to %d are round numbers', (from, to, ticks) => {
  expect(ticksBetween(from, to)).toEqual(ticks)
})

it('of a logarithmic axis are powers of ten, a few of them', () => {
  expect(powersUpTo(900)).toEqual([1, 10, 100])
  expect(powersUpTo(2e12).length).toBeLessThanOrEqual(7)
  expect(powersUpTo(2e12)[1]! / powersUpTo(2e12)[0]!).toBe(100)
})
