import { describe, expect, it } from 'vitest'
import { startMetronome } from '../../bench/generator/metronome.ts'
import { type Phase, Schedule, seededRandom } from '../../bench/generator/schedule.ts'

function all(phases: readonly Phase[], random: (() => number) | null) {
  const schedule = new Schedule(phases, random)
  const due: { atMs: number; phase: number }[] = []
  while (schedule.dueMs !== Number.POSITIVE_INFINITY) {
    due.push({ atMs: schedule.dueMs, phase: schedule.duePhase })
    schedule.take()
  }
  return due
}

describe('the schedule of an open loop', () => {
  it('with even gaps has even due times, until the end of the phase', () => {
    const due = all([{ perSecond: 4, seconds: 1.1 }], null)
    expect(due.map(({ atMs }) => atMs)).toEqual([250, 500, 750, 1000])
  })

  it('does not move due times after a late request', () => {
    const schedule = new Schedule([{ perSecond: 1000, seconds: 1 }], null)
    expect(schedule.dueMs).toBe(1)
    expect(schedule.dueMs).toBe(1)
    schedule.take()
    expect(schedule.dueMs).toBe(2)
  })

  it('with random gaps has the average rate, and the gaps of a Poisson process', () => {
    const due = all([{ perSecond: 1000, seconds: 100 }], seededRandom(3))
    expect(due.length).toBeGreaterThan(99_000)
    expect(due.length).toBeLessThan(101_000)
    const gaps = due.slice(1).map(({ atMs }, index) => atMs - (due[index]?.atMs ?? 0))
    const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length
    const variance = gaps.reduce((sum, gap) => sum + (gap - mean) ** 2, 0) / gaps.length
    expect(Math.sqrt(variance) / mean).toBeCloseTo(1, 1)
    expect(gaps.every((gap) => gap >= 0)).toBe(true)
  })

  it('follows its phases, each with its own rate and end', () => {
    const phases = [
      { perSecond: 100, seconds: 1 },
      { perSecond: 10, seconds: 2 },
      { perSecond: 1000, seconds: 0.5 },
    ]
    const due = all(phases, null)
    const of = (phase: number) => due.filter((one) => one.phase === phase).map(({ atMs }) => atMs)
    expect(of(0)).toHaveLength(99)
    expect(of(1)).toHaveLength(19)
    expect(of(1).every((atMs) => atMs > 1000 && atMs < 3000)).toBe(true)
    expect(of(2)[0]).toBe(3001)
    expect(of(2).at(-1)).toBeLessThan(3500)
  })

  it('skips a phase without due requests', () => {
    const phases = [
      { perSecond: 0.001, seconds: 1 },
      { perSecond: 2, seconds: 1 },
    ]
    expect(all(phases, null)).toEqual([{ atMs: 1500, phase: 1 }])
  })

  it('refuses a rate of zero, which would never end', () => {
    expect(() => new Schedule([{ perSecond: 0, seconds: 1 }], null)).toThrow('positive')
  })

  it('is the same in each run', () => {
    const phases = [{ perSecond: 100, seconds: 1 }]
    expect(all(phases, seededRandom(5))).toEqual(all(phases, seededRandom(5)))
    expect(all(phases, seededRandom(5))).not.toEqual(all(phases, seededRandom(6)))
  })
})

it('a metronome ticks before a load begins', async () => {
  let ticks = 0
  const metronome = await startMetronome(1, () => {
    ticks += 1
  })
  metronome.stop()
  expect(ticks).toBeGreaterThan(0)
})
