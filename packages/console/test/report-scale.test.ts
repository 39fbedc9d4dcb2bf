import { describe, expect, it } from 'vitest'
import type { DecimalText } from '../src/api/figures.ts'
import { barsOf, categoriesOf, labelsOf } from '../src/pages/reports/scale.ts'

const SIZE = { width: 100, height: 60 }
const decimal = (text: string) => text as DecimalText

describe('categories', () => {
  const row = (label: string, figure: string | number | null) => ({
    label,
    figure: typeof figure === 'string' ? decimal(figure) : figure,
  })

  it('have the exact sum of their rows, in the order of their first ones', () => {
    const rows = [row('SMS', '0.1'), row('CALL', 3), row('SMS', '0.2'), row('SMS', '-0.05')]
    expect(categoriesOf(rows)).toEqual([
      { label: 'SMS', figure: '0.25' },
      { label: 'CALL', figure: 3 },
    ])
  })

  it('without a figure have no bar', () => {
    expect(categoriesOf([row('A', null), row('B', '1'), row('B', null)])).toEqual([
      { label: 'A', figure: null },
      { label: 'B', figure: 1 },
    ])
  })
})

describe('bars', () => {
  it('stand on zero, below it if they are negative', () => {
    const { bars, zero, ticks } = barsOf([decimal('0.20'), decimal('-0.10')], SIZE)
    expect(zero).toBeCloseTo(40)
    expect(bars[0]).toMatchObject({ y: 0, height: 40 })
    expect(bars[1]?.y).toBeCloseTo(40)
    expect(bars[1]?.height).toBeCloseTo(20)
    expect(ticks.map(({ value }) => value)).toEqual([-0.1, 0, 0.1, 0.2])
    expect(ticks[1]?.y).toBeCloseTo(zero)
  })

  it('are left out where there is no figure, and none is outside of the chart', () => {
    const { bars } = barsOf([1, null, 3, 2], SIZE)
    expect(bars[1]).toBe(null)
    for (const bar of bars) {
      if (bar === null) continue
      expect(bar.x).toBeGreaterThanOrEqual(0)
      expect(bar.x + bar.width).toBeLessThanOrEqual(100)
      expect(bar.y + bar.height).toBeLessThanOrEqual(60)
    }
  })

  it('of zeros only, and of nothing, have a place', () => {
    expect(barsOf([0, 0], SIZE)).toMatchObject({ bars: [{ height: 0 }, { height: 0 }] })
    expect(barsOf([], SIZE)).toMatchObject({ bars: [] })
  })
})

describe('labels of bars', () => {
  it('are all shown where there is room', () => {
    expect(labelsOf(['SMS', 'CALL'], 600)).toEqual(['SMS', 'CALL'])
  })

  it('are skipped evenly where they would touch, and cut where they are long', () => {
    const many = Array.from({ length: 100 }, (_, index) => `rate ${index}`)
    const shown = labelsOf(many, 600).flatMap((label, index) => (label === null ? [] : [index]))
    expect(shown.length).toBeLessThanOrEqual(10)
    expect(shown.length).toBeGreaterThan(5)
    expect(new Set(shown.slice(1).map((at, index) => at - shown[index]!)).size).toBe(1)
    expect(labelsOf(['x'.repeat(60)], 600)[0]).toBe(`${'x'.repeat(19)}…`)
  })
})
