import { integerFraction } from '../exact.ts'
import type { PriceModel } from './model.ts'
import { type Sale, type Tier, UNLIMITED } from './tier.ts'

export const PACKAGE: PriceModel = {
  code: 2,
  about:
    'blocks of `interval` units, each priced by the step in which it begins, one after the other',
  canFall: false,
  fixed: { ceil: true },
  crossesTiers: true,
  price,
  sales,
  sold(tiers, start, end) {
    const last = sales(tiers, BigInt(start), BigInt(end - start)).at(-1)
    if (last === undefined) return 0
    return Number(last.intervals.numerator * last.interval - last.units)
  },
}

function price(tiers: readonly Tier[], start: number, units: number): number {
  const end = start + units
  let at = start
  let tierEnd = 0
  let sum = 0
  for (const { units: size, interval, price: each } of tiers) {
    tierEnd += size
    if (at >= tierEnd) continue
    const blocks = Math.ceil((Math.min(tierEnd, end) - at) / interval)
    sum += blocks * each
    if (sum > Number.MAX_SAFE_INTEGER) return -1
    at += blocks * interval
    if (at >= end) break
  }
  return sum
}

function sales(tiers: readonly Tier[], start: bigint, units: bigint): Sale[] {
  const end = start + units
  const found: Sale[] = []
  let at = start
  let tierEnd = 0n
  for (const [tier, { units: size, interval: block }] of tiers.entries()) {
    tierEnd += BigInt(size)
    if (at >= end) break
    const to = size === UNLIMITED || end < tierEnd ? end : tierEnd
    if (at >= to) continue
    const interval = BigInt(block)
    const blocks = (to - at + interval - 1n) / interval
    const next = at + blocks * interval
    found.push({
      tier,
      units: (next < end ? next : end) - at,
      interval,
      intervals: integerFraction(blocks),
    })
    at = next
  }
  return found
}
