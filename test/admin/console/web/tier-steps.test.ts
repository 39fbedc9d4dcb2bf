import { describe, expect, it } from 'vitest'
import {
  placeOf,
  samplesOf,
  scaleOf,
  stepAt,
  stepsOf,
} from '../../../../src/admin/console/web/parts/document/tier-steps.ts'

const TIERS = [
  { from: 0, to: 60, interval: 1, price: '0.5' },
  { from: 60, to: 'UNLIMITED', interval: '60', price: '6' },
]

describe('steps of tiers', () => {
  it('have the price of one unit as height, and an open end', () => {
    expect(stepsOf(TIERS)).toEqual([
      { tier: 1, from: 0, to: 60, height: 0.5, price: '0.5', interval: '1' },
      { tier: 2, from: 60, to: null, height: 0.1, price: '6', interval: '60' },
    ])
  })

  it('end before a tier that is being typed', () => {
    const typed = [TIERS[0]!, { from: 60, to: 'UNLIM', interval: 1, price: '0.2' }]
    expect(stepsOf(typed).length).toBe(1)
    expect(stepsOf([{ to: 10, interval: 0, price: 1 }])).toEqual([])
    expect(stepsOf([{ to: 10, interval: 1, price: '' }])).toEqual([])
  })

  it('keep gaps between tiers, and prices of cycles have no interval', () => {
    const gap = [TIERS[0]!, { from: 100, to: 200, price: '3' }]
    expect(stepsOf(gap)[1]).toMatchObject({ from: 100, to: 200, height: 3 })
  })

  it('are found by units: a tier contains its last unit', () => {
    const steps = stepsOf(TIERS)
    expect(stepAt(steps, 60)?.tier).toBe(1)
    expect(stepAt(steps, 61)?.tier).toBe(2)
    expect(stepAt(steps.slice(0, 1), 61)).toBe(null)
  })
})

describe('the scale', () => {
  it('fits both revisions', () => {
    const scale = scaleOf([stepsOf(TIERS), [{ ...stepsOf(TIERS)[0]!, to: 200, height: 9 }]], false)
    expect(scale).toEqual({ isLog: false, units: 300, height: 9 })
    expect(placeOf(150, scale)).toBe(0.5)
    expect(placeOf(300, { ...scale, isLog: true })).toBe(1)
  })

  it('asks for totals at both sides of each bound, in whole units', () => {
    const steps = stepsOf(TIERS)
    const samples = samplesOf(steps, scaleOf([steps], false), 40)
    expect(samples).toContain(60)
    expect(samples).toContain(61)
    expect(samples.every(Number.isInteger)).toBe(true)
    expect(samples.length).toBeLessThanOrEqual(42)
  })
})
