import { expect, it } from 'vitest'
import { createRateLimits, createRateTable } from '../../../src/realtime/http/rate-limits.ts'

/** Limits with a clock that the test sets. */
function limitsOf() {
  const clock = { ms: 1_000_000 }
  const limits = createRateLimits(() => clock.ms)
  const take = (count: number, rate: Partial<Parameters<typeof limits.take>[0]> = {}) =>
    Array.from({ length: count }, () =>
      limits.take({ name: 'PGW', requestsPerSecond: 4, burst: 4, ...rate }),
    )
  return { clock, take }
}

it('a rate allows the requests of one second, then those of the elapsed time', () => {
  const { clock, take } = limitsOf()
  expect(take(5)).toEqual([0, 0, 0, 0, 1])
  clock.ms += 249
  expect(take(1)).toEqual([1])
  clock.ms += 1
  expect(take(2)).toEqual([0, 1])
  clock.ms += 3_600_000
  expect(take(5)).toEqual([0, 0, 0, 0, 1])
})

it('a refused request does not count', () => {
  const { clock, take } = limitsOf()
  take(1000)
  clock.ms += 500
  expect(take(3)).toEqual([0, 0, 1])
})

it('a burst may be larger or smaller than the rate', () => {
  const { clock, take } = limitsOf()
  expect(take(7, { burst: 6 })).toEqual([0, 0, 0, 0, 0, 0, 1])
  expect(take(2, { name: 'other', burst: 1 })).toEqual([0, 1])
  clock.ms += 3_600_000
  expect(take(2, { name: 'other', burst: 1 })).toEqual([0, 1])
})

it('a refusal contains the wait, also if it is long', () => {
  const { clock, take } = limitsOf()
  const slow = { requestsPerSecond: 0.1, burst: 0 }
  expect(take(2, slow)).toEqual([0, 10])
  clock.ms += 9_000
  expect(take(1, slow)).toEqual([1])
  clock.ms += 1_000
  expect(take(1, slow)).toEqual([0])
})

it('each peer has its own rate, which follows its configuration', () => {
  const { clock, take } = limitsOf()
  take(100)
  expect(take(1, { name: 'other' })).toEqual([0])
  clock.ms += 100
  expect(take(3, { requestsPerSecond: 20, burst: 20 })).toEqual([0, 0, 1])
})

it('a peer without a rate is not limited', () => {
  const { take } = limitsOf()
  expect(new Set(take(10_000, { requestsPerSecond: 0, burst: 0 }))).toEqual(new Set([0]))
})

it('threads that share the table share the rate of a peer', () => {
  const clock = { ms: 5 }
  const table = createRateTable()
  const [one, two] = [0, 1].map(() => createRateLimits(() => clock.ms, table))
  const rate = { name: 'PGW', requestsPerSecond: 4, burst: 4 }
  const takenBy = (limits = one) => limits?.take(rate)
  expect([takenBy(), takenBy(two), takenBy(), takenBy(two)]).toEqual([0, 0, 0, 0])
  expect([takenBy(), takenBy(two)]).toEqual([1, 1])
  expect(two?.take({ ...rate, name: 'other' })).toBe(0)
  clock.ms += 250
  expect([takenBy(two), takenBy(), takenBy(two)]).toEqual([0, 1, 1])
})

it('peers share a rate if there are more of them than slots', () => {
  const limits = createRateLimits(() => 5, createRateTable(2))
  const rate = { requestsPerSecond: 1, burst: 1 }
  const names = ['a', 'b', 'c', 'd']
  expect(names.map((name) => limits.take({ ...rate, name }))).toEqual([0, 0, 1, 1])
  expect(names.map((name) => limits.take({ ...rate, name }))).toEqual([1, 1, 1, 1])
})
