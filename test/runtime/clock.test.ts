import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  clockWith,
  createClock,
  createOffset,
  monotonicMs,
  offsetMs,
  raiseOffset,
  realTimeOf,
  systemClock,
} from '../../src/runtime/clock.ts'

describe('the clock', () => {
  it('follows the wall clock forwards, in whole milliseconds', () => {
    const source = { wall: 1000, elapsed: 0 }
    const clock = createClock({ wallMs: () => source.wall, elapsedMs: () => source.elapsed })
    source.wall = 5000.7
    expect(clock.nowMs()).toBe(5000)
  })

  it('continues at half speed while the wall clock is behind, then follows it again', () => {
    const source = { wall: 10_000, elapsed: 0 }
    const clock = createClock({ wallMs: () => source.wall, elapsedMs: () => source.elapsed })
    source.wall = 4000
    expect(clock.nowMs()).toBe(10_000)
    source.wall += 1000
    source.elapsed += 1000
    expect(clock.nowMs()).toBe(10_500)
    source.wall += 20_000
    source.elapsed += 20_000
    expect(clock.nowMs()).toBe(25_000)
  })

  it('never runs backwards, regardless of the wall clock', () => {
    const steps = fc.array(fc.tuple(fc.integer({ min: -1e6, max: 1e6 }), fc.nat({ max: 1e5 })))
    fc.assert(
      fc.property(steps, (moves) => {
        const source = { wall: 1e12, elapsed: 0 }
        const clock = createClock({ wallMs: () => source.wall, elapsedMs: () => source.elapsed })
        let last = clock.nowMs()
        for (const [wall, elapsed] of moves) {
          source.wall += wall
          source.elapsed += elapsed
          const now = clock.nowMs()
          expect(now).toBeGreaterThanOrEqual(Math.max(last, source.wall))
          last = now
        }
      }),
    )
  })

  it('the clock of the process returns integers, and the stopwatch advances', () => {
    expect(Number.isSafeInteger(systemClock.nowMs())).toBe(true)
    expect(monotonicMs()).toBeGreaterThan(0)
  })
})

describe('a clock with an offset', () => {
  const real = { nowMs: () => 1_000_000 }

  it('is the system clock without an offset', () => {
    expect(clockWith(undefined)).toBe(systemClock)
    expect(realTimeOf(systemClock)).toBe(systemClock)
    expect(realTimeOf(real)).toBe(real)
  })

  it.each([-900_000, 0, 2 ** 42])('is ahead by %d ms', (aheadMs) => {
    const clock = clockWith(createOffset(aheadMs), real)
    expect(clock.nowMs()).toBe(1_000_000 + aheadMs)
    expect(realTimeOf(clock)).toBe(systemClock)
  })

  it('follows the shared offset forwards only', () => {
    const offset = createOffset(-10)
    const clock = clockWith(offset, real)
    raiseOffset(offset, 500)
    expect(clock.nowMs()).toBe(1_000_500)
    raiseOffset(offset, 499)
    expect(clock.nowMs()).toBe(1_000_500)
    expect(offsetMs(offset)).toBe(500)
  })

  it('is the same in a thread that receives the offset', () => {
    const offset = createOffset(7)
    const received = structuredClone({ ahead: offset })
    raiseOffset(offset, 8)
    expect(clockWith(received.ahead, real).nowMs()).toBe(1_000_008)
  })
})
