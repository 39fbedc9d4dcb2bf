/** The price models, by the value of `pricing_method`. */

import { GRADUATED_FLAT } from './graduated-flat.ts'
import type { PriceModel } from './model.ts'
import { PACKAGE } from './package.ts'
import { TIERED } from './tiered.ts'
import { VOLUME } from './volume.ts'

export const PRICE_MODELS = {
  tiered: TIERED,
  volume: VOLUME,
  package: PACKAGE,
  graduated_flat: GRADUATED_FLAT,
} as const satisfies Readonly<Record<string, PriceModel>>

export type PricingMethod = keyof typeof PRICE_MODELS

export const PRICING_METHODS = Object.keys(PRICE_MODELS) as PricingMethod[]

/** `null`: plain tiers (`Tariff.terms`). */
export function modelOf(terms: { readonly method: PricingMethod } | null): PriceModel {
  return terms === null ? TIERED : PRICE_MODELS[terms.method]
}
