/**
 * Positions of the tiers of a price in their plot. Numbers here are for the screen: every amount
 * that is read comes from the API.
 */
import { leafText } from '../differences.ts'
import { UNLIMITED } from './tiers.ts'
import type { Document } from './values.ts'

export interface PriceStep {
  /** From 1. */
  readonly tier: number
  readonly from: number
  /** Null without an end. */
  readonly to: number | null
  /** Height: price for one unit. */
  readonly height: number
  /** As it is read: price and interval. */
  readonly price: string
  readonly interval: string
  /** Whether an interval that has begun is charged whole. */
  readonly isWhole: boolean
}

/** Tiers up to the first one that is not complete, one after the other: only sizes count. */
export function stepsOf(tiers: readonly Document[]): readonly PriceStep[] {
  const steps: PriceStep[] = []
  let [begin, bound] = [0, 0]
  for (const [index, tier] of tiers.entries()) {
    const [to, interval, price] = [tier['to'], tier['interval'] ?? 1, tier['price']].map(
      (value) => {
        return value === undefined ? '' : leafText(value)
      },
    ) as [string, string, string]
    const start = positionOf(leafText(tier['from'] ?? ''))
    const size = to === UNLIMITED ? null : positionOf(to) - (Number.isFinite(start) ? start : bound)
    const height = positionOf(price) / positionOf(interval)
    const isTyped = Number.isFinite(height) && positionOf(interval) > 0
    if (!isTyped || (size !== null && !(size > 0))) return steps
    const end = size === null ? null : begin + size
    const isWhole = tier['ceil'] !== false
    steps.push({ tier: index + 1, from: begin, to: end, height, price, interval, isWhole })
    if (end === null) return steps
    begin = end
    bound = positionOf(to)
  }
  return steps
}

function positionOf(text: string): number {
  return text === '' ? Number.NaN : Number(text)
}

export interface Scale {
  readonly isLog: boolean
  /** The largest number of units that is drawn. */
  readonly units: number
  readonly height: number
}

const INTERVALS_SHOWN = 10
const BEYOND_LAST = 1.5

/** Both revisions on one scale. */
export function scaleOf(all: readonly (readonly PriceStep[])[], isLog: boolean): Scale {
  const steps = all.flat()
  const bounds = steps.map(({ from, to }) => to ?? from)
  const last = Math.max(0, ...bounds)
  const intervals = steps.map(({ interval }) => Number(interval) * INTERVALS_SHOWN)
  const units = last > 0 ? last * BEYOND_LAST : Math.max(1, ...intervals)
  return { isLog, units, height: Math.max(...steps.map(({ height }) => height), 0) || 1 }
}

/** From 0 to 1. */
export function placeOf(units: number, scale: Scale): number {
  if (!scale.isLog) return units / scale.units
  return Math.log1p(units) / Math.log1p(scale.units)
}

function unitsAt(place: number, scale: Scale): number {
  return scale.isLog ? Math.expm1(place * Math.log1p(scale.units)) : place * scale.units
}

/** Units at which the total is asked. */
export interface Point {
  readonly units: number
  /** Whether the total jumps after the point before, and is then the same up to this one. */
  readonly isJump: boolean
}

/** Share of the width: narrower intervals are drawn as a slope. */
const NARROWEST = 1 / 120
/** Decimals of units: sums of binary numbers have more. */
const UNIT_PARTS = 1e6

/**
 * The ends of the intervals. With `volume` one tier prices all units, so they begin at 0; a block
 * of a `package` may end in a later tier; a tier of `graduated_flat` is one interval.
 */
export function pointsOf(
  steps: readonly PriceStep[],
  scale: Scale,
  method: string,
): readonly Point[] {
  let origin = 0
  return steps.flatMap((step) => {
    if (method === 'tiered') origin = step.from
    const isFixed = method === 'graduated_flat'
    const points = pointsIn(isFixed ? { ...step, interval: 'Infinity' } : step, scale, origin)
    if (method === 'package' && step.to !== null) origin = boundFrom(step.to, origin, step)
    return points
  })
}

/** The first end of an interval at or after some units. */
function boundFrom(units: number, origin: number, { interval }: PriceStep): number {
  return origin + Math.ceil((units - origin) / Number(interval)) * Number(interval)
}

function pointsIn(step: PriceStep, scale: Scale, origin: number): readonly Point[] {
  const end = Math.min(step.to ?? scale.units, scale.units)
  // Without whole intervals the total grows with each unit.
  const interval = step.isWhole ? Number(step.interval) : Math.min(1, Number(step.interval))
  const boundAfter = (units: number) =>
    origin + (Math.floor((units - origin) / interval) + 1) * interval
  const points: Point[] = []
  for (let at = step.from; at < end; ) {
    const [near, visible] = [boundAfter(at), unitsAt(placeOf(at, scale) + NARROWEST, scale)]
    const isJump = points.length === 0 || (step.isWhole && near >= visible)
    const next = isJump ? near : boundAfter(visible)
    at = next > at ? Math.min(next, end) : end
    points.push({ units: Math.round(at * UNIT_PARTS) / UNIT_PARTS, isJump })
  }
  return points
}

interface Drawn extends Point {
  readonly amount: number
}

/** Functions of the place on the screen. */
interface Places {
  readonly x: (units: number) => number
  readonly y: (amount: number) => number
}

/** A staircase, with slopes where its steps are too narrow to be seen. */
export function totalPath(totals: readonly Drawn[], { x, y }: Places): string {
  const lines = totals.map(({ units, isJump, amount }) => {
    return isJump ? `V${y(amount)}H${x(units)}` : `L${x(units)} ${y(amount)}`
  })
  return `M0 ${y(0)}${lines.join('')}`
}

export function stepAt(steps: readonly PriceStep[], units: number): PriceStep | null {
  return steps.find(({ from, to }) => units > from && (to === null || units <= to)) ?? null
}
