import { describe, expect, it } from 'vitest'
import { HISTORY_SECONDS, SampleRing, SERIES_MAX } from '../../../src/admin/live/history.ts'

const at = (second: number) => second * 1000
const valuesOf = (value: number | null) => new Map([['a', value]])

describe('the history of samples', () => {
  it('is empty before the first sample', () => {
    const empty = { from: null, to: null, step_ms: 1000, series: {} }
    expect(new SampleRing().read(0)).toEqual(empty)
    const ring = new SampleRing()
    ring.add(at(5), valuesOf(1))
    expect(ring.read(at(6))).toEqual(empty)
  })

  it('has null for seconds without a sample, and for values that are not known', () => {
    const ring = new SampleRing()
    ring.add(at(10), valuesOf(1))
    ring.add(at(12), valuesOf(null))
    ring.add(at(13), new Map([...valuesOf(0), ['b', 7]]))
    expect(ring.read(0)).toEqual({
      from: at(10),
      to: at(13),
      step_ms: 1000,
      series: { a: [1, null, null, 0], b: [null, null, null, 7] },
    })
    expect(ring.read(at(12) - 999).series['a']).toEqual([null, 0])
  })

  it('has at least four significant digits of a value, and whole numbers exactly', () => {
    const ring = new SampleRing()
    const given = [0.1234, 9.8765, 12.345, 123.456, 1234.56, 98_765.432, 12_345_678, null]
    for (const [index, value] of given.entries()) ring.add(at(index), valuesOf(value))
    const kept = [0.123, 9.877, 12.35, 123.5, 1235, 98_765, 12_345_678, null]
    expect(ring.read(0).series['a']).toEqual(kept)
  })

  it('keeps 15 minutes, whatever the gaps', () => {
    const ring = new SampleRing()
    const last = 3 * HISTORY_SECONDS + 17
    for (let second = 100; second <= last; second += 1) {
      if (second % 7 !== 0) ring.add(at(second), valuesOf(second))
    }
    const { from, to, series } = ring.read(0)
    expect([from, to]).toEqual([at(last - HISTORY_SECONDS + 1), at(last)])
    const expected = Array.from({ length: HISTORY_SECONDS }, (_, index) => {
      const second = last - HISTORY_SECONDS + 1 + index
      return second % 7 === 0 ? null : second
    })
    expect(series['a']).toEqual(expected)
  })

  it('begins again after a gap that is longer than itself', () => {
    const ring = new SampleRing()
    ring.add(at(10), new Map([...valuesOf(1), ['old', 1]]))
    ring.add(at(10 + HISTORY_SECONDS), valuesOf(2))
    expect(ring.read(0)).toMatchObject({ from: at(10 + HISTORY_SECONDS), series: { a: [2] } })
    expect(Object.keys(ring.read(0).series)).toEqual(['a'])
  })

  it('replaces the values of the newest second, and ignores older ones', () => {
    const ring = new SampleRing()
    ring.add(at(10), valuesOf(1))
    ring.add(at(11), valuesOf(2))
    ring.add(at(11), valuesOf(3))
    ring.add(at(10), valuesOf(9))
    expect(ring.read(0).series['a']).toEqual([1, 3])
  })

  it('keeps a bounded number of series', () => {
    const ring = new SampleRing()
    const many = Array.from({ length: 2 * SERIES_MAX }, (_, index) => [`s${index}`, index] as const)
    ring.add(at(10), new Map(many))
    expect(Object.keys(ring.read(0).series)).toHaveLength(SERIES_MAX)
  })
})
