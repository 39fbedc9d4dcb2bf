/**
 * Positions of the tiers of a price in their plot. Numbers here are for the screen: every amount
 * that is read comes from the API.
 */
import { leafText } from '../differences.ts'
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
}

export const UNLIMITED = 'UNLIMITED'

/** Tiers up to the first one that is not complete. */
export function stepsOf(tiers: readonly Document[]): readonly PriceStep[] {
  const steps: PriceStep[] = []
  let begin = 0
  for (const [index, tier] of tiers.entries()) {
    const [to, interval, price] = [tier['to'], tier['interval'] ?? 1, tier['price']].map(
      (value) => {
        return value === undefined ? '' : leafText(value)
      },
    ) as [string, string, string]
    const from = begin + gapBefore(tiers, index)
    const end = to === UNLIMITED ? null : positionOf(to)
    const height = positionOf(price) / positionOf(interval)
    if (!Number.isFinite(height) || (end !== null && !(end > from))) return steps
    steps.push({ tier: index + 1, from, to: end, height, price, interval })
    if (end === null) return steps
    begin = end
  }
  return steps
}

function gapBefore(tiers: readonly Document[], index: number): number {
  const from = positionOf(leafText(tiers[index]?.['from'] ?? ''))
  const before = index === 0 ? 0 : positionOf(leafText(tiers[index - 1]?.['to'] ?? ''))
  return Number.isFinite(from - before) && from > before ? from - before : 0
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

/** Numbers of units of which the total is asked: both ends of each tier, and others between. */
export function samplesOf(
  steps: readonly PriceStep[],
  scale: Scale,
  count: number,
): readonly number[] {
  const spread = Array.from({ length: count }, (_, index) => {
    const share = (index + 1) / count
    return scale.isLog ? Math.expm1(share * Math.log1p(scale.units)) : share * scale.units
  })
  const bounds = steps.flatMap(({ to }) => (to === null ? [] : [to, to + 1]))
  const whole = [...spread, ...bounds].map((units) => Math.max(1, Math.round(units)))
  return [...new Set(whole)].sort((one, other) => one - other)
}

export function stepAt(steps: readonly PriceStep[], units: number): PriceStep | null {
  return steps.find(({ from, to }) => units > from && (to === null || units <= to)) ?? null
}
