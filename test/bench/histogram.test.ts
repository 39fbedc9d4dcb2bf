import { describe, expect, it } from 'vitest'
import { Histogram, histogramOf } from '../../bench/generator/histogram.ts'
import { seededRandom } from '../../bench/generator/schedule.ts'

describe('the histogram', () => {
  it('is exact below 128 µs', () => {
    const histogram = new Histogram()
    for (let micros = 1; micros <= 100; micros += 1) histogram.record(micros)
    expect(histogram.quantile(0.5)).toBe(50)
    expect(histogram.quantile(0.99)).toBe(99)
    expect(histogram.quantile(1)).toBe(100)
    expect(histogram.quantile(0)).toBe(1)
  })

  it('exceeds the exact quantile by at most 1.6 percent at any size, and is never below it', () => {
    const random = seededRandom(7)
    const values = Array.from({ length: 20_000 }, () => Math.floor(10 ** (random() * 8)))
    const histogram = new Histogram()
    for (const value of values) histogram.record(value)
    values.sort((a, b) => a - b)
    for (const share of [0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 1]) {
      const exact = values[Math.ceil(values.length * share) - 1] ?? 0
      expect(histogram.quantile(share)).toBeGreaterThanOrEqual(exact)
      expect(histogram.quantile(share)).toBeLessThanOrEqual(exact * 1.016)
    }
  })

  it('has no gap where buckets become wider', () => {
    let before = 0
    for (let micros = 1; micros < 70_000; micros += 1) {
      const histogram = new Histogram()
      histogram.record(micros)
      histogram.record(1e9)
      const bucket = histogram.quantile(0.5)
      expect(bucket).toBeGreaterThanOrEqual(Math.max(micros, before))
      before = bucket
      if (micros > 600) micros += 97
    }
  })

  it('reports the exact maximum, counts negative values as 0, and caps values at an hour', () => {
    const histogram = new Histogram()
    histogram.record(-5)
    histogram.record(1_234_567)
    expect(histogram.longest).toBe(1_234_567)
    expect(histogram.quantile(1)).toBe(1_234_567)
    expect(histogram.quantile(0.5)).toBe(0)
    histogram.record(Number.POSITIVE_INFINITY)
    expect(histogram.longest).toBe(3_600_000_000)
  })

  it('is unchanged after packing and merging', () => {
    const [one, two, both] = [new Histogram(), new Histogram(), new Histogram()]
    for (let index = 0; index < 1000; index += 1) {
      const part = index % 3 === 0 ? one : two
      part.record(index * index)
      both.record(index * index)
    }
    const packed = [one.pack(), two.pack()].map((part) => JSON.parse(JSON.stringify(part)))
    expect(histogramOf(...packed).pack()).toEqual(both.pack())
    expect(histogramOf(...packed).count).toBe(1000)
  })

  it('is 0 when it is empty', () => {
    expect(new Histogram().quantile(0.99)).toBe(0)
  })
})
