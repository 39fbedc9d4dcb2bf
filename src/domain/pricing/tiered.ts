import type { PriceModel } from './model.ts'
import { priceInTier, type Sale, saleInTier, type Tier, UNLIMITED } from './tier.ts'

export const TIERED: PriceModel = {
  code: 0,
  about: 'each step applies to its own units',
  canFall: false,
  price,
  sales,
  sold,
}

function price(tiers: readonly Tier[], start: number, units: number): number {
  let skipped = start
  let left = units
  let sum = 0
  for (const tier of tiers) {
    const room = tier.units - skipped
    if (room <= 0) {
      skipped -= tier.units
      continue
    }
    skipped = 0
    const taken = Math.min(left, room)
    const part = priceInTier(tier, taken)
    if (part < 0) return -1
    sum += part
    left -= taken
    if (left === 0) break
  }
  return sum > Number.MAX_SAFE_INTEGER ? -1 : sum
}

function sales(tiers: readonly Tier[], start: bigint, units: bigint): Sale[] {
  const found: Sale[] = []
  let skipped = start
  let left = units
  for (const [index, tier] of tiers.entries()) {
    const room = tier.units === UNLIMITED ? left : BigInt(tier.units) - skipped
    if (room <= 0n) {
      skipped -= BigInt(tier.units)
      continue
    }
    skipped = 0n
    const taken = left < room ? left : room
    found.push(saleInTier(tier, index, taken))
    left -= taken
    if (left === 0n) break
  }
  return found
}

function sold(tiers: readonly Tier[], start: number, end: number): number {
  let from = 0
  for (const { units, interval, ceil } of tiers) {
    const to = Math.min(UNLIMITED, from + units)
    if (end <= to) {
      const begun = (end - Math.max(from, start)) % interval
      return ceil && begun > 0 ? Math.min(interval - begun, to - end) : 0
    }
    from = to
  }
  return 0
}
