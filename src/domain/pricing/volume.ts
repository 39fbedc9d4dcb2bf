import type { PriceModel } from './model.ts'
import { endOf, priceInTier, saleInTier, tierReached } from './tier.ts'

export const VOLUME: PriceModel = {
  code: 1,
  about: 'one step applies to all units',
  canFall: true,
  price(tiers, start, units) {
    return priceInTier(tiers[tierReached(tiers, start + units)]!, units)
  },
  sales(tiers, start, units) {
    const index = tierReached(tiers, start + units)
    return [saleInTier(tiers[index]!, index, units)]
  },
  sold(tiers, start, end) {
    const index = tierReached(tiers, end)
    const { interval, ceil } = tiers[index]!
    const begun = (end - start) % interval
    return ceil && begun > 0 ? Math.min(interval - begun, endOf(tiers, index) - end) : 0
  },
}
