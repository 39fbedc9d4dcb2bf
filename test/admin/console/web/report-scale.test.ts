import { describe, expect, it } from 'vitest'
import type { DecimalText } from '../../../../src/admin/console/web/api/figures.ts'
import { scaled } from '../../../../src/admin/console/web/pages/reports/scale.ts'

const SIZE = { width: 100, height: 60 }
const decimal = (text: string) => text as DecimalText

describe('bars', () => {
  it('stand on zero, below it if they are negative', () => {
    const { bars, zero, highest, lowest } = scaled([decimal('0.20'), decimal('-0.10')], SIZE)
    expect(zero).toBeCloseTo(40)
    expect(bars[0]).toMatchObject({ y: 0, height: 40 })
    expect(bars[1]?.y).toBeCloseTo(40)
    expect(bars[1]?.height).toBeCloseTo(20)
    expect([highest, lowest]).toEqual([0, 1])
  })

  it('are left out where there is no figure, and none is outside of the chart', () => {
    const { bars } = scaled([1, null, 3, 2], SIZE)
    expect(bars[1]).toBe(null)
    for (const bar of bars) {
      if (bar === null) continue
      expect(bar.x).toBeGreaterThanOrEqual(0)
      expect(bar.x + bar.width).toBeLessThanOrEqual(100)
      expect(bar.y + bar.height).toBeLessThanOrEqual(60)
    }
  })

  it('of zeros only, and of nothing, have a place', () => {
    expect(scaled([0, 0], SIZE)).toMatchObject({ zero: 0, highest: 0 })
    expect(scaled([], SIZE)).toMatchObject({ bars: [], highest: null, lowest: null })
  })
})
