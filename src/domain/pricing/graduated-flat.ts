import { integerFraction } from '../exact.ts'
import type { PriceModel } from './model.ts'
import { endOf, tierReached } from './tier.ts'

export const GRADUATED_FLAT: PriceModel = {
  code: 3,
  about: 'all units together have one fixed price, that of the step which they reach',
  canFall: true,
  fixed: { interval: 1, ceil: true },
  isCredited: true,
  price(tiers, start, units) {
    return tiers[tierReached(tiers, start + units)]!.price
  },
  sales(tiers, start, units) {
    const tier = tierReached(tiers, start + units)
    return [{ tier, units, interval: units, intervals: integerFraction(1) }]
  },
  sold(tiers, _start, end) {
    return endOf(tiers, tierReached(tiers, end)) - end
  },
}
