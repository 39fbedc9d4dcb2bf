import { describe, expect, it } from 'vitest'
import {
  type Point,
  placeOf,
  pointsOf,
  scaleOf,
  stepAt,
  stepsOf,
  totalPath,
} from '../src/parts/document/tier-steps.ts'

const TIERS = [
  { from: 0, to: 60, interval: 1, price: '0.5' },
  { from: 60, to: 'UNLIMITED', interval: '60', price: '6' },
]

describe('steps of tiers', () => {
  it('have the price of one unit as height, and an open end', () => {
    expect(stepsOf(TIERS)).toEqual([
      { tier: 1, from: 0, to: 60, height: 0.5, price: '0.5', interval: '1', isWhole: true },
      { tier: 2, from: 60, to: null, height: 0.1, price: '6', interval: '60', isWhole: true },
    ])
  })

  it('end before a tier that is being typed', () => {
    const typed = [TIERS[0]!, { from: 60, to: 'UNLIM', interval: 1, price: '0.2' }]
    expect(stepsOf(typed).length).toBe(1)
    expect(stepsOf([{ to: 10, interval: 0, price: 1 }])).toEqual([])
    expect(stepsOf([{ to: 10, interval: 1, price: '' }])).toEqual([])
  })

  it('are as long as their tiers: a gap belongs to none; prices of cycles have no interval', () => {
    const gap = [TIERS[0]!, { from: 100, to: 200, price: '3' }]
    expect(stepsOf(gap)[1]).toMatchObject({ from: 60, to: 160, height: 3 })
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
})

describe('the points of a total', () => {
  const unitsOf = (points: readonly Point[]) => points.map(({ units }) => units)
  const pointsFor = (tiers: readonly object[], method = 'tiered', isLog = false) => {
    const steps = stepsOf(tiers as never)
    return pointsOf(steps, scaleOf([steps], isLog), method)
  }

  it('are the ends of the intervals, each a jump', () => {
    const points = pointsFor([{ from: 0, to: 600, interval: 60, price: '0.1' }])
    expect(unitsOf(points)).toEqual([60, 120, 180, 240, 300, 360, 420, 480, 540, 600])
    expect(points.every(({ isJump }) => isJump)).toBe(true)
  })

  it('are counted from the begin of a tier, or of the usage if one tier prices all of it', () => {
    const tiers = [
      { from: 0, to: 90, interval: 60, price: '1' },
      { from: 90, to: 300, interval: 60, price: '2' },
    ]
    expect(unitsOf(pointsFor(tiers))).toEqual([60, 90, 150, 210, 270, 300])
    expect(unitsOf(pointsFor(tiers, 'volume'))).toEqual([60, 90, 120, 180, 240, 300])
    expect(unitsOf(pointsFor(tiers, 'package'))).toEqual([60, 90, 120, 180, 240, 300])
    expect(unitsOf(pointsFor(tiers, 'graduated_flat'))).toEqual([90, 300])
    const smaller = [tiers[0]!, { ...tiers[1]!, interval: 50 }]
    expect(unitsOf(pointsFor(smaller, 'package'))).toEqual([60, 90, 120, 170, 220, 270, 300])
  })

  it('leave out intervals that are too narrow to be seen, but no jump at a bound', () => {
    const points = pointsFor([
      { from: 0, to: 10_000, interval: 1, price: '1' },
      { from: 10_000, to: 'UNLIMITED', interval: 1, price: '2' },
    ])
    expect(points.length).toBeLessThan(130)
    expect(points[0]).toEqual({ units: 1, isJump: true })
    expect(points[1]?.isJump).toBe(false)
    expect(unitsOf(points)).toContain(10_000)
    expect(points).toContainEqual({ units: 10_001, isJump: true })
    expect(points.every(({ units }) => Number.isInteger(units))).toBe(true)
  })

  it('of a tier without whole intervals are on a slope', () => {
    const points = pointsFor([{ from: 0, to: 600, interval: 60, price: '0.1', ceil: false }])
    expect(points.findLastIndex(({ isJump }) => isJump)).toBe(0)
    expect(points.at(-1)?.units).toBe(600)
  })

  it('are a staircase in their path', () => {
    const totals = [
      { units: 60, isJump: true, amount: 1 },
      { units: 120, isJump: false, amount: 2 },
    ]
    const place = { x: (units: number) => units, y: (amount: number) => 10 - amount }
    expect(totalPath(totals, place)).toBe('M0 10V9H60L120 8')
  })
})
